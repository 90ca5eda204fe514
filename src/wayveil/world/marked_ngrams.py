"""The public universe of n-grams of trips that begin with a mark and end with one.

A trip a b c is read as ^ a b c $. The marks say where trips start, where they end and, because there is one of each
per trip, how many there are; and they give a trip of a single stop an n-gram of its own. To have n-grams that hold
marks and stops for every n, a trip begins with a chain of n - 2 marks (at least one), each of which only the next may
follow. Every location may follow the last of them, and every location may end a trip.

The universe is the set of all walks of n symbols in that public graph. It is never listed: walks are counted by
dynamic programming, which also gives each of them a rank, and back.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import AnyInts, Ints, find_sorted
from wayveil.errors import ParameterError
from wayveil.world.successors import CompleteSuccessors, SparseSuccessors, Successors

# Ranks are 64-bit integers, and noise among empty cells is drawn for at most this many.
MAX_SIZE = 1 << 50
LONGEST = 12


class MarkedNgrams:
    """All n-grams of marked trips over `successors`, ranked 0..size-1.

    Symbols are the locations 0..locations-1, then the `begins` marks of the beginning, then the mark of the end.
    """

    def __init__(self, successors: Successors, n: int) -> None:
        if not 2 <= n <= LONGEST:
            raise ParameterError(f"n-grams have 2 to {LONGEST} symbols here, not {n}")
        if not isinstance(successors, CompleteSuccessors | SparseSuccessors):
            raise ParameterError("n-grams need the moves between plain locations")
        self.n = n
        self.successors = successors
        self.locations = successors.size
        self.begins = max(1, n - 2)
        self.end = self.locations + self.begins
        self.tables = self._tables()
        self.size = int(self.tables.base[n, -1])

    def _tables(self) -> "Tables":
        n, size, end = self.n, self.locations, self.end
        indptr, indices = np.zeros(1, np.int64), np.zeros(0, np.int32)
        if sparse := isinstance(self.successors, SparseSuccessors):
            indptr, indices = self.successors.indptr, self.successors.indices
        walks = np.zeros((n + 1, end + 1))
        walks[1] = 1
        before = np.zeros((n + 1, len(indices)))
        for k in range(2, n + 1):
            if sparse:
                running = np.concatenate([[0.0], np.cumsum(walks[k - 1][indices])])
                before[k] = running[:-1] - np.repeat(running[indptr[:-1]], np.diff(indptr))
                walks[k, :size] = running[indptr[1:]] - running[indptr[:-1]]
            else:
                walks[k, :size] = walks[k - 1, :size].sum()
            walks[k, :size] += walks[k - 1, end]
            walks[k, end - 1] = walks[k - 1, :size].sum()
            walks[k, size : end - 1] = walks[k - 1, size + 1 : end]
        if walks[n].sum() > MAX_SIZE:
            raise ParameterError(
                f"there are more than {MAX_SIZE:,} possible {n}-grams of {size:,} locations; "
                f"use a smaller n, or a network that says which location may follow which"
            )
        # Below 2^53 the sums above are exact.
        base = np.concatenate([np.zeros((n + 1, 1)), np.cumsum(walks, axis=1)], axis=1)
        return Tables(walks.astype(np.int64), base.astype(np.int64), before.astype(np.int64), indptr, indices)

    def pad(self, trip: list[int]) -> list[int]:
        """One trip with its marks, for small cases and tests."""
        return [*range(self.locations, self.end), *trip, self.end]

    def rank(self, grams: AnyInts) -> Ints:
        """The rank of each row of n symbols, -1 for one that is not in the universe."""
        grams = np.ascontiguousarray(grams, np.int64).reshape(-1, self.n)
        return rank_rows(grams, self.locations, self.tables.packed)

    def unrank(self, ranks: AnyInts) -> Ints:
        """The symbols of each rank, one row each."""
        return unrank_rows(np.ascontiguousarray(ranks, np.int64), self.n, self.locations, self.tables.packed)


class Tables:
    """Tables that the compiled loops need.

    walks[k, s]   walks of k symbols that start at s
    base[k, s]    walks of k symbols that start before s
    before[k, e]  walks of k symbols that start at the source of edge e and continue with an earlier edge of it
    """

    def __init__(self, *arrays: NDArray[Any]) -> None:
        self.packed = arrays
        self.base: Ints = arrays[1]


@njit(cache=True, nogil=True)
def edge_of(x, y, size, indptr, indices):  # type: ignore[no-untyped-def]
    """Position of the move x -> y among the moves of a sparse graph (0 in a complete one), -1 if there is none."""
    if x >= size or y >= size or indptr.size == 1:
        return 0
    return find_sorted(indices, indptr[x], indptr[x + 1], y)


@njit(cache=True, nogil=True)
def walks_before(k, x, y, edge, size, tables):  # type: ignore[no-untyped-def]
    """Walks of k symbols that start at x and go to something before y; -1 if x -> y is not a move."""
    walks, base, before, indptr, _ = tables
    end = walks.shape[1] - 1
    if edge < 0 or x >= end:
        return -1
    if y == end:
        return walks[k, x] - walks[k - 1, end] if x < size else -1
    if y >= size:
        return 0 if x >= size and y == x + 1 else -1
    if x < size:
        return before[k, edge] if indptr.size > 1 else base[k - 1, y]
    return base[k - 1, y] if x == end - 1 else -1


@njit(cache=True, nogil=True)
def rank_rows(grams, size, tables):  # type: ignore[no-untyped-def]
    n = grams.shape[1]
    end = tables[0].shape[1] - 1
    out = np.full(len(grams), -1, np.int64)
    for i in range(len(grams)):
        first = grams[i, 0]
        rank = tables[1][n, first] if 0 <= first < end else -1
        for j in range(n - 1):
            x, y = grams[i, j], grams[i, j + 1]
            if rank < 0 or not 0 <= y <= end:
                rank = -1
                break
            edge = edge_of(x, y, size, tables[3], tables[4])
            step = walks_before(n - j, x, y, edge, size, tables)
            rank = rank + step if step >= 0 else -1
        out[i] = rank
    return out


@njit(cache=True, nogil=True)
def unrank_rows(ranks, n, size, tables):  # type: ignore[no-untyped-def]
    walks, base, before, indptr, indices = tables
    end = walks.shape[1] - 1
    out = np.empty((len(ranks), n), np.int64)
    for i in range(len(ranks)):
        x = np.searchsorted(base[n], ranks[i], side="right") - 1
        left = ranks[i] - base[n, x]
        out[i, 0] = x
        for j in range(1, n):
            k = n - j + 1
            if x < size and left >= walks[k, x] - walks[k - 1, end]:
                left -= walks[k, x] - walks[k - 1, end]
                y = end
            elif size <= x < end - 1:
                y = x + 1
            elif x < size and indptr.size > 1:
                row = before[k, indptr[x] : indptr[x + 1]]
                edge = np.searchsorted(row, left, side="right") - 1
                left -= row[edge]
                y = np.int64(indices[indptr[x] + edge])
            else:
                y = np.searchsorted(base[k - 1, : size + 1], left, side="right") - 1
                left -= base[k - 1, y]
            out[i, j] = y
            x = y
    return out
