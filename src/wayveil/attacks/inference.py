"""Inference: who knows where a person got on and one more point, guesses where and when the trip ends and begins.

The guess is the most frequent destination (the most frequent hour of departure) among the released trips that begin
there and pass the point; where there is none, among those that begin there; else among all. The naive guess is the most
frequent of all.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Ragged
from wayveil.attacks.draws import uniform
from wayveil.attacks.knowledge import HOURS, Ints, PointSets
from wayveil.attacks.sharing_out import share_out
from wayveil.trips.trips import Trips


@dataclass(frozen=True, eq=False)
class Guesses:
    """Whether the guess was right, of every target with at least three visits, and whether the naive one was."""

    right: NDArray[np.bool_]
    naive: NDArray[np.bool_]


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
            low, high = bounds[trip], bounds[trip + 1]
            place = low + np.searchsorted(items[low:high], point[t])
            if place < high and items[place] == point[t]:
                passing[value[trip]] += 1
                any_passing = True
        if any_passing:
            guess[t] = passing.argmax()
        elif some:
            guess[t] = votes.argmax()
        else:
            guess[t] = usual
