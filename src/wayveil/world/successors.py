"""Successors: the public relation "after location a, location b is possible".

Mechanisms never list the children of a node. They ask how many there are (`degree`), which is the k-th (`nth`) and
which rank one has (`rank`); so a complete graph over a million locations costs nothing. What may come next depends on
a *state*; for plain sequences the state is the last location, richer alphabets (location and time) say in `follow`
which state a move leads to.
"""

from abc import ABC, abstractmethod

import numpy as np
from numba import njit

from wayveil.arrays import AnyInts, Int32s, Ints, Mask, find_sorted


class Successors(ABC):
    """The legal next locations of every location, in ascending order."""

    size: int

    @property
    @abstractmethod
    def mean_degree(self) -> float:
        """Successors of a location, on average over all locations."""

    @abstractmethod
    def degree(self, source: AnyInts) -> Ints:
        """Return how many locations may follow each source."""

    @abstractmethod
    def nth(self, source: AnyInts, rank: AnyInts) -> Int32s:
        """The successor with the given rank (0-based, ascending) of each source."""

    @abstractmethod
    def rank(self, source: AnyInts, target: AnyInts) -> Ints:
        """The rank of target among the successors of source, or -1 where the move is not allowed."""

    def follow(self, source: AnyInts, target: AnyInts) -> Ints:
        """The state after moving from source to target: the target, unless an alphabet remembers more."""
        return np.asarray(target).astype(np.int64)

    def contains(self, source: AnyInts, target: AnyInts) -> Mask:
        """Tell whether target may follow source."""
        return self.rank(source, target) >= 0


class CompleteSuccessors(Successors):
    """Every location may follow every location, itself included."""

    def __init__(self, size: int) -> None:
        self.size = size

    @property
    def mean_degree(self) -> float:
        return float(self.size)

    def degree(self, source: AnyInts) -> Ints:
        return np.full(np.shape(source), self.size, np.int64)

    def nth(self, source: AnyInts, rank: AnyInts) -> Int32s:
        return np.asarray(rank).astype(np.int32)

    def rank(self, source: AnyInts, target: AnyInts) -> Ints:
        return np.asarray(target).astype(np.int64)


class SparseSuccessors(Successors):
    """The edges of a graph: row i holds `indices[indptr[i]:indptr[i + 1]]`, ascending and without repeats."""

    def __init__(self, indptr: AnyInts, indices: AnyInts) -> None:
        self.indptr = np.ascontiguousarray(indptr, np.int64)
        self.indices = np.ascontiguousarray(indices, np.int32)
        self.size = len(self.indptr) - 1
        row = np.repeat(np.arange(self.size), np.diff(self.indptr))
        flat = row * np.int64(self.size) + self.indices
        if np.any(np.diff(flat) <= 0):
            raise ValueError("successors must be ascending within a row and without repeats")

    @property
    def mean_degree(self) -> float:
        return len(self.indices) / self.size

    def degree(self, source: AnyInts) -> Ints:
        source = np.asarray(source)
        return self.indptr[source + 1] - self.indptr[source]

    def nth(self, source: AnyInts, rank: AnyInts) -> Int32s:
        return self.indices[self.indptr[np.asarray(source)] + np.asarray(rank)]

    def rank(self, source: AnyInts, target: AnyInts) -> Ints:
        a, b = np.broadcast_arrays(np.asarray(source, np.int32), np.asarray(target, np.int32))
        return ranks_in_rows(self.indptr, self.indices, a.ravel(), b.ravel()).reshape(a.shape)


@njit(cache=True, nogil=True)
def ranks_in_rows(indptr: Ints, indices: Int32s, source: Int32s, target: Int32s) -> Ints:
    """Position of each target inside its source's row, -1 where it is absent (binary search)."""
    out = np.empty(len(source), np.int64)
    for i in range(len(source)):
        start = indptr[source[i]]
        at = find_sorted(indices, start, indptr[source[i] + 1], target[i])
        out[i] = at - start if at >= 0 else -1
    return out


class MarkedSuccessors(Successors):
    """Locations 0..locations-1, then the begin mark, then the end mark. The end is the last in every row."""

    def __init__(self, moves: Successors) -> None:
        self.moves = moves
        self.locations = moves.size
        self.begin, self.end = moves.size, moves.size + 1
        self.size = moves.size + 2

    @property
    def mean_degree(self) -> float:
        return float(self.degree(np.arange(self.size)).mean())

    def degree(self, source: AnyInts) -> Ints:
        source = np.asarray(source)
        inside = self.moves.degree(np.minimum(source, self.locations - 1)) + 1
        marks = np.where(source == self.begin, self.locations, 0)
        return np.where(source < self.locations, inside, marks).astype(np.int64)

    def nth(self, source: AnyInts, rank: AnyInts) -> Int32s:
        source, rank = np.broadcast_arrays(np.asarray(source), np.asarray(rank))
        out = np.where(source < self.locations, self.end, rank).astype(np.int32)
        inside = np.flatnonzero((source < self.locations) & (rank < self.degree(source) - 1))
        out[inside] = self.moves.nth(source[inside], rank[inside])
        return out

    def rank(self, source: AnyInts, target: AnyInts) -> Ints:
        source, target = np.broadcast_arrays(np.asarray(source), np.asarray(target))
        out = np.full(source.shape, -1, np.int64)
        begin = np.flatnonzero((source == self.begin) & (target < self.locations))
        out[begin] = target[begin]
        ending = np.flatnonzero((source < self.locations) & (target == self.end))
        out[ending] = self.moves.degree(source[ending])
        inside = np.flatnonzero((source < self.locations) & (target < self.locations))
        out[inside] = self.moves.rank(source[inside], target[inside])
        return out


class MarkedMoves:
    """All moves over any successors, marks included, ranked 0..size-1: by where they start, then by where they go.

    Holds one number per symbol. An alphabet of tens of thousands has hundreds of millions of moves, and no table.
    """

    n = 2

    def __init__(self, moves: Successors) -> None:
        self.successors = MarkedSuccessors(moves)
        self.locations, self.begin, self.end = moves.size, self.successors.begin, self.successors.end
        degree = self.successors.degree(np.arange(self.end))
        self._starts = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
        self.size = int(self._starts[-1])

    def rank(self, source: AnyInts, target: AnyInts) -> Ints:
        """The rank of each move, -1 for one that is not in the universe; a negative symbol is in none."""
        source = np.asarray(source, np.int64)
        known = (source >= 0) & (source < self.end)
        at = np.where(known, source, 0)
        rank = self.successors.rank(at, target)
        return np.where(known & (rank >= 0), self._starts[at] + rank, -1)

    def unrank(self, ranks: AnyInts) -> Ints:
        """Both symbols of each rank, one row each."""
        ranks = np.asarray(ranks, np.int64)
        source = np.searchsorted(self._starts, ranks, side="right") - 1
        target = self.successors.nth(source, ranks - self._starts[source]).astype(np.int64)
        return np.stack([source, target], axis=1)
