"""Uniqueness: how many raw riders are pinned down by a few of their points, and which trips were copied.

This is about the raw data alone: it says what is at stake, not what the release reveals.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.attacks.draws import key_of, mixed, unit_of
from wayveil.attacks.knowledge import Ints, Known, PointSets, point_of_visit
from wayveil.attacks.metric_paths import distinct_rows
from wayveil.attacks.rates import Rate
from wayveil.attacks.sharing_out import share_out
from wayveil.attacks.targets import people_of
from wayveil.trips.trips import Trips

MOST_KNOWN = 5


def riders_pinned_down(raw: Trips, known: Known, *, seed: int = 0, most: int = MOST_KNOWN) -> list[Rate]:
    """For 1..most random points: of the riders with so many points, those who share them with nobody else."""
    person = people_of(raw)
    people = int(person.max(initial=-1)) + 1
    return pinned_down(person[raw.trip_of_visit()], point_of_visit(raw, known), people, seed=seed, most=most)


def pinned_down(
    person: Ints, point: Ints, people: int, *, seed: int = 0, most: int = MOST_KNOWN
) -> list[Rate]:
    """The same from pairs of person and point (any whole numbers from 0)."""
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
                low, high = offsets[other], offsets[other + 1]
                for i in turn[:known]:
                    place = low + np.searchsorted(point[low:high], own[i])
                    if place >= high or point[place] != own[i]:
                        shared = False
                        break
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
