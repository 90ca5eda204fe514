"""Singling out: who knows a few points of a person, looks for the one released trip that has them, and reads the rest.

A target succeeds where the known points leave exactly one distinct released trip (distinct as a set of points) and that
trip holds at least 90 % of the target's other points. Points are known at random, or are the worst that could be known:
one after the other, always the one that leaves the fewest released trips, but at least one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Ragged
from wayveil.attacks.draws import key_of, mixed, unit_of
from wayveil.attacks.knowledge import Ints, Known, PointSets, points
from wayveil.attacks.sharing_out import share_out
from wayveil.trips.trips import Trips

MOST_KNOWN = 5
SHARE_OF_REST = 0.9
NOTHING_LEFT, MISSED, FOUND = -1, 0, 1


class SinglingOut(NamedTuple):
    """Of each target (row) with 1..5 known points (column): found, missed, or nothing left to learn; and the same for
    a released trip taken blindly.
    """

    found: NDArray[np.int8]
    blind: NDArray[np.int8]

    def hits(self, known: int) -> NDArray[np.bool_]:
        """Success of the targets who have more points than are known."""
        column = self.found[:, known - 1]
        return column[column != NOTHING_LEFT] == FOUND

    def blind_hits(self, known: int) -> NDArray[np.bool_]:
        column = self.blind[:, known - 1]
        return column[column != NOTHING_LEFT] == FOUND


def single_out(targets: Trips, released: Trips, known: Known, *, worst: bool, seed: int) -> SinglingOut:
    """Attack every target."""
    size = points(known, targets.world.size)
    sets = PointSets.of_trips(targets, known)
    there = PointSets.of_trips(released.take(released.lengths > 0), known).different()
    mine, released_sets = Ragged(sets.point, sets.offsets), Ragged(there.point, there.offsets)
    holders = Ragged(*there.postings(size))
    found = np.full((len(sets), MOST_KNOWN), NOTHING_LEFT, np.int8)
    result = SinglingOut(found, found.copy())
    key = key_of(f"known points {known}", seed)
    share_out(
        lambda first, end: _attack(first, end, mine, released_sets, holders, worst, key, result),
        len(sets),
        "singling out",
    )
    return result


@njit(cache=True)
def _holds(items: Ints, low: int, high: int, item: int) -> bool:
    at = low + np.searchsorted(items[low:high], item)
    return bool(at < high and items[at] == item)


@njit(cache=True)
def _reveals(mine: Ints, taken: NDArray[np.bool_], items: Ints, low: int, high: int) -> int:
    """Whether the released set holds enough of what is not known yet."""
    rest, held = 0, 0
    for i in range(len(mine)):
        if not taken[i]:
            rest += 1
            held += _holds(items, low, high, mine[i])
    if rest == 0:
        return NOTHING_LEFT
    return FOUND if held >= SHARE_OF_REST * rest else MISSED


@njit(cache=True)
def _next_worst(
    mine: Ints,
    taken: NDArray[np.bool_],
    rows: Ints,
    start: Ints,
    left: NDArray[np.int8],
    step: int,
) -> int:
    """The point that leaves the fewest of the released sets that hold all points so far, but at least one."""
    best, fewest = -1, 1 << 62
    for i in range(len(mine)):
        if taken[i]:
            continue
        low, high = start[mine[i]], start[mine[i] + 1]
        if high - low == 0:
            continue
        leaves = 0
        if step == 0:
            leaves = high - low
        else:
            for at in range(low, high):
                leaves += left[rows[at]] == step
        if 0 < leaves < fewest:
            best, fewest = i, leaves
    return best


@njit(cache=True, nogil=True)
def _attack(
    first: int,
    end: int,
    targets: Ragged,
    released_sets: Ragged,
    holders: Ragged,
    worst: bool,
    key: np.uint64,
    result: SinglingOut,
) -> None:
    items, bounds = released_sets
    rows, start = holders
    found, blind = result
    released = len(bounds) - 1
    for t in range(first, end):
        own = targets.values[targets.offsets[t] : targets.offsets[t + 1]]
        taken = np.zeros(len(own), np.bool_)
        # How many of the known points each released set holds, as long as it holds all of them.
        left = np.zeros(released, np.int8)
        lot = np.empty(len(own))
        word = mixed(key ^ np.uint64(t))
        for i in range(len(own)):
            word = mixed(word)
            lot[i] = unit_of(word)
        turn = np.argsort(lot)
        guess = min(int(unit_of(mixed(word)) * released), released - 1)
        lost = released == 0
        for step in range(min(5, len(own) - 1)):
            pick = turn[step]
            if worst and not lost:
                pick = _next_worst(own, taken, rows, start, left, step)
                lost = pick < 0
            if not lost:
                taken[pick] = True
                count, only = 0, -1
                for at in range(start[own[pick]], start[own[pick] + 1]):
                    row = rows[at]
                    if left[row] == step:
                        left[row] = step + 1
                        count += 1
                        only = row
                found[t, step] = MISSED
                if count == 1:
                    found[t, step] = _reveals(own, taken, items, bounds[only], bounds[only + 1])
                lost = count == 0
            else:
                found[t, step] = MISSED
            if released:
                blind[t, step] = _reveals(own, taken, items, bounds[guess], bounds[guess + 1])
            else:
                blind[t, step] = MISSED
