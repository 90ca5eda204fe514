"""Repetition in the visits of a walk, whatever the places are: the memory of those who walk.

A visit is to a new place, to the same place as the visit before, back to where the one before that was, back to the
origin, or to another place that the walk has been to. Most people go to and fro between few places, which a table of
single moves cannot show; these few kinds of visits, each seen together with the two before it, show it.
"""

import numpy as np
from numba import njit

from wayveil.arrays import AnyInts, Int32s, Ints, Mask

NEW, STAY, BACK, HOME, AGAIN, BEGIN = range(6)
# Kinds of a visit after the first, and of what can be remembered.
VISIT_KINDS, REMEMBERED = 5, 6
# Visits before this one that are remembered, at most.
MOST_MEMORY = 2
# First lengths of eight classes of walks; coarser classes are unions of two, four or eight of them.
CLASSES = np.array([1, 2, 3, 4, 5, 7, 10, 20], np.int64)
CLASS_BITS = 3


def classify_lengths(lengths: AnyInts, bits: int) -> Ints:
    """Which of 2^bits classes of lengths each of these is in."""
    return (np.searchsorted(CLASSES, lengths, side="right") - 1) >> (CLASS_BITS - bits)


def count_contexts(memory: int) -> int:
    """In how many ways the last `memory` visits can have repeated others."""
    return int(REMEMBERED**memory)


def classify_visits(location: Int32s, offsets: Ints, places: int) -> Ints:
    """The kind of each visit; `BEGIN` for the first of a walk."""
    return _classify_visits(location, offsets, places)


def find_contexts(kind: Ints, first: Mask, memory: int) -> Ints:
    """The context of each visit but the first of a walk, from the kinds of all; `first` marks first visits."""
    at = np.flatnonzero(~first)
    found = np.zeros(len(at), np.int64)
    if memory >= 1:
        found = kind[at - 1]
    if memory >= MOST_MEMORY:
        # After the first visit there is nothing more to remember.
        before = np.where(first[at - 1], 0, kind[np.maximum(at - 2, 0)])
        found = found + REMEMBERED * before
    return found


@njit(cache=True)
def _classify_visits(location, offsets, places):  # type: ignore[no-untyped-def]
    out = np.empty(len(location), np.int64)
    walk = np.full(places, -1, np.int64)
    last = np.zeros(places, np.int64)
    for j in range(len(offsets) - 1):
        for at in range(offsets[j], offsets[j + 1]):
            place = location[at]
            if at == offsets[j]:
                out[at] = BEGIN
            elif walk[place] != j:
                out[at] = NEW
            elif last[place] == at - 1:
                out[at] = STAY
            elif last[place] == at - 2:
                out[at] = BACK
            elif place == location[offsets[j]]:
                out[at] = HOME
            else:
                out[at] = AGAIN
            walk[place], last[place] = j, at
    return out
