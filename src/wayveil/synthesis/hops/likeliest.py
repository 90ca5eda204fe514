"""The likeliest way of each trip: a shortest path on which a hop costs minus the logarithm of its chance.

Chances depend on the destination and the hour, so every pair of those has a graph of its own. A search goes backwards
from the destination, so that it serves all trips of the pair, and ends when it has met all their origins.
"""

from collections.abc import Callable
from itertools import pairwise
from math import log

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.progress import track
from wayveil.world.trees import Heap, sift_down, sift_up

Ints = NDArray[np.int64]
# What every hop of every cell costs on the way to a destination at an hour: one row per cell.
HopCosts = Callable[[int, int], NDArray[np.float32]]

# Hops that are certain cost a little, so that ways do not run in circles; hops that never happen can be taken.
LEAST_COST, MOST_COST = 1e-9, -log(1e-12)
HOURS = 24
_UNSEEN, _SETTLED = -1, -2


def likeliest_ways(
    places: NDArray[np.int32], costs: HopCosts, origin: Ints, destination: Ints, hour: Ints
) -> tuple[NDArray[np.int32], Ints]:
    """Visits of all ways, one after the other, and their offsets.

    `places` has the cell that each hop leads to, -1 for none, one row per cell. The hop that leads back has the same
    place in its row counted from the end. A trip that cannot arrive stays at its origin.
    """
    pair = destination * HOURS + hour
    order = np.argsort(pair, kind="stable")
    bounds = np.append(np.flatnonzero(np.diff(pair[order], prepend=-1)), len(order)).tolist()
    visits, lengths = [np.empty(0, np.int32)], np.empty(len(origin), np.int64)
    for start, stop in track(pairwise(bounds), "likeliest ways", total=len(bounds) - 1):
        members = order[start:stop]
        to, when = int(destination[members[0]]), int(hour[members[0]])
        ways, lengths[members] = _ways_back(places, costs(to, when), to, origin[members])
        visits.append(ways)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    found = np.empty(len(origin), np.int64)
    found[order] = np.cumsum(lengths[order]) - lengths[order]
    inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return np.concatenate(visits)[np.repeat(found, lengths) + inside], offsets


def cost_of(chance: NDArray[np.float64]) -> NDArray[np.float32]:
    """Minus the logarithm of chances, between the least and the most that a hop costs."""
    with np.errstate(divide="ignore"):
        return np.clip(-np.log(chance), LEAST_COST, MOST_COST).astype(np.float32)


@njit(cache=True, nogil=True)
def _ways_back(places, cost, to, origin):  # type: ignore[no-untyped-def]
    """Ways of these origins to one destination, one after the other, and the number of visits of each."""
    size, hops = places.shape
    toward, distance = np.full(size, -1, np.int32), np.full(size, np.inf)
    heap = Heap(np.empty(size), np.empty(size, np.int32), np.full(size, _UNSEEN, np.int32))
    key, node, place = heap
    wanted = np.zeros(size, np.bool_)
    wanted[origin] = True
    missing = wanted.sum()
    distance[to], key[0], node[0], place[to] = 0.0, 0.0, to, 0
    waiting = 1
    while waiting > 0 and missing > 0:
        nearest, here = node[0], key[0]
        place[nearest] = _SETTLED
        missing -= wanted[nearest]
        waiting -= 1
        if waiting > 0:
            sift_down(heap, waiting)
        for hop in range(hops):
            other = places[nearest, hop]
            if other < 0 or place[other] == _SETTLED:
                continue
            through = here + cost[other, hops - 1 - hop]
            if through < distance[other]:
                distance[other], toward[other] = through, nearest
                if place[other] == _UNSEEN:
                    place[other] = waiting
                    waiting += 1
                sift_up(heap, place[other], other, through)
    lengths = np.empty(len(origin), np.int64)
    for i in range(len(origin)):
        at, length = origin[i], 1
        while toward[at] >= 0:
            at, length = toward[at], length + 1
        lengths[i] = length
    visits, written = np.empty(lengths.sum(), np.int32), 0
    for i in range(len(origin)):
        at = origin[i]
        for _ in range(lengths[i]):
            visits[written], at = at, toward[at]
            written += 1
    return visits, lengths
