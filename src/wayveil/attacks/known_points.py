"""Attacks by somebody who knows a few points of a person: singling a trip out, and inferring the rest of it.

Singling out: who knows a few points of a person, looks for the one released trip that has them, and reads the rest.

A target succeeds where the known points leave exactly one distinct released trip (distinct as a set of points) and that
trip holds at least 90 % of the target's other points. Points are known at random, or are the worst that could be known:
one after the other, always the one that leaves the fewest released trips, but at least one.

Inference: who knows where a person got on and one more point, guesses where and when the trip ends and begins.

The guess is the most frequent destination (the most frequent hour of departure) among the released trips that begin
there and pass the point; where there is none, among those that begin there; else among all. The naive guess is the most
frequent of all.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Ints, Mask, Ragged, find_sorted
from wayveil.attacks.knowledge import HOURS, MOST_KNOWN, Known, PointSets, points
from wayveil.attacks.targets import key_of, mixed, uniform, unit_of
from wayveil.progress import share_out
from wayveil.trips.trips import Trips

SHARE_OF_REST = 0.9
NOTHING_LEFT, MISSED, FOUND = -1, 0, 1


class SinglingOut(NamedTuple):
    """Of each target (row) with 1..5 known points (column): found, missed, or nothing left to learn; and the same for
    a released trip taken blindly.
    """

    found: NDArray[np.int8]
    blind: NDArray[np.int8]

    def hits(self, known: int, *, blind: bool = False) -> Mask:
        """Success of the targets who have more points than are known."""
        column = (self.blind if blind else self.found)[:, known - 1]
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
def _reveals(mine: Ints, taken: Mask, items: Ints, low: int, high: int) -> int:
    """Tell whether the released set holds enough of what is not known yet."""
    rest, held = 0, 0
    for i in range(len(mine)):
        if not taken[i]:
            rest += 1
            held += find_sorted(items, low, high, mine[i]) >= 0
    if rest == 0:
        return NOTHING_LEFT
    return FOUND if held >= SHARE_OF_REST * rest else MISSED


@njit(cache=True)
def _next_worst(mine: Ints, taken: Mask, rows: Ints, start: Ints, left: NDArray[np.int8], step: int) -> int:
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


@dataclass(frozen=True, eq=False)
class Guesses:
    """Success of the guess, and of the naive one, for every target with at least three visits."""

    right: Mask
    naive: Mask


class _Electorate(NamedTuple):
    """Released trips by their origin, the points of each, and what each votes for."""

    of_origin: Ragged
    points: Ragged
    value: Ints


def guess_destination(targets: Trips, released: Trips, *, seed: int) -> Guesses:
    """Guess the last stop."""
    return _guesses(targets, released, "destination", seed)


def guess_hour(targets: Trips, released: Trips, *, seed: int) -> Guesses:
    """Guess the hour of departure."""
    return _guesses(targets, released, "hour", seed)


def _guesses(targets: Trips, released: Trips, what: str, seed: int) -> Guesses:
    targets = targets.take(targets.lengths >= 3)
    released = released.take(released.lengths > 0)
    between = targets.lengths - 2
    step = 1 + (uniform("point between", seed, np.arange(len(targets))) * between).astype(np.int64)
    point = targets.location[targets.offsets[:-1] + step].astype(np.int64)
    truth, value, kinds = _values(targets, what), _values(released, what), HOURS
    if what == "destination":
        kinds = targets.world.size
    if len(released) == 0:
        nobody = np.zeros(len(targets), bool)
        return Guesses(nobody, nobody)
    frequency = np.bincount(value, minlength=kinds)
    usual = int(frequency.argmax())
    sets = PointSets.of_trips(released, "stop")
    order = np.argsort(released.origins(), kind="stable")
    start = np.searchsorted(released.origins()[order], np.arange(targets.world.size + 1)).astype(np.int64)
    guess = np.empty(len(targets), np.int64)
    origin = targets.origins().astype(np.int64)
    electorate = _Electorate(Ragged(order, start), Ragged(sets.point, sets.offsets), value)
    share_out(
        lambda first, end: _vote(first, end, origin, point, electorate, kinds, usual, guess),
        len(targets),
        f"guessing the {what}",
    )
    return Guesses(guess == truth, truth == usual)


def _values(trips: Trips, what: str) -> Ints:
    if what == "destination":
        return trips.destinations().astype(np.int64)
    assert trips.time is not None
    return (trips.time[trips.offsets[:-1]] // 3600) % HOURS


@njit(cache=True, nogil=True)
def _vote(
    first: int,
    end: int,
    origin: Ints,
    point: Ints,
    electorate: _Electorate,
    kinds: int,
    usual: int,
    guess: Ints,
) -> None:
    order, start = electorate.of_origin
    items, bounds = electorate.points
    value = electorate.value
    for t in range(first, end):
        votes, passing = np.zeros(kinds, np.int64), np.zeros(kinds, np.int64)
        some, any_passing = False, False
        for at in range(start[origin[t]], start[origin[t] + 1]):
            trip = order[at]
            votes[value[trip]] += 1
            some = True
            if find_sorted(items, bounds[trip], bounds[trip + 1], point[t]) >= 0:
                passing[value[trip]] += 1
                any_passing = True
        if any_passing:
            guess[t] = passing.argmax()
        elif some:
            guess[t] = votes.argmax()
        else:
            guess[t] = usual
