"""Who is attacked: riders, or trips where nobody knows riders; and people outside the data, for comparison."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayveil.attacks.draws import uniform
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips

FEWEST_TARGETS = 20


@dataclass(frozen=True, eq=False)
class Targets:
    """One trip of each person who is attacked, and how many people there are to attack in all."""

    trips: Trips
    people: int
    kind: str

    def __len__(self) -> int:
        return len(self.trips)


def people_of(trips: Trips) -> NDArray[np.int64]:
    """A number for the person of each trip, from 0; trips without a rider are persons of their own."""
    if trips.rider is None:
        return np.arange(len(trips))
    alone = trips.rider < 0
    code = np.where(alone, trips.rider.max(initial=0) + 1 + np.arange(len(trips)), trips.rider)
    return np.unique(code, return_inverse=True)[1].astype(np.int64)


def draw_targets(trips: Trips, most: int, seed: int, who: str) -> Targets:
    """At most so many people, drawn by key, each with one of his trips, also drawn by key.

    A released trip is one trip, so an attack on a rider starts from one of the rider's trips.
    """
    trips = trips.take(trips.lengths > 0)
    kind = "trips" if trips.rider is None else "riders"
    person = people_of(trips)
    people = int(person.max(initial=-1)) + 1
    if people < FEWEST_TARGETS:
        raise ParameterError(
            f"{who} has {people} {kind} with a visit, and fewer than {FEWEST_TARGETS} say nothing about rates; "
            "bring more data"
        )
    lot = uniform("one trip of each target", seed, np.arange(len(trips)))
    order = np.lexsort((lot, person))
    chosen = order[np.unique(person[order], return_index=True)[1]]
    turn = np.argsort(uniform("which people", seed, np.arange(people)), kind="stable")
    return Targets(trips.take(np.sort(chosen[turn[:most]])), people, kind)


def some_people(trips: Trips, most: int, seed: int) -> Trips:
    """All trips of at most so many people, drawn by key."""
    person = people_of(trips)
    people = int(person.max(initial=-1)) + 1
    if people <= most:
        return trips
    chosen = np.zeros(people, bool)
    chosen[np.argsort(uniform("which people", seed, np.arange(people)), kind="stable")[:most]] = True
    return trips.take(chosen[person])


def split_people(trips: Trips, seed: int) -> tuple[Trips, Trips]:
    """The trips of one half of the people, and those of the other half: members and hold-out of a trial."""
    person = people_of(trips)
    people = int(person.max(initial=-1)) + 1
    rank = np.empty(people, np.int64)
    rank[np.argsort(uniform("held out", seed, np.arange(people)), kind="stable")] = np.arange(people)
    held = (rank < people // 2)[person]
    return trips.take(~held), trips.take(held)
