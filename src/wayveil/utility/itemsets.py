"""Frequent sets of places: which places lie on one trip together, in any order.

The support of a set is the number of trips that visit all of its places. Sets of two to five places are ranked
together, ties broken as for other patterns: the smaller set first, then by its places.
"""

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.utility.figures import Figures, Measure, check_comparable, check_not_empty
from wayveil.utility.patterns import MAX_LENGTH, MIN_LENGTH, Ranked, f1_of_sets, ranked, support_error

TOPS = (10, 20, 50, 100)
# Places looked at first: sets of rarer ones are only asked for if these do not settle the ranking.
FIRST_PLACES = 256


def top_itemsets(
    trips: Trips, count: int, *, min_size: int = MIN_LENGTH, max_size: int = MAX_LENGTH
) -> Ranked:
    """The most frequent sets with their supports, most frequent first."""
    place, support, bits = _bit_rows(trips)
    best: Ranked = []
    size = min(FIRST_PLACES, len(place))
    while size:
        best = _grow(place[:size], support[:size], bits[:size], count, min_size, max_size)
        # A set with a rarer place has at most that place's support.
        settled = len(best) == count and (size == len(place) or support[size] < best[-1][1])
        if settled or size == len(place):
            break
        size = min(2 * size, len(place))
    return best


def itemset_supports(trips: Trips, sets: list[tuple[int, ...]]) -> NDArray[np.int64]:
    """How many trips have each set."""
    place, _, bits = _bit_rows(trips)
    row = {int(one): at for at, one in enumerate(place)}
    found = np.zeros(len(sets), np.int64)
    for at, wanted in enumerate(sets):
        if all(one in row for one in wanted):
            found[at] = np.bitwise_count(np.bitwise_and.reduce(bits[[row[one] for one in wanted]])).sum()
    return found


def _bit_rows(trips: Trips) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
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


def _grow(
    place: NDArray[np.int64],
    support: NDArray[np.int64],
    bits: NDArray[np.uint64],
    count: int,
    min_size: int,
    max_size: int,
) -> Ranked:
    """Depth first, each set extended by places that come later; a set below the best `count` is not extended."""
    best: Ranked = [((int(one),), int(much)) for one, much in zip(place, support, strict=True)]
    best = ranked(best, count) if min_size == 1 else []

    def extend(chosen: tuple[int, ...], shared: NDArray[np.uint64], after: int) -> None:
        nonlocal best
        found = np.bitwise_count(bits[after:] & shared).sum(axis=1, dtype=np.int64)
        least = best[-1][1] if len(best) == count else 1
        good = np.flatnonzero(found >= least)
        if len(chosen) + 1 >= min_size:
            sets = [(tuple(sorted((*chosen, int(place[after + at])))), int(found[at])) for at in good]
            best = ranked([*best, *sets], count)
        if len(chosen) + 1 < max_size:
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

    def __init__(self, raw: Trips, *, tops: tuple[int, ...] = TOPS) -> None:
        check_not_empty(raw)
        self.raw, self.tops = raw, tops
        self.true = top_itemsets(raw, max(tops))

    def measure(self, private: Trips) -> list[Measure]:
        check_comparable(self.raw, private)
        wanted = [one for one, _ in self.true]
        named = [one for one, _ in top_itemsets(private, max(self.tops))] if private.visits else []
        support = np.array([much for _, much in self.true], np.int64)
        seen = itemset_supports(private, wanted) if private.visits else np.zeros(len(wanted), np.int64)
        measures = []
        for top in self.tops:
            key, text = f"patterns/itemsets/{top}", f"sets of places, top {top}"
            hits = len(set(wanted[:top]) & set(named[:top])) / max(len(wanted[:top]), 1)
            measures += [
                Measure(f"{key}/found", f"{text}: share found", hits, "higher"),
                Measure(f"{key}/f1", f"{text}: F1", f1_of_sets(wanted[:top], named[:top]), "higher"),
                Measure(
                    f"{key}/support_error",
                    f"{text}: relative support error",
                    support_error(support[:top], seen[:top]),
                ),
            ]
        return measures
