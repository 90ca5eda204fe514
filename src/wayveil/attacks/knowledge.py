"""Trips as sets of points, and how many raw riders are pinned down by a few of theirs.

Uniqueness: how many raw riders are pinned down by a few of their points, and which trips were copied.

This is about the raw data alone: it says what is at stake, not what the release reveals.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Ints, find_sorted, stretches
from wayveil.attacks.metric_paths import distinct_rows
from wayveil.attacks.rates import Rate
from wayveil.attacks.targets import key_of, mixed, people_of, unit_of
from wayveil.errors import ParameterError
from wayveil.progress import share_out
from wayveil.trips.trips import Trips

Known = Literal["stop", "stop and hour"]
HOURS = 24


def point_of_visit(trips: Trips, known: Known) -> Ints:
    """The point of every visit as a number."""
    if known == "stop":
        return trips.location.astype(np.int64)
    if trips.time is None:
        raise ParameterError("somebody's hours can only be known where trips carry times; these carry none")
    return trips.location.astype(np.int64) * HOURS + (trips.time // 3600) % HOURS


def points(known: Known, size: int) -> int:
    """Return how many points there may be in a world of so many places."""
    return size if known == "stop" else size * HOURS


@dataclass(frozen=True, eq=False)
class PointSets:
    """The points of each row, ascending and without repeats: row i has `point[offsets[i]:offsets[i + 1]]`."""

    point: Ints
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, row: Ints, point: Ints, rows: int) -> "PointSets":
        """From pairs of row and point in any order."""
        order = np.lexsort((point, row))
        row, point = row[order], point[order]
        new = np.ones(len(row), bool)
        new[1:] = (row[1:] != row[:-1]) | (point[1:] != point[:-1])
        row, point = row[new], point[new]
        return cls(point, np.searchsorted(row, np.arange(rows + 1)).astype(np.int64))

    @classmethod
    def of_trips(cls, trips: Trips, known: Known) -> "PointSets":
        return cls.of(trips.trip_of_visit(), point_of_visit(trips, known), len(trips))

    def different(self) -> "PointSets":
        """Every set once."""
        first = np.sort(distinct_rows(self.point, self.offsets).first)
        source, offsets = stretches(self.offsets[first], np.diff(self.offsets)[first])
        return PointSets(self.point[source], offsets)

    def postings(self, size: int) -> tuple[Ints, Ints]:
        """Which rows hold each point: those of point p are `rows[start[p]:start[p + 1]]`, ascending."""
        row = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        order = np.argsort(self.point, kind="stable")
        start = np.searchsorted(self.point[order], np.arange(size + 1)).astype(np.int64)
        return row[order].astype(np.int64), start


MOST_KNOWN = 5


def riders_pinned_down(raw: Trips, known: Known, *, seed: int = 0) -> list[Rate]:
    """For 1..MOST_KNOWN random points: of the riders with so many points, those who share them with nobody else."""
    person = people_of(raw)
    people = int(person.max(initial=-1)) + 1
    return pinned_down(
        person[raw.trip_of_visit()], point_of_visit(raw, known), people, seed=seed, most=MOST_KNOWN
    )


def pinned_down(
    person: Ints, point: Ints, people: int, *, seed: int = 0, most: int = MOST_KNOWN
) -> list[Rate]:
    """Return the same from pairs of person and point (any whole numbers from 0)."""
    point = np.unique(point, return_inverse=True)[1].astype(np.int64)
    sets = PointSets.of(person, point, people)
    rows, start = sets.postings(int(point.max(initial=-1)) + 1)
    alone = np.full((people, most), -1, np.int8)
    arrays = (sets.point, sets.offsets, rows, start, key_of("uniqueness", seed), alone)
    share_out(lambda first, end: _alone(first, end, *arrays), people, "uniqueness")
    return [Rate.of(column[column >= 0] == 1) for column in alone.T]


@njit(cache=True, nogil=True)
def _alone(
    first: int,
    end: int,
    point: Ints,
    offsets: Ints,
    rows: Ints,
    start: Ints,
    key: np.uint64,
    alone: NDArray[np.int8],
) -> None:
    for person in range(first, end):
        own = point[offsets[person] : offsets[person + 1]]
        lot = np.empty(len(own))
        word = mixed(key ^ np.uint64(person))
        for i in range(len(own)):
            word = mixed(word)
            lot[i] = unit_of(word)
        turn = np.argsort(lot)
        for known in range(1, min(alone.shape[1], len(own)) + 1):
            # Start from the rarest of the known points.
            rarest = turn[0]
            for i in turn[:known]:
                if start[own[i] + 1] - start[own[i]] < start[own[rarest] + 1] - start[own[rarest]]:
                    rarest = i
            unique = True
            for at in range(start[own[rarest]], start[own[rarest] + 1]):
                other = rows[at]
                if other == person:
                    continue
                shared = True
                for i in turn[:known]:
                    shared = shared and find_sorted(point, offsets[other], offsets[other + 1], own[i]) >= 0
                if shared:
                    unique = False
                    break
            alone[person, known - 1] = unique


def copies_of_unique_trips(raw: Trips, released: Trips) -> Rate:
    """Of the raw trips whose sequence of stops nobody else made, those that stand in the release exactly."""
    raw, released = raw.take(raw.lengths > 0), released.take(released.lengths > 0)
    both = np.concatenate([raw.location, released.location])
    offsets = np.concatenate([raw.offsets, raw.offsets[-1] + released.offsets[1:]])
    found = distinct_rows(both, offsets)
    in_raw = np.bincount(found.of_row[: len(raw)], minlength=len(found.first))
    in_release = np.bincount(found.of_row[len(raw) :], minlength=len(found.first))
    return Rate.of(in_release[in_raw == 1] > 0)
