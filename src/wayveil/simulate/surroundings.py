"""Which stops are near which, and how long the fastest way takes: the public ground that riders move on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from wayveil.progress import track
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.trees import reverse_tree

_ROOTS_AT_ONCE = 256


class Surroundings(NamedTuple):
    """Stops around each stop, nearest first: those of stop x are `near[first[x]:first[x + 1]]`, itself included.

    `seconds` is the least time from such a stop to x, by the network or on foot, whichever is quicker, rounded up;
    `longest` is the greatest least time between any two stops of the network. Points are metres east and north.
    """

    first: NDArray[np.int64]
    near: NDArray[np.int32]
    metres: NDArray[np.float64]
    seconds: NDArray[np.int32]
    longest: int
    east: NDArray[np.float64]
    north: NDArray[np.float64]


def surroundings(network: Network, reach_metres: float, walking: float) -> Surroundings:
    """Everything within reach of every stop; `walking` is in metres per second."""
    east, north = project(network.lat, network.lon)
    points = np.column_stack([east, north])
    tree = cKDTree(points)
    first, near, metres, seconds, longest = [0], [], [], [], 0
    starts = range(0, network.size, _ROOTS_AT_ONCE)
    for start in track(starts, "ways between stops"):
        roots = np.arange(start, min(start + _ROOTS_AT_ONCE, network.size))
        ride = reverse_tree(network, roots, "seconds").distance
        walk = np.hypot(east[roots, None] - east[None], north[roots, None] - north[None]) / walking
        least = np.ceil(np.minimum(ride, walk)).astype(np.int64)
        longest = max(longest, int(least.max()))
        for row, around in enumerate(tree.query_ball_point(points[roots], reach_metres)):
            stops = np.sort(np.asarray(around, np.int32))
            away = np.hypot(east[stops] - east[roots[row]], north[stops] - north[roots[row]])
            order = np.argsort(away, kind="stable")
            near.append(stops[order])
            metres.append(away[order])
            seconds.append(least[row, stops[order]].astype(np.int32))
            first.append(first[-1] + len(stops))
    return Surroundings(
        np.array(first, np.int64),
        np.concatenate(near),
        np.concatenate(metres),
        np.concatenate(seconds),
        longest,
        east,
        north,
    )
