"""What may follow what: the public relation "after location a, location b is possible".

Mechanisms never list the children of a node. They ask how many there are (`degree`), which is the k-th (`nth`) and
which rank one has (`rank`); so a complete graph over a million locations costs nothing. What may come next depends on
a *state*; for plain sequences the state is the last location, richer alphabets (location and time) say in `follow`
which state a move leads to.
"""

from abc import ABC, abstractmethod

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import AnyInts


class Successors(ABC):
    """The legal next locations of every location, in ascending order."""

    size: int

    @property
    @abstractmethod
    def mean_degree(self) -> float:
        """Successors of a location, on average over all locations."""

    @abstractmethod
    def degree(self, source: AnyInts) -> NDArray[np.int64]:
        """How many locations may follow each source."""

    @abstractmethod
    def nth(self, source: AnyInts, rank: AnyInts) -> NDArray[np.int32]:
        """The successor with the given rank (0-based, ascending) of each source."""

    @abstractmethod
    def rank(self, source: AnyInts, target: AnyInts) -> NDArray[np.int64]:
        """The rank of target among the successors of source, or -1 where the move is not allowed."""

    def follow(self, source: AnyInts, target: AnyInts) -> NDArray[np.int64]:
        """The state after moving from source to target: the target, unless an alphabet remembers more."""
        return np.asarray(target).astype(np.int64)

    def contains(self, source: AnyInts, target: AnyInts) -> NDArray[np.bool_]:
        """Whether target may follow source."""
        return self.rank(source, target) >= 0


class CompleteSuccessors(Successors):
    """Every location may follow every location, itself included."""

    def __init__(self, size: int) -> None:
        self.size = size

    @property
    def mean_degree(self) -> float:
        return float(self.size)

    def degree(self, source: AnyInts) -> NDArray[np.int64]:
        return np.full(np.shape(source), self.size, np.int64)

    def nth(self, source: AnyInts, rank: AnyInts) -> NDArray[np.int32]:
        return np.asarray(rank).astype(np.int32)

    def rank(self, source: AnyInts, target: AnyInts) -> NDArray[np.int64]:
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

    def degree(self, source: AnyInts) -> NDArray[np.int64]:
        source = np.asarray(source)
        return self.indptr[source + 1] - self.indptr[source]

    def nth(self, source: AnyInts, rank: AnyInts) -> NDArray[np.int32]:
        return self.indices[self.indptr[np.asarray(source)] + np.asarray(rank)]

    def rank(self, source: AnyInts, target: AnyInts) -> NDArray[np.int64]:
        a, b = np.broadcast_arrays(np.asarray(source, np.int32), np.asarray(target, np.int32))
        return ranks_in_rows(self.indptr, self.indices, a.ravel(), b.ravel()).reshape(a.shape)


@njit(cache=True, nogil=True)
def ranks_in_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Position of each target inside its source's row, -1 where it is absent (binary search)."""
    out = np.empty(len(source), np.int64)
    for i in range(len(source)):
        start = indptr[source[i]]
        low, size = start, indptr[source[i] + 1] - start
        # Halving without branches: which way it goes cannot be predicted.
        while size > 1:
            half = size >> 1
            low += half * (indices[low + half] <= target[i])
            size -= half
        out[i] = low - start if size > 0 and indices[low] == target[i] else -1
    return out
