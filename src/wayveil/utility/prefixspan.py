"""Searches for patterns: PrefixSpan for gapped ones, a trie for many contiguous queries at once.

A pattern's support is the number of trips that have its stops in order, gaps allowed. No extension of a
pattern is more frequent than the pattern, so patterns taken from a queue in order of support come out in that
order: the first k of them are the answer, and nothing rarer is ever looked at. Patterns of equal support come
out the shorter first, then in the order of their stops.

Many contiguous queries at once: a trie of all of them, walked once from every visit.

The time depends on the visits and on how far they match, not on the number of queries.
"""

from dataclasses import dataclass
from heapq import heappop, heappush, heappushpop

import numpy as np
from numba import njit

from wayveil.arrays import Int32s, Ints, find_sorted
from wayveil.trips.trips import Trips

Pattern = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Projection:
    """The visits at which the earliest match of a pattern ends, one per trip that has it."""

    visit: Ints
    end: Ints


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
    support = _extensions(trips.location, trips.offsets[:-1] - 1, trips.offsets[1:], trips.world.size)
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
def _extensions(location: Int32s, visit: Ints, end: Ints, size: int) -> Ints:
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
def _project(location: Int32s, visit: Ints, end: Ints, stop: int, count: int) -> tuple[Ints, Ints]:
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


@dataclass(frozen=True, eq=False)
class WindowTrie:
    """Node 0 is the empty query. The children of a node are `first[node]:first[node + 1]`, ascending by
    `symbol`; `end[i]` is the node of query i.
    """

    first: Ints
    symbol: Ints
    end: Ints

    @classmethod
    def of(cls, items: Ints, lengths: Ints) -> "WindowTrie":
        """All queries: row i is the first `lengths[i]` symbols of `items[i]`."""
        width = int(lengths.max(initial=0))
        node = np.zeros(len(lengths), np.int64)
        symbols, parents, size = [np.full(1, -1, np.int64)], [np.full(1, -1, np.int64)], 1
        spread = int(items.max(initial=0)) + 1
        for depth in range(width):
            longer = np.flatnonzero(lengths > depth)
            key, place = np.unique(node[longer] * spread + items[longer, depth], return_inverse=True)
            node[longer] = size + place
            parents.append(key // spread)
            symbols.append(key % spread)
            size += len(key)
        # Level by level and ascending by parent, so that every node's children lie side by side.
        children = np.bincount(np.concatenate(parents)[1:], minlength=size)
        first = np.concatenate([[1], 1 + np.cumsum(children)]).astype(np.int64)
        return cls(first, np.concatenate(symbols), node)

    def trips_containing(self, trips: Trips) -> Ints:
        """For each query: the number of trips that have its stops one right after the other."""
        return self._counted(trips, once=True)

    def occurrences(self, trips: Trips) -> Ints:
        """For each query: how often its stops come one right after the other, however often in one trip."""
        return self._counted(trips, once=False)

    def _counted(self, trips: Trips, *, once: bool) -> Ints:
        root = np.full(trips.world.size, -1, np.int64)
        tops = slice(self.first[0], self.first[1])
        known = self.symbol[tops] < trips.world.size
        root[self.symbol[tops][known]] = np.arange(self.first[0], self.first[1])[known]
        counts = _walk(trips.location, trips.offsets, self.first, self.symbol, root, once)
        counts[0] = len(trips)
        return counts[self.end]


@njit(cache=True)
def _walk(location: Int32s, offsets: Ints, first: Ints, symbol: Ints, root: Ints, once: bool) -> Ints:
    counts = np.zeros(len(symbol), np.int64)
    last_trip = np.full(len(symbol), -1, np.int64)
    for trip in range(len(offsets) - 1):
        end = offsets[trip + 1]
        for start in range(offsets[trip], end):
            node = root[location[start]]
            visit = start
            while node >= 0:
                if not once or last_trip[node] != trip:
                    last_trip[node] = trip
                    counts[node] += 1
                visit += 1
                if visit == end:
                    break
                node = find_sorted(symbol, first[node], first[node + 1], location[visit])
    return counts
