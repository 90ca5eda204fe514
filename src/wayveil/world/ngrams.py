"""The public universe of n-grams: all paths of n locations that a world allows.

A few thousand stops have millions of 5-grams, so the universe is never listed unless somebody asks. Counting the
ways to go on from each location, by dynamic programming, gives its exact size and numbers its members in the order
of their locations.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayveil.arrays import Int32s, Ints, Mask
from wayveil.errors import ParameterError
from wayveil.world.successors import CompleteSuccessors, SparseSuccessors, Successors
from wayveil.world.world import World

_LARGEST_NUMBER = (1 << 63) - 1


class _Numbering(Protocol):
    """Numbers for the paths of one universe; `fits` says whether 64 bits hold them."""

    size: int
    fits: bool

    def rank(self, paths: Ints) -> Ints: ...

    def unrank(self, numbers: Ints) -> Int32s: ...


class NgramUniverse:
    """All paths of n locations, numbered 0..size-1 in lexicographic order.

    `size` is exact, however large. Numbers are 64-bit: where they do not fit, `rank` and `unrank` refuse, and
    `contains` still works.
    """

    def __init__(self, world: World | Successors, n: int) -> None:
        self.successors = world.successors if isinstance(world, World) else world
        self.n = n
        if n < 1:
            raise ParameterError(f"n-grams have at least one location, not {n}")
        self._numbering: _Numbering
        if isinstance(self.successors, CompleteSuccessors):
            self._numbering = _Digits(self.successors.size, n)
        elif isinstance(self.successors, SparseSuccessors):
            self._numbering = _WalkCounts(self.successors, n)
        else:
            raise ParameterError("n-grams need a world whose moves go between plain locations")
        self.size = self._numbering.size

    def contains(self, grams: ArrayLike) -> Mask:
        """Which rows (of n locations each) are paths of the world."""
        rows = self._rows(grams)
        inside: Mask = np.all((rows >= 0) & (rows < self.successors.size), axis=1)
        for i in range(1, self.n):
            at = np.flatnonzero(inside)
            inside[at] = self.successors.contains(rows[at, i - 1], rows[at, i])
        return inside

    def rank(self, grams: ArrayLike) -> Ints:
        """The number of each row, -1 for a row that is no path of the world."""
        self._check_numbers_fit()
        rows = self._rows(grams)
        inside = self.contains(rows)
        out = np.full(len(rows), -1, np.int64)
        out[inside] = self._numbering.rank(rows[inside])
        return out

    def unrank(self, numbers: ArrayLike) -> Int32s:
        """The path with each number, one row of n locations each."""
        self._check_numbers_fit()
        asked = np.atleast_1d(np.asarray(numbers, np.int64))
        if np.any((asked < 0) | (asked >= self.size)):
            raise ParameterError(f"the {self.n}-grams are numbered from 0 to {self.size - 1}")
        return self._numbering.unrank(asked)

    def enumerate(self, chunk: int = 1 << 20) -> Iterator[Int32s]:
        """All paths in the order of their numbers, at most `chunk` at a time."""
        for start in range(0, self.size, chunk):
            yield self.unrank(np.arange(start, min(start + chunk, self.size)))

    def _rows(self, grams: ArrayLike) -> Ints:
        rows = np.asarray(grams, np.int64)
        if rows.ndim != 2 or rows.shape[1] != self.n:
            raise ParameterError(
                f"{self.n}-grams are rows of {self.n} locations, not an array of shape {rows.shape}"
            )
        return rows

    def _check_numbers_fit(self) -> None:
        if not self._numbering.fits:
            raise ParameterError(
                f"the {self.size:,} possible {self.n}-grams do not fit 64-bit numbers; use a smaller n, or a "
                "network that says which location may follow which"
            )


def count_without_returns(world: World | Successors, n: int) -> int:
    """Return how many paths of n locations never go straight back (a, b, a); exact, however large."""
    successors = world.successors if isinstance(world, World) else world
    if n < 3 or isinstance(successors, CompleteSuccessors):
        size = NgramUniverse(successors, n).size
        # Every location but the one before last may come next.
        return size if n < 3 else successors.size**2 * (successors.size - 1) ** (n - 2)
    if not isinstance(successors, SparseSuccessors):
        raise ParameterError("n-grams need a world whose moves go between plain locations")
    source = np.repeat(np.arange(successors.size), np.diff(successors.indptr))
    target = successors.indices
    back = successors.rank(target, source)
    returns = np.flatnonzero(back >= 0)
    returning = successors.indptr[target[returns]] + back[returns]
    # Paths that go on from each move; those that go straight back are taken out.
    paths = np.ones(len(target), object)
    for _ in range(n - 2):
        running = _sums_before(paths)
        on = running[successors.indptr[target + 1]] - running[successors.indptr[target]]
        on[returns] = on[returns] - paths[returning]
        paths = on
    return int(paths.sum())


class _Digits:
    """A complete graph: a path is a number in base `locations`."""

    def __init__(self, locations: int, n: int) -> None:
        self.locations, self.n = locations, n
        self.size = locations**n
        self.fits = self.size <= _LARGEST_NUMBER

    def rank(self, paths: Ints) -> Ints:
        number = np.zeros(len(paths), np.int64)
        for column in paths.T:
            number = number * self.locations + column
        return number

    def unrank(self, numbers: Ints) -> Int32s:
        paths = np.empty((len(numbers), self.n), np.int32)
        for i in reversed(range(self.n)):
            numbers, paths[:, i] = np.divmod(numbers, self.locations)
        return paths


class _WalkCounts:
    """A sparse graph: a path's number is how many walks come before it.

    `_first[s]` counts the walks that start before s; `_running[k][e]` those of k + 1 locations that start at the
    target of an edge before e.
    """

    def __init__(self, successors: SparseSuccessors, n: int) -> None:
        self.successors, self.n = successors, n
        indptr, indices = successors.indptr, successors.indices
        # Python's integers, because a count of walks may have any number of digits.
        walks = np.ones(successors.size, object)
        running = []
        for _ in range(n - 1):
            running.append(_sums_before(walks[indices]))
            walks = running[-1][indptr[1:]] - running[-1][indptr[:-1]]
        first = _sums_before(walks)
        self.size = int(first[-1])
        # Dead ends can make shorter walks more numerous than those of n locations.
        self.fits = all(table[-1] <= _LARGEST_NUMBER for table in (first, *running))
        if self.fits:
            self._first = first.astype(np.int64)
            self._running = [table.astype(np.int64) for table in running]

    def rank(self, paths: Ints) -> Ints:
        number = self._first[paths[:, 0]]
        for i in range(1, self.n):
            before, here = paths[:, i - 1], paths[:, i]
            row = self.successors.indptr[before]
            running = self._running[self.n - 1 - i]
            number += running[row + self.successors.rank(before, here)] - running[row]
        return number

    def unrank(self, numbers: Ints) -> Int32s:
        paths = np.empty((len(numbers), self.n), np.int32)
        paths[:, 0] = _falls_into(self._first, numbers)
        rest = numbers - self._first[paths[:, 0]]
        for i in range(1, self.n):
            running = self._running[self.n - 1 - i]
            rest += running[self.successors.indptr[paths[:, i - 1]]]
            edge = _falls_into(running, rest)
            paths[:, i] = self.successors.indices[edge]
            rest -= running[edge]
        return paths


def _sums_before(counts: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.concatenate([np.zeros(1, object), np.cumsum(counts, dtype=object)])


def _falls_into(ascending: Ints, values: Ints) -> Ints:
    """The last position whose entry is at most the value; positions that count nothing are never it."""
    return np.searchsorted(ascending, values, side="right") - 1
