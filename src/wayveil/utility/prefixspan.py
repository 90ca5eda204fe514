"""The most frequent gapped patterns: PrefixSpan, best first.

A pattern's support is the number of trips that have its stops in order, gaps allowed. No extension of a
pattern is more frequent than the pattern, so patterns taken from a queue in order of support come out in that
order: the first k of them are the answer, and nothing rarer is ever looked at. Patterns of equal support come
out the shorter first, then in the order of their stops.
"""

from dataclasses import dataclass
from heapq import heappop, heappush, heappushpop

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.trips.trips import Trips

Pattern = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Projection:
    """The visits at which the earliest match of a pattern ends, one per trip that has it."""

    visit: NDArray[np.int64]
    end: NDArray[np.int64]


def top_gapped_patterns(
    trips: Trips, count: int, *, min_length: int = 2, max_length: int = 5, at_least: int = 1
) -> list[tuple[Pattern, int]]:
    """The `count` most frequent patterns with their supports; fewer if there are not so many.

    `at_least` is a support that the caller knows the answer to reach: stops rarer than that are left out at
    once, which saves most of the work.
    """
    if trips.visits == 0 or count < 1:
        return []
    at_least = max(at_least, 1)
    support = trips_per_stop(trips.location, trips.offsets, trips.world.size)
    kept = trips.keep_visits((support >= at_least)[trips.location])
    filled = kept.lengths > 0
    begin = _Projection(kept.offsets[:-1][filled] - 1, kept.offsets[1:][filled])
    queue: list[tuple[int, int, Pattern, _Projection]] = []
    best: list[int] = []  # supports of the most frequent patterns met so far: what is rarer cannot come out

    def extend(pattern: Pattern, ends: _Projection) -> None:
        counts = _extensions(kept.location, ends.visit, ends.end, kept.world.size)
        bound = max(at_least, best[0] if len(best) == count else 1)
        stops = np.flatnonzero(counts >= bound)
        counted = len(pattern) + 1 >= min_length
        if counted and len(stops) > count:
            stops = stops[counts[stops] >= np.partition(counts[stops], -count)[-count]]
        for stop in stops.tolist():
            support = int(counts[stop])
            heappush(queue, (-support, len(pattern) + 1, (*pattern, stop), ends))
            if counted:
                heappush(best, support) if len(best) < count else heappushpop(best, support)

    extend((), begin)
    found: list[tuple[Pattern, int]] = []
    while queue and len(found) < count:
        negative, length, pattern, before = heappop(queue)
        if length >= min_length:
            found.append((pattern, -negative))
        if length < max_length:
            visit, end = _project(kept.location, before.visit, before.end, pattern[-1], -negative)
            extend(pattern, _Projection(visit, end))
    return found


@njit(cache=True)
def trips_per_stop(location: NDArray[np.int32], offsets: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """How many trips visit each stop at least once."""
    counts = np.zeros(size, np.int64)
    seen = np.full(size, -1, np.int64)
    for trip in range(len(offsets) - 1):
        for visit in range(offsets[trip], offsets[trip + 1]):
            stop = location[visit]
            if seen[stop] != trip:
                seen[stop] = trip
                counts[stop] += 1
    return counts


@njit(cache=True)
def _extensions(
    location: NDArray[np.int32], visit: NDArray[np.int64], end: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """For each stop: how many of the trips visit it after the match."""
    counts = np.zeros(size, np.int64)
    seen = np.full(size, -1, np.int64)
    for trip in range(len(visit)):
        for at in range(visit[trip] + 1, end[trip]):
            stop = location[at]
            if seen[stop] != trip:
                seen[stop] = trip
                counts[stop] += 1
    return counts


@njit(cache=True)
def _project(
    location: NDArray[np.int32], visit: NDArray[np.int64], end: NDArray[np.int64], stop: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The matches that go on to `stop`, at its earliest visit."""
    new_visit, new_end = np.empty(count, np.int64), np.empty(count, np.int64)
    found = 0
    for trip in range(len(visit)):
        for at in range(visit[trip] + 1, end[trip]):
            if location[at] == stop:
                new_visit[found], new_end[found] = at, end[trip]
                found += 1
                break
    return new_visit, new_end
