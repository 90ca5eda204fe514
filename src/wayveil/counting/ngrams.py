"""Exact counts of the n-grams of marked trips, with what one trip may add bounded trip by trip.

Two bounds, both a rule per trip that looks at nothing else. *Capped*: a trip counts for at most so many distinct
n-grams, chosen at random with secure bits, one each. *Normalised*: a trip has a fixed whole to give and spreads it
evenly over its n-grams, repeats included, so that no length has to be cut off. Trips are read in pieces, so that memory
does not grow with the dataset; n-grams outside the public universe are not counted.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Lock

import numpy as np
from numba import njit

from wayveil.arrays import Ints
from wayveil.privacy.bits import Bits
from wayveil.privacy.gate import SparseCounts
from wayveil.trips.trips import Trips
from wayveil.world.marked_ngrams import MarkedNgrams

# Visits read at a time, and the largest universe that is counted in a table of all its cells.
PIECE = 1 << 17
TABLE_CELLS = 1 << 26
WORKERS = min(os.cpu_count() or 1, 8)

ONE = np.ones(1, np.int64)


def capped_ngrams(trips: Trips, universe: MarkedNgrams, most: int, bits: Bits) -> SparseCounts:
    """In how many trips each n-gram occurs, when a trip counts for at most `most` of its distinct n-grams.

    One trip more or less moves at most `most` counts by one each. The choice in one trip depends on nothing outside.
    """
    return _count(trips, universe, lambda part: _capped(trips, part, universe, most, bits))


def normalised_ngrams(trips: Trips, universe: MarkedNgrams, whole: int) -> SparseCounts:
    """How much weight each n-gram has, when a trip with w n-grams gives floor(whole / w) to each occurrence.

    One trip more or less moves the counts by at most `whole` in all.
    """
    return _count(trips, universe, lambda part: _normalised(trips, part, universe, whole))


Piece = Callable[[], tuple[Ints, Ints]]


def _capped(trips: Trips, part: Ints, universe: MarkedNgrams, most: int, bits: Bits) -> Piece:
    lengths = np.diff(part)
    # Drawn here, in the order of the trips, and not by the workers: half a word for each choice, and some to reject.
    words = bits.words(int(np.minimum(lengths + universe.begins, most).sum()) // 2 + 64)

    def work() -> tuple[Ints, Ints]:
        keys, sizes = _windows(trips, part, universe, distinct=True)
        kept, trip = _choose(keys, sizes, most, words.view(np.uint32))
        while trip < len(sizes):  # so many rejections that the words ran out: go on with more
            rest = bits.words(max(1 << 12, int(sizes[trip])))
            more, done = _choose(keys[sizes[:trip].sum() :], sizes[trip:], most, rest.view(np.uint32))
            kept, trip = np.concatenate([kept, more]), trip + done
        return kept, ONE

    return work


def _normalised(trips: Trips, part: Ints, universe: MarkedNgrams, whole: int) -> Piece:
    def work() -> tuple[Ints, Ints]:
        keys, sizes = _windows(trips, part, universe, distinct=False)
        return keys, np.repeat(whole // np.maximum(sizes, 1), sizes)

    return work


def _count(trips: Trips, universe: MarkedNgrams, piece: Callable[[Ints], Piece]) -> SparseCounts:
    """Add up the pieces, each worker in a table of its own."""
    cuts = np.unique(np.searchsorted(trips.offsets, np.arange(0, trips.visits + PIECE, PIECE), side="left"))
    cuts = np.unique(np.append(np.minimum(cuts, len(trips)), [0, len(trips)]))
    works = (piece(trips.offsets[first : last + 1]) for first, last in pairwise(cuts))
    # Threads cost more than a few pieces do, and a table of a large universe more than a piece.
    workers = WORKERS if len(cuts) > 2 * WORKERS else 1
    tallies = [_tally(universe.size, trips.visits) for _ in range(workers)]
    lock = Lock()

    def run(tally: "_Table | _Sorted") -> None:
        while True:
            with lock:
                work = next(works, None)
            if work is None:
                return
            tally.add(*work())

    if workers == 1:
        run(tallies[0])
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(run, tallies))
    for other in tallies[1:]:
        counts = other.counts()
        tallies[0].add(counts.keys, counts.counts)
    return tallies[0].counts()


def _windows(trips: Trips, part: Ints, universe: MarkedNgrams, *, distinct: bool) -> tuple[Ints, Ints]:
    """The ranks of the n-grams of the trips, trip after trip, and how many there are of each trip."""
    lengths = np.diff(part)
    longest = int(lengths.max(initial=0)) + universe.begins + 1
    keys = np.empty(int(lengths.sum()) + len(lengths) * (universe.begins + 1), np.int64)
    sizes = np.empty(len(lengths), np.int64)
    slots = 1 << int(2 * longest).bit_length() if distinct else 0
    used = _rank_windows(
        trips.location,
        part,
        universe.n,
        universe.locations,
        universe.tables.packed,
        keys,
        sizes,
        slots,
        longest,
    )
    return keys[:used], sizes


@njit(cache=True, nogil=True)
def _choose(keys, sizes, most, words):  # type: ignore[no-untyped-def]
    """At most `most` keys of every trip, each choice of that many with the same probability, moved to the front.

    The first places of a random permutation (Fisher and Yates), with exact uniform draws from 32-bit words (Lemire).
    Returns the kept keys and the number of trips done: fewer than all if the words ran out.
    """
    kept = np.empty(keys.size, np.int64)
    used = first = word = 0
    for trip in range(sizes.size):
        size = sizes[trip]
        if size > most:
            for i in range(most):
                bound = np.uint64(size - i)
                limit = (np.uint64(1 << 32) - bound) % bound if bound else np.uint64(0)
                while True:
                    if word == words.size:
                        return kept[:used], trip
                    product = np.uint64(words[word]) * bound
                    word += 1
                    if (product & np.uint64(0xFFFFFFFF)) >= limit:
                        break
                place = first + i + np.int64(product >> np.uint64(32))
                keys[first + i], keys[place] = keys[place], keys[first + i]
        for i in range(min(size, most)):
            kept[used + i] = keys[first + i]
        used += min(size, most)
        first += size
    return kept[:used], sizes.size


@njit(cache=True, nogil=True)
def _rank_windows(location, offsets, n, size, tables, keys, sizes, slots, longest):  # type: ignore[no-untyped-def]
    """Write the ranks of each trip's n-grams; with hash slots, of the distinct ones in order of appearance.

    A rank is a sum over the moves of the n-gram, so each move is looked up once and added to the n-grams it is in.
    """
    walks, base, before, indptr, indices = tables
    end = walks.shape[1] - 1
    begins = end - size
    complete = indptr.size == 1
    rank = np.empty(longest + 1, np.int64)
    slot_key = np.empty(slots, np.int64)
    slot_trip = np.full(slots, -1, np.int64)
    used = 0
    for trip in range(len(offsets) - 1):
        first = offsets[trip]
        length = offsets[trip + 1] - first
        start = used
        windows = begins + length + 2 - n
        for i in range(windows if length else 0):
            rank[i] = base[n, size + i if i < begins else location[first + i - begins]]
        for j in range(begins - 1, begins + length if length else 0):
            # The move from symbol j to symbol j + 1; moves between begin marks add nothing.
            edge = np.int64(0)
            x = np.int64(location[first + j - begins]) if j >= begins else end - 1
            y = np.int64(location[first + j + 1 - begins]) if j + 1 < begins + length else end
            if x < size and y < size and not complete:
                edge = indptr[x]
                stop = indptr[x + 1]
                while edge < stop and indices[edge] < y:
                    edge += 1
                if edge == stop or indices[edge] != y:
                    edge = np.int64(-1)
            for k in range(max(2, n - j), min(n, windows - 1 - j + n) + 1):
                i = j - n + k
                if edge < 0:
                    rank[i] = -(1 << 62)
                elif y == end:
                    rank[i] += walks[k, x] - walks[k - 1, end]
                elif x < size and not complete:
                    rank[i] += before[k, edge]
                else:
                    rank[i] += base[k - 1, y]
        mask = np.int64(1)
        while mask < 2 * windows:
            mask <<= 1
        mask -= 1
        for i in range(windows if length else 0):
            if rank[i] < 0:
                continue
            if slots:
                slot = (rank[i] * np.int64(-7046029254386353131) >> np.int64(20)) & mask
                while slot_trip[slot] == trip and slot_key[slot] != rank[i]:
                    slot = (slot + 1) & mask
                if slot_trip[slot] == trip:
                    continue
                slot_trip[slot] = trip
                slot_key[slot] = rank[i]
            keys[used] = rank[i]
            used += 1
        sizes[trip] = used - start
    return used


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
    """Counts of the cells that occur, merged piece by piece."""

    def __init__(self, universe: int) -> None:
        self._universe = universe
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def add(self, keys: Ints, weights: Ints) -> None:
        together = np.concatenate([self._keys, keys])
        counts = np.concatenate([self._counts, np.broadcast_to(weights, len(keys))])
        self._keys, place = np.unique(together, return_inverse=True)
        self._counts = np.zeros(len(self._keys), np.int64)
        _add(self._counts, place, counts)

    def counts(self) -> SparseCounts:
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
