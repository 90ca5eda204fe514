"""Where and when together: the public alphabet of (location, time bin) pairs and what may follow what in it.

A pair is one number, location x bins + bin. Time never runs backwards, so after a pair only the same or a later bin
is possible; a mechanism may also know that some places cannot be reached that fast.
"""

from functools import lru_cache

import numpy as np
from numba import njit

from wayveil.arrays import AnyInts, Int32s, Ints
from wayveil.errors import ParameterError
from wayveil.world.network import Network
from wayveil.world.successors import Successors
from wayveil.world.timebins import TimeBins
from wayveil.world.trees import travel_seconds
from wayveil.world.world import World

NEVER = np.iinfo(np.int32).max


class TimedAlphabet:
    """The pairs of a world's locations and public time bins."""

    width = 1

    def __init__(self, world: World, bins: TimeBins) -> None:
        self.locations = world.size
        self.bins = bins
        self.size = world.size * bins.count
        if self.size >= 2**31:
            raise ParameterError(
                f"{world.size:,} locations x {bins.count} time bins are too many pairs; use fewer bins"
            )

    def encode(self, location: Int32s, time: Ints | None) -> list[Int32s]:
        """The pair of each visit, as one column; -1 where the time lies outside all bins."""
        bin_ = bins_of(self.bins, time)
        return [np.where(bin_ >= 0, location * np.int32(self.bins.count) + bin_, np.int32(-1))]


def bins_of(bins: TimeBins, time: Ints | None) -> Int32s:
    """The bin of each visit's time; trips without times are refused in a sentence."""
    if time is None:
        raise ParameterError("this mechanism releases times, and these trips have none; bring a time column")
    return bins.bin_of(time)


class VisitStop:
    """Every visit is its stop."""

    width = 1

    def encode(self, location: Int32s, time: Ints | None) -> list[Int32s]:
        return [location]


class VisitBin:
    """Every visit is its time bin."""

    width = 1

    def __init__(self, bins: TimeBins) -> None:
        self.bins = bins

    def encode(self, location: Int32s, time: Ints | None) -> list[Int32s]:
        return [bins_of(self.bins, time)]


class Later(Successors):
    """Same or later bin, at a location that may follow; at most `span` bins later."""

    def __init__(self, moves: Successors, bins: int, span: int | None = None) -> None:
        self.moves = moves
        self.bins = bins
        self.span = bins - 1 if span is None else span
        self.size = moves.size * bins

    @property
    def mean_degree(self) -> float:
        later = np.minimum(self.bins - 1 - np.arange(self.bins), self.span) + 1
        return float(self.moves.mean_degree * later.mean())

    def degree(self, source: AnyInts) -> Ints:
        location, bin_ = split(source, self.bins)
        return self.moves.degree(location) * (np.minimum(self.bins - 1 - bin_, self.span) + 1)

    def nth(self, source: AnyInts, rank: AnyInts) -> Int32s:
        location, bin_ = split(source, self.bins)
        wait, move = np.divmod(rank, self.moves.degree(location))
        target = self.moves.nth(location, move).astype(np.int64)
        return (target * self.bins + bin_ + wait).astype(np.int32)

    def rank(self, source: AnyInts, target: AnyInts) -> Ints:
        location, bin_ = split(source, self.bins)
        to, then = split(np.maximum(target, 0), self.bins)
        wait = then - bin_
        move = self.moves.rank(location, to)
        legal = (np.asarray(target) >= 0) & (wait >= 0) & (wait <= self.span) & (move >= 0)
        return np.where(legal, wait * self.moves.degree(location) + move, -1)


class Reachable(Successors):
    """Same or later bin, at a location that the network's fastest way reaches in the time between the bins.

    `least_bins[a, b]` is the smallest difference of bins in which b can be reached from a; NEVER if it cannot.
    """

    def __init__(self, least_bins: Int32s, bins: int, span: int | None = None) -> None:
        self.locations = len(least_bins)
        self.bins = bins
        self.span = bins - 1 if span is None else span
        self.size = self.locations * bins
        # Of each row: locations in the order in which they come into reach, and how many pairs of wait and location
        # there are with fewer than d bins of waiting. A target's rank is its place behind those.
        self._least = least_bins
        self._order = np.argsort(least_bins, axis=1, kind="stable").astype(np.int32)
        self._place = np.empty_like(self._order)
        np.put_along_axis(
            self._place, self._order, np.arange(self.locations, dtype=np.int32)[None, :], axis=1
        )
        self._before = _pairs_before(least_bins, self.span)

    @classmethod
    @lru_cache(maxsize=1)  # public, and the same for every release on a network
    def on(cls, network: Network, bins: TimeBins, span: int | None = None) -> "Reachable":
        """From the network's minimum travel times: a move fits if it can leave and arrive within its two bins."""
        widths = np.unique(np.diff(bins.edges))
        if len(widths) > 1:
            raise ParameterError("reachability in time needs time bins of equal length")
        seconds = travel_seconds(network, np.arange(network.size))
        # Leaving at the start of one bin and arriving at the end of another leaves one bin more than their difference.
        least = np.maximum(np.ceil(seconds / widths[0]) - 1, 0)
        return cls(np.where(np.isfinite(least), least, NEVER).astype(np.int32), bins.count, span)

    @property
    def mean_degree(self) -> float:
        waits = np.minimum(self.bins - 1 - np.arange(self.bins), self.span)
        return float(self._before[:, waits + 1].mean())

    def degree(self, source: AnyInts) -> Ints:
        location, bin_ = split(source, self.bins)
        return self._before[location, np.minimum(self.bins - 1 - bin_, self.span) + 1]

    def nth(self, source: AnyInts, rank: AnyInts) -> Int32s:
        location, bin_ = split(source, self.bins)
        return _reached(self._before, self._order, location, bin_, np.asarray(rank, np.int64), self.bins)

    def rank(self, source: AnyInts, target: AnyInts) -> Ints:
        location, bin_ = split(source, self.bins)
        to = np.asarray(target, np.int64)
        return _reach_rank(self._before, self._least, self._place, location, bin_, to, self.bins, self.span)


def split(pair: AnyInts, bins: int) -> tuple[Ints, Ints]:
    """Location and time bin of each pair. (Dividing by one number is quicker than taking remainders.)"""
    whole: Ints = np.asarray(pair, np.int64)
    location: Ints = whole // bins
    return location, whole - location * bins


@njit(cache=True)
def _pairs_before(least: Int32s, span: int) -> Ints:
    """Of each location: how many (wait, target) pairs have a wait below 0, 1, ..., span + 1."""
    before = np.zeros((len(least), span + 2), np.int64)
    for location in range(len(least)):
        for wait in least[location]:
            if wait <= span:
                before[location, wait + 1] += 1
        for _ in range(2):  # targets by their least wait; in reach after each wait; all pairs up to each wait
            for wait in range(span + 1):
                before[location, wait + 1] += before[location, wait]
    return before


@njit(cache=True)
def _reached(before: Ints, order: Int32s, location: Ints, bin_: Ints, rank: Ints, bins: int) -> Int32s:
    out = np.empty(len(rank), np.int32)
    for i in range(len(rank)):
        row = before[location[i]]
        wait = np.searchsorted(row, rank[i], side="right") - 1
        out[i] = order[location[i], rank[i] - row[wait]] * bins + bin_[i] + wait
    return out


@njit(cache=True)
def _reach_rank(
    before: Ints, least: Int32s, place: Int32s, location: Ints, bin_: Ints, target: Ints, bins: int, span: int
) -> Ints:
    out = np.full(len(target), -1, np.int64)
    for i in range(len(target)):
        if target[i] < 0:
            continue
        to = target[i] // bins
        wait = target[i] - to * bins - bin_[i]
        if 0 <= wait <= span and least[location[i], to] <= wait:
            out[i] = before[location[i], wait] + place[location[i], to]
    return out
