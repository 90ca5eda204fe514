"""Trips from taps with known riders: boardings in order, and alightings by a rule per rider.

What becomes of a rider's taps depends on that rider's taps and on public knowledge alone, so that two datasets that
differ by one rider still do afterwards: chaining costs no privacy.
"""

from typing import Literal, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.taps.taps import Taps
from wayveil.trips.history import PER_TRIP, History
from wayveil.trips.trips import Trips
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, WEEK
from wayveil.world.trees import seconds_between

Period = Literal["day", "week"]
_MONDAY_BEFORE_EPOCH = 3 * DAY


def sequences(taps: Taps, rider: NDArray[np.int64], period: Period) -> Trips:
    """Boardings in order of time, one trip per rider and day or week; rider -1 makes a trip of one tap."""
    order, offsets = _ordered(taps, rider, period)
    who = rider[order][offsets[:-1]]
    return Trips(taps.location[order], offsets, taps.world, taps.time[order], who, _chained(taps))


def chain_cards(taps: Taps, period: Period = "day") -> Trips:
    """Trips of each card with alightings: board, alight, board, alight, ...

    A rider alights at the stop of the boarded route that is nearest to the next boarding; the last ride goes back to
    the first boarding of the day. Where the route is unknown, any stop serves, so it is that boarding's own stop.
    Alighting times follow from the network's travel times and come before the next boarding. An alighting where the
    rider then boards again is one visit.
    """
    if taps.card is None:
        raise ParameterError(
            "these taps have no cards, so nobody's taps can be chained; release tap counts instead"
        )
    if not isinstance(taps.world, Network):
        raise ParameterError("chaining needs a network, to know where vehicles go and how long they take")
    order, offsets = _ordered(taps, taps.card, period)
    boarding, time = taps.location[order], taps.time[order]
    following = np.arange(1, len(order) + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    route = np.full(len(order), -1, np.int32) if taps.route is None else taps.route[order]
    alighting = _nearest_on_route(taps.world, route, boarding[following])
    ride = seconds_between(taps.world, boarding, alighting)
    arrival = time + np.where(np.isfinite(ride), ride, 0).astype(np.int64)
    last = np.zeros(len(order), bool)
    last[offsets[1:] - 1] = True
    arrival = np.where(last, arrival, np.minimum(arrival, time[np.where(last, 0, following)]))
    visits = np.column_stack([boarding, alighting]).ravel()
    times = np.column_stack([time, arrival]).ravel()
    who = taps.card[order][offsets[:-1]]
    return Trips(visits, 2 * offsets, taps.world, times, who, _chained(taps)).merged()


def _chained(taps: Taps) -> History:
    """A chain hangs on all taps of its rider and period: one tap more can change all of it."""
    return taps.history.then(PER_TRIP)


def _ordered(
    taps: Taps, rider: NDArray[np.int64], period: Period
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the taps by rider, period and time, and where each trip begins."""
    if period not in get_args(Period):
        raise ParameterError(f"trips last a day or a week, not {period!r}")
    span = taps.day if period == "day" else (taps.time + _MONDAY_BEFORE_EPOCH) // WEEK
    order = np.lexsort((taps.time, span, rider))
    who, when = rider[order], span[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (who[1:] != who[:-1]) | (when[1:] != when[:-1]) | (who[1:] < 0)
    return order, np.append(np.flatnonzero(begins), len(order))


def _nearest_on_route(
    network: Network, route: NDArray[np.int32], target: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The stop of each route that is nearest to each target; the target itself where the route is unknown."""
    points = np.column_stack(project(network.lat, network.lon))
    edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    nearest = target.copy()
    for number in np.unique(route[route >= 0]).tolist():
        edges = edge[network.route == number]
        stops = np.union1d(network.sources[edges], network.indices[edges])
        mine = np.flatnonzero(route == number)
        if len(stops):
            nearest[mine] = stops[scipy.spatial.cKDTree(points[stops]).query(points[target[mine]])[1]]
    return nearest
