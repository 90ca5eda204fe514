"""An inverted index over trips, and compiled answers to "how many trips contain this sequence?".

Every item has a posting list: its visits in ascending order, each one number `trip << shift | position`. One
integer comparison therefore orders visits by trip and then by place within the trip. A query leapfrogs
through the lists of its items: the rarest proposes a trip, the others gallop to it or name a later one to go
on with. Where all meet, the greedy earliest match decides the order. Four bytes per visit as long as the
numbers fit.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import NamedTuple

import numpy as np
from numba import njit

from wayveil.arrays import AnyInts, Ints
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World


@dataclass(frozen=True)
class Items:
    """The universe of items: all stops of a world, or all its (stop, time bin) pairs."""

    world: World
    bins: TimeBins | None = None

    @property
    def size(self) -> int:
        """Number of items."""
        return self.world.size * (1 if self.bins is None else self.bins.count)

    def of(self, trips: Trips) -> AnyInts:
        """The item of every visit; -1 outside all bins (only bins that do not repeat leave a moment out)."""
        if self.bins is None:
            return trips.location
        if trips.time is None:
            if trips.visits == 0:
                return np.empty(0, np.int64)
            raise ParameterError("time bins were given, but these trips carry no times")
        bin_ = self.bins.bin_of(trips.time).astype(np.int64)
        return np.where(bin_ >= 0, trips.location.astype(np.int64) * self.bins.count + bin_, -1)


_QUERIES_PER_STEP = 1_000


class Distinct(NamedTuple):
    """Queries, each of them once; row i of those that were asked is `queries[place[i]]`.

    A query that is asked more than once is answered once: short ones are, where places are few.
    """

    queries: Ints
    lengths: Ints
    place: Ints

    @classmethod
    def of(cls, queries: Ints, lengths: Ints) -> "Distinct":
        """Rows of which the first `lengths` items count."""
        kept = np.where(np.arange(queries.shape[1]) < lengths[:, None], queries, -1)
        found, place = np.unique(kept, axis=0, return_inverse=True)
        return cls(found, (found >= 0).sum(axis=1), place.ravel())

    def only(self, rows: Ints) -> "Distinct":
        """Return some of the rows."""
        used, place = np.unique(self.place[rows], return_inverse=True)
        return Distinct(self.queries[used], self.lengths[used], place)


@dataclass(frozen=True, eq=False)
class Postings:
    """The visits of item i are `keys[starts[i]:starts[i + 1]]`, ascending; the trip of a key is `key >>
    shift`.
    """

    keys: AnyInts
    starts: Ints
    shift: int

    @classmethod
    def of(cls, trips: Trips, items: Items) -> "Postings":
        """Index all trips: two passes over the visits, no sort."""
        longest = int(trips.lengths.max()) if len(trips) else 1
        shift = max(longest - 1, 1).bit_length()
        fits = max(len(trips), 1) << shift <= np.iinfo(np.int32).max
        codes = items.of(trips)
        starts = _list_starts(codes, items.size)
        keys = np.empty(starts[-1], np.int32 if fits else np.int64)
        _fill(codes, trips.offsets, starts[:-1].copy(), shift, keys)
        return cls(keys, starts, shift)

    def trips_containing(self, queries: Ints, lengths: Ints, *, unordered: bool = False) -> Ints:
        """For each row (its first `lengths` items): the number of trips that contain it.

        Ordered: the items occur in this order, gaps allowed, each at a visit of its own, so that [a, a] needs
        two visits to a. Unordered: every item occurs somewhere; a query is then a set and repeats in it say
        nothing.
        """
        return self.answers(Distinct.of(queries, lengths), unordered=unordered)

    def answers(self, asked: Distinct, *, unordered: bool = False) -> Ints:
        """Return the same of rows whose repeats were found before: that takes longer than the answers."""
        return self._count(asked.queries, asked.lengths, unordered)[asked.place]

    def _count(self, queries: Ints, lengths: Ints, unordered: bool) -> Ints:
        out = np.zeros(len(queries), np.int64)
        steps = [slice(i, i + _QUERIES_PER_STEP) for i in range(0, len(queries), _QUERIES_PER_STEP)]

        def run(step: slice) -> None:
            _answer(self.keys, self.starts, self.shift, queries[step], lengths[step], unordered, out[step])

        with ThreadPoolExecutor(cpu_count()) as pool:  # the kernel runs without the interpreter's lock
            list(pool.map(run, steps))
        return out


@njit(cache=True)
def _list_starts(codes: AnyInts, size: int) -> Ints:
    starts = np.zeros(size + 1, np.int64)
    for code in codes:
        if code >= 0:
            starts[code + 1] += 1
    for item in range(size):
        starts[item + 1] += starts[item]
    return starts


@njit(cache=True)
def _fill(codes: AnyInts, offsets: Ints, free: Ints, shift: int, keys: AnyInts) -> None:
    for trip in range(len(offsets) - 1):
        for visit in range(offsets[trip], offsets[trip + 1]):
            code = codes[visit]
            if code >= 0:
                keys[free[code]] = (trip << shift) | (visit - offsets[trip])
                free[code] += 1


@njit(cache=True, nogil=True)
def _seek(keys: AnyInts, low: int, end: int, target: int) -> int:
    """First position in low..end whose key is at least `target`, by steps that double and then halve."""
    if low >= end or keys[low] >= target:
        return low
    step = 1
    while low + step < end and keys[low + step] < target:
        low += step
        step <<= 1
    high = min(low + step, end)
    low += 1
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _answer(
    keys: AnyInts, starts: Ints, shift: int, queries: Ints, lengths: Ints, unordered: bool, out: Ints
) -> None:
    width = queries.shape[1]
    at = np.empty(width, np.int64)
    end = np.empty(width, np.int64)
    for q in range(len(queries)):
        length = lengths[q]
        rarest = 0
        for j in range(length):
            at[j] = starts[queries[q, j]]
            end[j] = starts[queries[q, j] + 1]
            if end[j] - at[j] < end[rarest] - at[rarest]:
                rarest = j
        target = 0
        while True:
            at[rarest] = _seek(keys, at[rarest], end[rarest], target)
            if at[rarest] == end[rarest]:
                break
            trip = keys[at[rarest]] >> shift
            first = trip << shift
            target = first + (1 << shift)
            everywhere = True
            exhausted = False
            for j in range(length):
                at[j] = _seek(keys, at[j], end[j], first)
                if at[j] == end[j]:
                    exhausted = True
                    break
                if keys[at[j]] >= target:
                    target = (keys[at[j]] >> shift) << shift
                    everywhere = False
                    break
            if exhausted:
                break
            if everywhere and (unordered or _in_order(keys, at, end, length, target)):
                out[q] += 1


@njit(cache=True, nogil=True)
def _in_order(keys: AnyInts, at: Ints, end: Ints, length: int, beyond: int) -> bool:
    """Tell whether a trip (its keys end before `beyond`) has the items in order: each takes its earliest visit."""
    last = -1
    for j in range(length):
        visit = at[j]
        while visit < end[j] and keys[visit] <= last:
            visit += 1
        if visit == end[j] or keys[visit] >= beyond:
            return False
        last = keys[visit]
    return True
