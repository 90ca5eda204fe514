"""Frequent patterns: does a release name the same busiest sequences of stops, and how busy are they?

Two kinds, both of 2 to 5 stops ranked together (single stops would make it easy): *contiguous* ones, stops in a
row, and *gapped* ones, stops in order with anything in between. The support of a pattern is the number of trips
that have it. Ties are broken in the same way on both sides: the shorter pattern first, then by its stops.

Frequent sets of places: which places lie on one trip together, in any order.

The support of a set is the number of trips that visit all of its places. Sets of two to five places are ranked
together, ties broken as for other patterns: the smaller set first, then by its places.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Ints, Mask
from wayveil.trips.trips import Trips
from wayveil.trips.windows import gram_counts, window_starts
from wayveil.utility.figures import Figures, Measure
from wayveil.utility.postings import Items, Postings
from wayveil.utility.prefixspan import Pattern, WindowTrie, top_gapped_patterns

TOPS = (10, 20, 30, 40, 50, 100)
MIN_LENGTH, MAX_LENGTH = 2, 5

Ranked = list[tuple[Pattern, int]]


def top_contiguous_patterns(
    trips: Trips, count: int, *, min_length: int = MIN_LENGTH, max_length: int = MAX_LENGTH
) -> Ranked:
    """The most frequent runs of stops with their supports, most frequent first.

    A run is at most as frequent as each pair of neighbours in it, so longer windows are only counted where all
    their pairs reach the support of the best `count` so far.
    """
    best: Ranked = []
    frequent: Mask | None = None
    for length in range(min_length, max_length + 1):
        starts = window_starts(trips, length)
        if frequent is not None:
            for step in range(length - 1):
                starts = starts[frequent[starts + step]]
        grams = gram_counts(trips, length, once_per_trip=True, starts=starts)
        order = np.lexsort((np.arange(len(grams)), -grams.count))[:count]
        named = zip(grams.grams[order].tolist(), grams.count[order].tolist(), strict=True)
        best = ranked([*best, *((tuple(gram), support) for gram, support in named)], count)
        if length == 2 and len(best) == count:
            enough = grams.count >= best[-1][1]
            size = np.int64(trips.world.size)
            keys = (grams.grams[:, 0] * size + grams.grams[:, 1])[enough]
            pair = trips.location[:-1] * size + trips.location[1:]
            frequent = np.append(np.isin(pair, keys), False)
    return best


def ranked(patterns: Ranked, count: int) -> Ranked:
    """By support, the shorter first among equals, then by stops."""
    return sorted(patterns, key=lambda one: (-one[1], len(one[0]), one[0]))[:count]


def supports(trips: Trips, patterns: list[Pattern], *, gapped: bool) -> Ints:
    """Return how many trips have each pattern."""
    if not patterns:
        return np.empty(0, np.int64)
    lengths = np.array([len(pattern) for pattern in patterns], np.int64)
    rows = np.full((len(patterns), int(lengths.max())), -1, np.int64)
    for row, pattern in zip(rows, patterns, strict=True):
        row[: len(pattern)] = pattern
    if gapped:
        return Postings.of(trips, Items(trips.world)).trips_containing(rows, lengths)
    return WindowTrie.of(rows, lengths).trips_containing(trips)


def f1_of_sets(true: list[Pattern], private: list[Pattern]) -> float:
    """2 |both| / (|true| + |private|); a release may name fewer than it was asked for."""
    return 2 * len(set(true) & set(private)) / max(len(true) + len(private), 1)


def support_error(true: Ints, private: Ints) -> float:
    """Mean of |private - true| / true over the true patterns, whose support is never 0."""
    return float(np.mean(np.abs(private - true) / true)) if len(true) else 0.0


class FrequentPatterns(Figures):
    """For each k: share of the true top k found, F1 of the two lists, and support error on the true top k."""

    title = "Frequent patterns"

    def __init__(
        self,
        raw: Trips,
        *,
        tops: tuple[int, ...] = TOPS,
        min_length: int = MIN_LENGTH,
        max_length: int = MAX_LENGTH,
    ) -> None:
        super().__init__(raw)
        self.tops = tops
        self.lengths = {"min_length": min_length, "max_length": max_length}
        self.finders: dict[str, Callable[[Trips], Ranked]] = {
            "contiguous": self.contiguous,
            "gapped": self.gapped,
        }
        self.true = {kind: find(raw) for kind, find in self.finders.items()}

    def contiguous(self, trips: Trips) -> Ranked:
        """The longest list that is asked for."""
        return top_contiguous_patterns(trips, max(self.tops), **self.lengths)

    def gapped(self, trips: Trips) -> Ranked:
        """Return the same with gaps. A run of stops is also a gapped pattern, which bounds the support from below."""
        known = self.contiguous(trips)
        bound = known[-1][1] if len(known) == max(self.tops) else 1
        return top_gapped_patterns(trips, max(self.tops), at_least=bound, **self.lengths)

    def _measured(self, private: Trips) -> list[Measure]:
        measures = []
        for kind, find in self.finders.items():
            true = self.true[kind]
            seen = supports(private, [pattern for pattern, _ in true], gapped=kind == "gapped")
            measures += _at_tops(kind, f"{kind} patterns", self.tops, true, find(private), seen)
        return measures


def _at_tops(
    kind: str, words: str, tops: tuple[int, ...], true: Ranked, found: Ranked, seen: Ints
) -> list[Measure]:
    """The figures of every k; `seen` are the supports of the true patterns in the candidate."""
    wanted, named = [pattern for pattern, _ in true], [pattern for pattern, _ in found]
    support = np.array([count for _, count in true], np.int64)
    measures = []
    for top in tops:
        key, text = f"patterns/{kind}/{top}", f"{words}, top {top}"
        hits = len(set(wanted[:top]) & set(named[:top])) / max(len(wanted[:top]), 1)
        error = support_error(support[:top], seen[:top])
        measures += [
            Measure(f"{key}/found", f"{text}: share found", hits, "higher"),
            Measure(f"{key}/f1", f"{text}: F1", f1_of_sets(wanted[:top], named[:top]), "higher"),
            Measure(f"{key}/support_error", f"{text}: relative support error", error),
        ]
    return measures


SET_TOPS = (10, 20, 50, 100)
# Places looked at first: sets of rarer ones are only asked for if these do not settle the ranking.
FIRST_PLACES = 256


def top_itemsets(trips: Trips, count: int) -> Ranked:
    """The most frequent sets with their supports, most frequent first."""
    place, support, bits = _bit_rows(trips)
    best: Ranked = []
    size = min(FIRST_PLACES, len(place))
    while size:
        best = _grow(place[:size], support[:size], bits[:size], count)
        # A set with a rarer place has at most that place's support.
        settled = len(best) == count and (size == len(place) or support[size] < best[-1][1])
        if settled or size == len(place):
            break
        size = min(2 * size, len(place))
    return best


def itemset_supports(trips: Trips, sets: list[tuple[int, ...]]) -> Ints:
    """Return how many trips have each set."""
    place, _, bits = _bit_rows(trips)
    row = {int(one): at for at, one in enumerate(place)}
    found = np.zeros(len(sets), np.int64)
    for at, wanted in enumerate(sets):
        if all(one in row for one in wanted):
            found[at] = np.bitwise_count(np.bitwise_and.reduce(bits[[row[one] for one in wanted]])).sum()
    return found


def _bit_rows(trips: Trips) -> tuple[Ints, Ints, NDArray[np.uint64]]:
    """Visited places, most frequent first; the trips of each; and these trips as bits."""
    trip = trips.trip_of_visit()
    key = np.unique(trips.location.astype(np.int64) * max(len(trips), 1) + trip)
    where, trip = np.divmod(key, max(len(trips), 1))
    support = np.bincount(where, minlength=trips.world.size)
    place = np.argsort(-support, kind="stable")[: int((support > 0).sum())]
    rank = np.full(trips.world.size, -1, np.int64)
    rank[place] = np.arange(len(place))
    bits = np.zeros((len(place), -(-len(trips) // 64)), np.uint64)
    np.bitwise_or.at(bits, (rank[where], trip >> 6), np.uint64(1) << (trip & 63).astype(np.uint64))
    return place, support[place], bits


def _grow(place: Ints, support: Ints, bits: NDArray[np.uint64], count: int) -> Ranked:
    """Depth first, each set extended by places that come later; a set below the best `count` is not extended."""
    best: Ranked = []

    def extend(chosen: tuple[int, ...], shared: NDArray[np.uint64], after: int) -> None:
        nonlocal best
        found = np.bitwise_count(bits[after:] & shared).sum(axis=1, dtype=np.int64)
        least = best[-1][1] if len(best) == count else 1
        good = np.flatnonzero(found >= least)
        sets = [(tuple(sorted((*chosen, int(place[after + at])))), int(found[at])) for at in good]
        best = ranked([*best, *sets], count)
        if len(chosen) + 1 < MAX_LENGTH:
            for at in good:
                least = best[-1][1] if len(best) == count else 1
                if found[at] >= least:
                    extend((*chosen, int(place[after + at])), bits[after + at] & shared, after + int(at) + 1)

    for first in range(len(place)):
        if len(best) == count and support[first] < best[-1][1]:
            break
        extend((int(place[first]),), bits[first], first + 1)
    return best


class FrequentItemsets(Figures):
    """For each k: share of the true top k sets found, F1 of the two lists, and support error on the true top k."""

    title = "Frequent sets of places"

    def __init__(self, raw: Trips, *, tops: tuple[int, ...] = SET_TOPS) -> None:
        super().__init__(raw)
        self.tops = tops
        self.true = top_itemsets(raw, max(tops))

    def _measured(self, private: Trips) -> list[Measure]:
        found = top_itemsets(private, max(self.tops)) if private.visits else []
        seen = itemset_supports(private, [one for one, _ in self.true])
        return _at_tops("itemsets", "sets of places", self.tops, self.true, found, seen)
