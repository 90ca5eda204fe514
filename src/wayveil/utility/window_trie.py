"""Many contiguous queries at once: a trie of all of them, walked once from every visit.

The time depends on the visits and on how far they match, not on the number of queries.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.trips.trips import Trips


@dataclass(frozen=True, eq=False)
class WindowTrie:
    """Node 0 is the empty query. The children of a node are `first[node]:first[node + 1]`, ascending by
    `symbol`; `end[i]` is the node of query i.
    """

    first: NDArray[np.int64]
    symbol: NDArray[np.int64]
    end: NDArray[np.int64]

    @classmethod
    def of(cls, items: NDArray[np.int64], lengths: NDArray[np.int64]) -> "WindowTrie":
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

    def trips_containing(self, trips: Trips) -> NDArray[np.int64]:
        """For each query: the number of trips that have its stops one right after the other."""
        return self._counted(trips, once=True)

    def occurrences(self, trips: Trips) -> NDArray[np.int64]:
        """For each query: how often its stops come one right after the other, however often in one trip."""
        return self._counted(trips, once=False)

    def _counted(self, trips: Trips, *, once: bool) -> NDArray[np.int64]:
        root = np.full(trips.world.size, -1, np.int64)
        tops = slice(self.first[0], self.first[1])
        known = self.symbol[tops] < trips.world.size
        root[self.symbol[tops][known]] = np.arange(self.first[0], self.first[1])[known]
        counts = _walk(trips.location, trips.offsets, self.first, self.symbol, root, once)
        counts[0] = len(trips)
        return counts[self.end]


@njit(cache=True)
def _walk(
    location: NDArray[np.int32],
    offsets: NDArray[np.int64],
    first: NDArray[np.int64],
    symbol: NDArray[np.int64],
    root: NDArray[np.int64],
    once: bool,
) -> NDArray[np.int64]:
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
                low, high = first[node], first[node + 1]
                beyond, wanted = high, location[visit]
                while low < high:
                    middle = (low + high) >> 1
                    if symbol[middle] < wanted:
                        low = middle + 1
                    else:
                        high = middle
                node = low if low < beyond and symbol[low] == wanted else -1
    return counts
