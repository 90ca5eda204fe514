"""Tallies of trips for every kind of question, as cells with numbers: of releases, replicas, references and raw trips.

A kind of question is a way to count trips into cells. Cells are numbered by the public world, so that the same number
means the same cell everywhere; cells with nothing in them are not listed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Int32s, Ints
from wayveil.synthesis.estimates import HOURS, Key, Question, Runs, Visits
from wayveil.trips.trips import Trips
from wayveil.world.timebins import DAY, HOUR, TimeBins

# So many cells are counted in one pass, however few are full.
FEW = 1 << 16


@dataclass(frozen=True, eq=False)
class Tally:
    """Cells, ascending, with what is in them."""

    cells: Ints
    values: Floats

    @classmethod
    def of(cls, cells: Ints) -> "Tally":
        """Count how often each cell occurs: in one pass where there are few, else by sorting."""
        if int(cells.max(initial=0)) < max(FEW, 4 * len(cells)):
            dense = np.bincount(cells)
            found = np.flatnonzero(dense)
            return cls(found, dense[found].astype(np.float64))
        found, count = np.unique(cells, return_counts=True)
        return cls(found.astype(np.int64), count.astype(np.float64))

    def at(self, cells: Ints) -> Floats:
        """The numbers of these cells, zero where nothing is."""
        if len(self.cells) == 0:
            return np.zeros(len(cells))
        place = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
        return np.where(self.cells[place] == cells, self.values[place], 0.0)

    def beside(self, other: "Tally") -> tuple[Floats, Floats]:
        """Both numbers of every cell in which either has one: its own cells first."""
        there = other.at(self.cells)
        alone = ~np.isin(other.cells, self.cells, assume_unique=True)
        return (
            np.concatenate([self.values, np.zeros(int(alone.sum()))]),
            np.concatenate([there, other.values[alone]]),
        )


def _trips(trips: Trips) -> Ints:
    return np.zeros(len(trips), np.int64)


def _visits(trips: Trips) -> Ints:
    return np.zeros(trips.visits, np.int64)


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


def _journey_hours(trips: Trips) -> Ints:
    full = trips.lengths > 0
    return _journeys(trips) * HOURS + _hours(trips)[trips.offsets[:-1][full]]


def _lengths(trips: Trips) -> Ints:
    return trips.lengths.astype(np.int64)


def _runs(length: int) -> Callable[[Trips], Ints]:
    def count(trips: Trips) -> Ints:
        return _first_runs(trips.location, trips.offsets, trips.world.size, length)

    return count


@njit(cache=True)
def _first_runs(location: Int32s, offsets: Ints, size: int, length: int) -> Ints:
    """The cell of every run of so many stops, once per trip: a trip that runs there twice is one trip."""
    cells = np.empty(len(location), np.int64)
    count = 0
    for trip in range(len(offsets) - 1):
        first = count
        for start in range(offsets[trip], offsets[trip + 1] - length + 1):
            cell = np.int64(0)
            for step in range(length):
                cell = cell * size + location[start + step]
            new = True
            for before in range(first, count):
                if cells[before] == cell:
                    new = False
                    break
            if new:
                cells[count] = cell
                count += 1
    return cells[:count]


@dataclass(frozen=True)
class QuestionKind:
    """One kind of question: its words, how trips fall into cells, and whether that needs times.

    longest  how many stops name a cell
    public   whether public knowledge has an answer of its own; of how many trips there are, it has none
    """

    words: str
    cells: Callable[[Trips], Ints]
    timed: bool = False
    longest: int = 1
    public: bool = True


KINDS: dict[str, QuestionKind] = {
    "total": QuestionKind("trips in all", _trips, public=False),
    "visits": QuestionKind("visits in all", _visits, public=False),
    "stops": QuestionKind("visits per stop", _stops),
    "boardings": QuestionKind("trips that begin at a stop", _origins),
    "alightings": QuestionKind("trips that end at a stop", _destinations),
    "hours": QuestionKind("visits per hour of the day", _hours, timed=True),
    "stop-hours": QuestionKind("visits per stop and hour", _stop_hours, timed=True),
    "edges": QuestionKind("trips from one stop to the next", _runs(2), longest=2),
    "triples": QuestionKind("runs of three stops", _runs(3), longest=3),
    "journeys": QuestionKind("trips from an origin to a destination", _journeys, longest=2),
    "journey-hours": QuestionKind(
        "trips from an origin to a destination by hour", _journey_hours, timed=True, longest=2
    ),
    "lengths": QuestionKind("trips with so many stops", _lengths),
}


VISIT_KINDS: dict[tuple[Key, ...], str] = {
    (): "visits",
    ("stop",): "stops",
    ("hour",): "hours",
    ("stop", "hour"): "stop-hours",
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
        if (trips.time is not None or not kind.timed) and trips.world.size**kind.longest * HOURS < most
    ]


def kind_of(question: Question) -> str | None:
    """The kind that a question asks about; None if there is none."""
    if isinstance(question, Visits):
        return None if question.only.keys else VISIT_KINDS.get(question.per)
    if isinstance(question, Runs):
        return {1: "stops", 2: "edges", 3: "triples"}.get(question.stops.shape[1])
    if question.bins is None:
        return "journeys"
    return "journey-hours" if question.bins.labels == TimeBins.hour_of_day().labels else None
