"""Sums of exact counts over pieces of trips.

Every count is a pure function from a piece of trips to cells and whole numbers. Sums of whole numbers do not depend on
how the trips were cut into pieces, nor on the order in which the pieces come: all engines agree to the last bit.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock

import numpy as np
from numba import njit

from wayveil.arrays import Ints
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.weights import PARTS, split_weight
from wayveil.trips.trips import Trips

# The largest universe that is counted in a table of all its cells.
TABLE_CELLS = 1 << 26
# Cells that are collected before they are merged with those known so far.
BUFFER = 1 << 20
WORKERS = min(os.cpu_count() or 1, 8)

ONE = np.ones(1, np.int64)


@dataclass(frozen=True, eq=False)
class Count:
    """Question of a count. Can be sent to another machine; holds public things only, and keys that choose.

    universe  number of public cells
    of        what a piece adds: cells in any order, repeats allowed, and a whole number for each, or one for all
    whole     what a trip has to give where it spreads over cells
    """

    universe: int
    of: Callable[[Trips], tuple[Ints, Ints]]
    whole: int = 1


def weighted(count: Count) -> tuple[Count, int]:
    """A count to which every trip adds what it would by itself, times its weight and rounded down; and how much a
    weight of one counts there where a whole trip adds one.

    A count that spreads a large whole over a trip keeps its resolution: its amounts become smaller. All others are
    counted in parts of one. Trips of one weight are counted together.
    """
    parts = 1 if count.whole >= PARTS else PARTS

    def of(trips: Trips) -> tuple[Ints, Ints]:
        keys, amounts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for weight, alike in of_one_weight(trips):
            cells, each = count.of(alike)
            keys.append(cells)
            each = each * weight if parts > 1 else each * weight // PARTS
            amounts.append(np.broadcast_to(each, len(cells)))
        return np.concatenate(keys), np.concatenate(amounts)

    return Count(count.universe, of), parts


def count_weight_steps(steps: Sequence[int]) -> Count:
    """Weights of trips by how many rows their unit has, each split between two steps (see `split_weight`): a trip adds
    its weight in all, so that a unit adds no more than its weights.
    """

    def of(trips: Trips) -> tuple[Ints, Ints]:
        added = np.zeros(len(steps), np.int64)
        for weight, alike in of_one_weight(trips):
            added += len(alike) * np.array(split_weight(weight, steps))
        return np.arange(len(steps)), added

    return Count(len(steps), of)


def of_one_weight(trips: Trips) -> Iterator[tuple[int, Trips]]:
    """The trips in parts that weigh the same, with what each weighs."""
    weight = trips.weight
    if weight is None:
        raise ValueError("these trips have no weights")
    if np.any(weight[1:] > weight[:-1]):
        trips = trips.take(np.argsort(-weight, kind="stable"))
        weight = trips.weight
        assert weight is not None
    cuts = [0, *(np.flatnonzero(weight[1:] != weight[:-1]) + 1).tolist(), len(trips)]
    for first, last in pairwise(cuts):
        if last > first:
            yield int(weight[first]), trips.part(first, last)


def total(count: Count, pieces: Iterable[Trips], visits: int, workers: int = WORKERS) -> SparseCounts:
    """The sum over the pieces, each worker with a table of its own. `visits` says about how much there is to count."""
    tallies = [_tally(count.universe, visits) for _ in range(workers)]
    left, lock = iter(pieces), Lock()

    def run(tally: "_Table | _Sorted") -> None:
        while True:
            with lock:
                piece = next(left, None)
            if piece is None:
                return
            tally.add(*count.of(piece))

    if workers == 1:
        run(tallies[0])
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(run, tallies))
    for other in tallies[1:]:
        counts = other.counts()
        tallies[0].add(counts.keys, counts.counts)
    return tallies[0].counts()


def counted(count: Count, trips: Trips) -> SparseCounts:
    """The count of a single piece."""
    return total(count, [trips], trips.visits, workers=1)


class _Table:
    """Counts in an array of all cells."""

    def __init__(self, universe: int) -> None:
        self._cells = np.zeros(universe, np.int64)

    def add(self, keys: Ints, weights: Ints) -> None:
        _add(self._cells, keys, weights)

    def counts(self) -> SparseCounts:
        keys = np.flatnonzero(self._cells)
        return SparseCounts(len(self._cells), keys, self._cells[keys])


class _Sorted:
    """Counts of the cells that occur. Merged when what has come since weighs as much as what is known."""

    def __init__(self, universe: int) -> None:
        self._universe = universe
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._waiting: list[tuple[Ints, Ints]] = []
        self._weight = 0

    def add(self, keys: Ints, weights: Ints) -> None:
        self._waiting.append((keys.copy(), np.broadcast_to(weights, len(keys))))
        self._weight += len(keys)
        if self._weight > max(BUFFER, len(self._keys)):
            self._merge()

    def _merge(self) -> None:
        together = np.concatenate([self._keys, *(keys for keys, _ in self._waiting)])
        counts = np.concatenate([self._counts, *(weights for _, weights in self._waiting)])
        self._keys, place = np.unique(together, return_inverse=True)
        self._counts = np.zeros(len(self._keys), np.int64)
        _add(self._counts, place, counts)
        self._waiting, self._weight = [], 0

    def counts(self) -> SparseCounts:
        self._merge()
        return SparseCounts(self._universe, self._keys, self._counts)


def _tally(universe: int, visits: int) -> "_Table | _Sorted":
    """A table of all cells, unless they are too many at all or far more than there is to count."""
    dense = universe <= TABLE_CELLS and universe <= max(16 * visits, 1 << 16)
    return _Table(universe) if dense else _Sorted(universe)


@njit(cache=True, nogil=True)
def _add(cells, keys, weights):  # type: ignore[no-untyped-def]
    """Add a weight per key, or one weight for all."""
    alone = weights.size == 1
    for i in range(keys.size):
        cells[keys[i]] += weights[0] if alone else weights[i]
