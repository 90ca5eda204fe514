"""Which stops are near which, and how long the fastest way takes: the public ground that riders move on."""

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from wayveil.progress import track
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.trees import reverse_tree

_ROOTS_AT_ONCE = 256
_ZONE_METRES = 1_000.0


class Surroundings(NamedTuple):
    """Stops within reach of each stop, zone by zone: zones from the nearest outwards, and so the stops of each zone.

    Those of stop x are `near[first[x]:first[x + 1]]`, itself included. Zone number g of the zones around x, for g in
    `around[x]..around[x + 1]`, is `zone[g]`, and its stops are `near[begin[g]:begin[g + 1]]`. `seconds` is the least
    time from such a stop to x, by the network or on foot, whichever is quicker, rounded up; `longest` is the greatest
    least time between any two stops of the network. Points are metres east and north.
    """

    first: NDArray[np.int64]
    near: NDArray[np.int32]
    metres: NDArray[np.float64]
    seconds: NDArray[np.int32]
    around: NDArray[np.int64]
    begin: NDArray[np.int64]
    zone: NDArray[np.int32]
    zone_of: NDArray[np.int32]
    longest: int
    east: NDArray[np.float64]
    north: NDArray[np.float64]


def surroundings(network: Network, reach_metres: float, walking: float) -> Surroundings:
    """Everything within reach of every stop; `walking` is in metres per second."""
    east, north = project(network.lat, network.lon)
    points = np.column_stack([east, north])
    zone_of = _zones(east, north)
    tree = scipy.spatial.cKDTree(points)
    near, metres, seconds, longest = [], [], [], 0
    first, around, begin, zone = [0], [0], [np.zeros(1, np.int64)], []
    starts = range(0, network.size, _ROOTS_AT_ONCE)
    for start in track(starts, "ways between stops"):
        roots = np.arange(start, min(start + _ROOTS_AT_ONCE, network.size))
        ride = reverse_tree(network, roots, "seconds").distance
        walk = np.hypot(east[roots, None] - east[None], north[roots, None] - north[None]) / walking
        least = np.ceil(np.minimum(ride, walk)).astype(np.int64)
        longest = max(longest, int(least.max()))
        for row, reached in enumerate(tree.query_ball_point(points[roots], reach_metres)):
            stops = np.sort(np.asarray(reached, np.int32))
            away = np.hypot(east[stops] - east[roots[row]], north[stops] - north[roots[row]])
            nearest = np.full(zone_of.max() + 1, np.inf)
            np.minimum.at(nearest, zone_of[stops], away)
            order = np.lexsort((away, zone_of[stops], nearest[zone_of[stops]]))
            stops = stops[order]
            new = np.flatnonzero(np.r_[True, np.diff(zone_of[stops]) != 0])
            near.append(stops)
            metres.append(away[order])
            seconds.append(least[row, stops].astype(np.int32))
            zone.append(zone_of[stops[new]])
            begin.append(first[-1] + np.append(new[1:], len(stops)))
            around.append(around[-1] + len(new))
            first.append(first[-1] + len(stops))
    return Surroundings(
        np.array(first, np.int64),
        np.concatenate(near),
        np.concatenate(metres),
        np.concatenate(seconds),
        np.array(around, np.int64),
        np.concatenate(begin),
        np.concatenate(zone),
        zone_of,
        longest,
        east,
        north,
    )


def _zones(east: NDArray[np.float64], north: NDArray[np.float64]) -> NDArray[np.int32]:
    """Squares of a grid, numbered; those without a stop have no number."""
    column, row = (np.floor(axis / _ZONE_METRES).astype(np.int64) for axis in (east, north))
    return np.unique(column * (1 << 32) + row, return_inverse=True)[1].astype(np.int32)
