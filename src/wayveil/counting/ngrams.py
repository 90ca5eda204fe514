"""Exact counts of the n-grams of marked trips, with what one trip may add bounded trip by trip.

Two bounds, both a rule per trip that looks at nothing else. *Capped*: a trip counts for at most so many distinct
n-grams, chosen at random with secure bits, one each. *Normalised*: a trip has a fixed whole to give and spreads it
evenly over its n-grams, repeats included, so that no length has to be cut off. Trips are read in pieces, so that memory
does not grow with the dataset; n-grams outside the public universe are not counted.
"""

from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.privacy.bits import Bits
from wayveil.privacy.gate import SparseCounts
from wayveil.privacy.sampling import sample_per_group
from wayveil.trips.trips import Trips
from wayveil.world.marked_ngrams import MarkedNgrams, edge_of, walks_before

# Visits read at a time, and the largest universe that is counted in a table of all its cells.
PIECE = 1 << 20
TABLE_CELLS = 1 << 26

Ints = NDArray[np.int64]


def capped_ngrams(trips: Trips, universe: MarkedNgrams, most: int, bits: Bits) -> SparseCounts:
    """In how many trips each n-gram occurs, when a trip counts for at most `most` of its distinct n-grams.

    One trip more or less moves at most `most` counts by one each. The choice in one trip depends on nothing outside.
    """
    tally = _tally(universe.size)
    for keys, sizes in _pieces(trips, universe, distinct=True):
        tally.add(keys[sample_per_group(sizes, most, bits)])
    return tally.counts()


def normalised_ngrams(trips: Trips, universe: MarkedNgrams, whole: int) -> SparseCounts:
    """How much weight each n-gram has, when a trip with w n-grams gives floor(whole / w) to each occurrence.

    One trip more or less moves the counts by at most `whole` in all.
    """
    tally = _tally(universe.size)
    for keys, sizes in _pieces(trips, universe, distinct=False):
        tally.add(keys, np.repeat(whole // np.maximum(sizes, 1), sizes))
    return tally.counts()


def _pieces(trips: Trips, universe: MarkedNgrams, *, distinct: bool) -> Iterator[tuple[Ints, Ints]]:
    """The ranks of the n-grams of the trips, trip after trip, and how many there are of each trip."""
    offsets, begins = trips.offsets, universe.begins
    cuts = np.searchsorted(offsets, np.arange(0, trips.visits + PIECE, PIECE), side="left")
    for first, last in zip(cuts[:-1], np.minimum(cuts[1:], len(trips)), strict=True):
        if first == last:
            continue
        part = offsets[first : last + 1]
        longest = int(np.diff(part).max()) + begins + 1
        keys = np.empty(int(part[-1] - part[0]) + (last - first) * (begins + 1), np.int64)
        sizes = np.empty(last - first, np.int64)
        slots = 1 << int(2 * longest).bit_length() if distinct else 0
        used = _rank_windows(
            trips.location, part, universe.n, universe.locations, universe.tables.packed, keys, sizes, slots, longest
        )
        yield keys[:used], sizes


@njit(cache=True, nogil=True)
def _rank_windows(location, offsets, n, size, tables, keys, sizes, slots, longest):  # type: ignore[no-untyped-def]
    """Write the ranks of each trip's n-grams; with hash slots, of the distinct ones in order of appearance."""
    walks, base, _, indptr, indices = tables
    end = walks.shape[1] - 1
    begins = end - size
    symbol = np.empty(longest + 1, np.int64)
    edge = np.empty(longest + 1, np.int64)
    slot_key = np.empty(slots, np.int64)
    slot_trip = np.full(slots, -1, np.int64)
    used = 0
    for trip in range(len(offsets) - 1):
        first = offsets[trip]
        length = offsets[trip + 1] - first
        start = used
        if length == 0:
            sizes[trip] = 0
            continue
        for i in range(begins):
            symbol[i] = size + i
        for i in range(length):
            symbol[begins + i] = location[first + i]
        total = begins + length + 1
        symbol[total - 1] = end
        for i in range(total - 1):
            edge[i] = edge_of(symbol[i], symbol[i + 1], size, indptr, indices)
        mask = np.int64(1)
        while mask < 2 * total:
            mask <<= 1
        mask -= 1
        for i in range(total - n + 1):
            rank = base[n, symbol[i]]
            for j in range(i, i + n - 1):
                step = walks_before(n - (j - i), symbol[j], symbol[j + 1], edge[j], size, tables)
                if step < 0:
                    rank = -1
                    break
                rank += step
            if rank < 0:
                continue
            if slots:
                slot = (rank * np.int64(-7046029254386353131) >> np.int64(20)) & mask
                while slot_trip[slot] == trip and slot_key[slot] != rank:
                    slot = (slot + 1) & mask
                if slot_trip[slot] == trip:
                    continue
                slot_trip[slot] = trip
                slot_key[slot] = rank
            keys[used] = rank
            used += 1
        sizes[trip] = used - start
    return used


class _Table:
    """Counts in an array of all cells."""

    def __init__(self, universe: int) -> None:
        self._cells = np.zeros(universe, np.int64)

    def add(self, keys: Ints, weights: Ints | None = None) -> None:
        if weights is None:
            weights = np.ones(1, np.int64)
        _add(self._cells, keys, weights)

    def counts(self) -> SparseCounts:
        keys = np.flatnonzero(self._cells)
        return SparseCounts(len(self._cells), keys, self._cells[keys])


class _Sorted:
    """Counts of the cells that occur, merged piece by piece."""

    def __init__(self, universe: int) -> None:
        self._universe = universe
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def add(self, keys: Ints, weights: Ints | None = None) -> None:
        together = np.concatenate([self._keys, keys])
        counts = np.concatenate([self._counts, np.ones(len(keys), np.int64) if weights is None else weights])
        self._keys, place = np.unique(together, return_inverse=True)
        self._counts = np.zeros(len(self._keys), np.int64)
        _add(self._counts, place, counts)

    def counts(self) -> SparseCounts:
        return SparseCounts(self._universe, self._keys, self._counts)


def _tally(universe: int) -> "_Table | _Sorted":
    return _Table(universe) if universe <= TABLE_CELLS else _Sorted(universe)


@njit(cache=True, nogil=True)
def _add(cells, keys, weights):  # type: ignore[no-untyped-def]
    """Add a weight per key, or one weight for all."""
    alone = weights.size == 1
    for i in range(keys.size):
        cells[keys[i]] += weights[0] if alone else weights[i]
