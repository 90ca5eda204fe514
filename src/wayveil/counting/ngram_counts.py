"""Exact counts of the n-grams of marked trips, with what one trip may add bounded trip by trip.

Two bounds, both a rule per trip that looks at nothing else. *Capped*: a trip counts for at most so many distinct
n-grams, chosen by words that come from the trip's name and a secret key, one each. *Normalised*: a trip has a fixed
whole to give and spreads it evenly over its n-grams, repeats included, so that no length has to be cut off. N-grams
outside the public universe are not counted.
"""

import numpy as np
from numba import njit

from wayveil.arrays import Ints, Ragged, find_sorted
from wayveil.counting.tally import ONE, Count
from wayveil.trips.identity import Words, keyed_words
from wayveil.trips.trips import Trips
from wayveil.world.marked_ngrams import MarkedNgrams


def count_capped_ngrams(universe: MarkedNgrams, most: int, key: Words) -> Count:
    """In how many trips each n-gram occurs, when a trip counts for at most `most` of its distinct n-grams.

    One trip more or less moves at most `most` counts by one each. The choice in one trip depends on nothing outside,
    and is the same whenever the trip is counted with the same key.
    """

    def of(trips: Trips) -> tuple[Ints, Ints]:
        keys, sizes = _windows(trips, universe, distinct=True)
        return _choose(keys, sizes, most, keyed_words(key, trips.names())), ONE

    return Count(universe.size, of)


def count_normalised_ngrams(universe: MarkedNgrams, whole: int) -> Count:
    """Return how much weight each n-gram has, when a trip with w n-grams gives floor(whole / w) to each occurrence.

    One trip more or less moves the counts by at most `whole` in all.
    """

    def of(trips: Trips) -> tuple[Ints, Ints]:
        keys, sizes = _windows(trips, universe, distinct=False)
        return keys, np.repeat(whole // np.maximum(sizes, 1), sizes)

    return Count(universe.size, of, whole)


def _windows(trips: Trips, universe: MarkedNgrams, *, distinct: bool) -> tuple[Ints, Ints]:
    """The ranks of the n-grams of the trips, trip after trip, and how many there are of each trip."""
    lengths = trips.lengths
    longest = int(lengths.max(initial=0)) + universe.begins + 1
    keys = np.empty(int(lengths.sum()) + len(lengths) * (universe.begins + 1), np.int64)
    sizes = np.empty(len(lengths), np.int64)
    slots = 1 << int(2 * longest).bit_length() if distinct else 0
    used = _rank_windows(
        Ragged(trips.location, trips.offsets),
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
    """At most `most` keys of every trip, each choice of that many with the same probability.

    The first places of a random permutation (Fisher and Yates), with even draws from 32 bits (Lemire). A trip's bits
    follow from its own word, by the steps of SplitMix64: which trip has which word is what nobody can foretell.
    """
    kept = np.empty(keys.size, np.int64)
    used = first = 0
    for trip in range(sizes.size):
        size = sizes[trip]
        if size > most:
            state = words[trip]
            for i in range(most):
                bound = np.uint64(size - i)
                limit = (np.uint64(1 << 32) - bound) % bound
                while True:
                    state += np.uint64(0x9E3779B97F4A7C15)
                    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    product = ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(32)) * bound
                    if (product & np.uint64(0xFFFFFFFF)) >= limit:
                        break
                place = first + i + np.int64(product >> np.uint64(32))
                keys[first + i], keys[place] = keys[place], keys[first + i]
        for i in range(min(size, most)):
            kept[used + i] = keys[first + i]
        used += min(size, most)
        first += size
    return kept[:used]


@njit(cache=True, nogil=True)
def _rank_windows(trips, n, size, tables, keys, sizes, slots, longest):  # type: ignore[no-untyped-def]
    """Write the ranks of each trip's n-grams; with hash slots, of the distinct ones in order of appearance.

    A rank is a sum over the moves of the n-gram, so each move is looked up once and added to the n-grams it is in.
    """
    location, offsets = trips
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
                edge = find_sorted(indices, indptr[x], indptr[x + 1], y)
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
