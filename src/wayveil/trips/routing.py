"""Filling moves that the network does not have by the public shortest path, one trip at a time."""

from dataclasses import replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.paths import shortest_paths


def routed(trips: Trips, broken: NDArray[np.bool_]) -> Trips:
    """The trips with the shortest path in place of every marked move (into the visit that is marked).

    Times between the two ends are spread evenly over the visits that come in. A move without a path stays as it is.
    """
    network = trips.world
    assert isinstance(network, Network)
    into = np.flatnonzero(broken)
    if len(into) == 0:
        return trips
    # Many trips make the same jump: each is routed once.
    pair = trips.location[into - 1].astype(np.int64) * network.size + trips.location[into]
    distinct, which = np.unique(pair, return_inverse=True)
    paths = shortest_paths(network, distinct // network.size, distinct % network.size)
    between = np.maximum(np.diff(paths.offsets) - 2, 0)
    added = np.zeros(trips.visits + 1, np.int64)
    added[into + 1] = between[which]
    moved = np.cumsum(added)
    # Visits that come in stand before the visit into which the move went.
    offsets = trips.offsets + moved[trips.offsets]
    place = np.arange(trips.visits) + moved[1:]
    location = np.empty(offsets[-1], np.int32)
    location[place] = trips.location
    time = None
    if trips.time is not None:
        time = np.empty(offsets[-1], np.int64)
        time[place] = trips.time
    _fill(
        place[into],
        between[which],
        paths.offsets[which],
        paths.location,
        location,
        np.empty(0, np.int64) if time is None else time,
    )
    return replace(trips, location=location, offsets=offsets, time=time)


@njit(cache=True)
def _fill(place, between, start, path, location, time):  # type: ignore[no-untyped-def]
    for i in range(len(place)):
        count = between[i]
        first = place[i] - count
        for k in range(count):
            location[first + k] = path[start[i] + 1 + k]
        if len(time):
            early, late = time[first - 1], time[place[i]]
            for k in range(count):
                time[first + k] = early + (late - early) * (k + 1) // (count + 1)
