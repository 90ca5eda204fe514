"""What trips say about every kind of question, as cells with numbers: of releases, replicas, references and raw trips.

A kind of question is a way to count trips into cells. Cells are numbered by the public world, so that the same number
means the same cell everywhere; cells with nothing in them are not listed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.trips.trips import Trips
from wayveil.trips.windows import window_starts
from wayveil.world.timebins import DAY, HOUR

HOURS = 24


@dataclass(frozen=True, eq=False)
class Tally:
    """Cells, ascending, with what is in them."""

    cells: Ints
    values: Floats

    @classmethod
    def of(cls, cells: Ints) -> "Tally":
        """Count how often each cell occurs."""
        found, count = np.unique(cells, return_counts=True)
        return cls(found.astype(np.int64), count.astype(np.float64))

    def at(self, cells: Ints) -> Floats:
        """The numbers of these cells, zero where nothing is."""
        if len(self.cells) == 0:
            return np.zeros(len(cells))
        place = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
        return np.where(self.cells[place] == cells, self.values[place], 0.0)


def _trips(trips: Trips) -> Ints:
    return np.zeros(len(trips), np.int64)


def _stops(trips: Trips) -> Ints:
    return trips.location.astype(np.int64)


def _origins(trips: Trips) -> Ints:
    return trips.origins()[trips.lengths > 0].astype(np.int64)


def _destinations(trips: Trips) -> Ints:
    return trips.destinations()[trips.lengths > 0].astype(np.int64)


def _journeys(trips: Trips) -> Ints:
    return _origins(trips) * trips.world.size + _destinations(trips)


def _hours(trips: Trips) -> Ints:
    assert trips.time is not None  # only asked of trips with times
    return np.asarray(trips.time % DAY // HOUR, np.int64)


def _stop_hours(trips: Trips) -> Ints:
    return _stops(trips) * HOURS + _hours(trips)


def _lengths(trips: Trips) -> Ints:
    return trips.lengths.astype(np.int64)


def _runs(length: int) -> Callable[[Trips], Ints]:
    def count(trips: Trips) -> Ints:
        starts, size = window_starts(trips, length), trips.world.size
        cells = np.zeros(len(starts), np.int64)
        for step in range(length):
            cells = cells * size + trips.location[starts + step]
        return cells

    return count


@dataclass(frozen=True)
class QuestionKind:
    """One kind of question: its words, how trips fall into cells, and whether that needs times."""

    words: str
    cells: Callable[[Trips], Ints]
    timed: bool = False
    longest: int = 1


KINDS: dict[str, QuestionKind] = {
    "total": QuestionKind("trips in all", _trips),
    "stops": QuestionKind("visits per stop", _stops),
    "boardings": QuestionKind("trips that begin at a stop", _origins),
    "alightings": QuestionKind("trips that end at a stop", _destinations),
    "hours": QuestionKind("visits per hour of the day", _hours, timed=True),
    "stop-hours": QuestionKind("visits per stop and hour", _stop_hours, timed=True),
    "edges": QuestionKind("trips from one stop to the next", _runs(2), longest=2),
    "triples": QuestionKind("runs of three stops", _runs(3), longest=3),
    "journeys": QuestionKind("trips from an origin to a destination", _journeys),
    "lengths": QuestionKind("trips with so many stops", _lengths),
}


def tally(kind: str, trips: Trips) -> Tally:
    """The cells of one kind of question."""
    return Tally.of(KINDS[kind].cells(trips))


def kinds_for(trips: Trips) -> list[str]:
    """Kinds that such trips can answer."""
    most = 1 << 62
    return [
        name
        for name, kind in KINDS.items()
        if (trips.time is not None or not kind.timed) and trips.world.size ** max(kind.longest, 2) < most
    ]
