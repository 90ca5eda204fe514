"""Which contributions of a unit stay: those with the smallest keyed words of the unit's own trips and visits.

Nothing outside a unit has a say in what is chosen inside it, and work that is done again with the same key chooses the
same.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.identity import PUBLIC_KEY, Words, keyed_words
from wayveil.trips.trips import Trips


def pair_codes(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """A code >= 0 for every pair: equal where both are equal."""
    _, left_code = np.unique(left, return_inverse=True)
    names, right_code = np.unique(right, return_inverse=True)
    return left_code * max(len(names), 1) + right_code


def words_of_trips(trips: Trips, key: Words) -> Words:
    """A word for each trip."""
    return keyed_words(key, trips.names())


def words_within(trips: Trips, clock: NDArray[np.int64], key: Words) -> Words:
    """A word for each visit, by the stretch of its trip inside one window and by its place in that.

    Visits more in one window change no word in another.
    """
    trip = trips.trip_of_visit()
    first = np.flatnonzero(np.r_[True, (trip[1:] != trip[:-1]) | (clock[1:] != clock[:-1])][: len(trip)])
    offsets = np.append(first, len(trip))
    if trips.name is None:
        rider = None if trips.rider is None else trips.rider[trip[first]]
        names = replace(trips, offsets=offsets, rider=rider).names()
    else:
        names = keyed_words(PUBLIC_KEY, trips.name[trip[first]], clock[first])
    lengths = np.diff(offsets)
    return keyed_words(key, np.repeat(names, lengths), np.arange(len(trip)) - np.repeat(first, lengths))


def keep_at_most(groups: NDArray[np.integer], limit: int, words: Words) -> NDArray[np.bool_]:
    """A mask that keeps the members with the smallest words, at most `limit` of each group; group -1 is kept whole.

    Which members of a group stay depends on nothing outside the group.
    """
    kept = np.ones(len(groups), bool)
    if len(groups) == 0 or _none_larger(groups, limit):
        return kept
    order = np.lexsort((words, groups))
    ordered = groups[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    position = np.arange(len(groups)) - np.repeat(starts, np.diff(np.r_[starts, len(groups)]))
    kept[order] = (position < limit) | (ordered == -1)
    return kept


def _none_larger(groups: NDArray[np.integer], limit: int) -> bool:
    """Tell whether it is quick to see that no group but -1 exceeds the limit: then nobody has to choose."""
    if groups.min() < -1 or groups.max() > 4 * len(groups):
        return False
    return int(np.bincount(groups + 1)[1:].max(initial=0)) <= limit
