"""Questions that a released model may be asked, and the form of its answers."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.trips.windows import gram_counts, match_grams
from wayveil.world.timebins import DAY, HOUR, TimeBins

Floats = NDArray[np.float64]
Interval = tuple[Floats, Floats]
Key = Literal["stop", "route", "hour"]
HOURS = 24
NO_TIMES = "this release has no times; ask one made by a mechanism that has, such as ppdp"


@dataclass(frozen=True)
class Visits:
    """Visits in all, or per stop, route or hour of the day, or several of them; the first changes slowest."""

    per: tuple[Key, ...] = ()


@dataclass(frozen=True, eq=False)
class Runs:
    """Trips that have these stops in a row; one row of stops each."""

    stops: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Ends:
    """Trips from each origin to each destination; with `bins`, those that start in the given bin."""

    origin: NDArray[np.int64]
    destination: NDArray[np.int64]
    bins: TimeBins | None = None
    bin: NDArray[np.int64] | None = None


Question = Visits | Runs | Ends


@dataclass(frozen=True, eq=False)
class Estimate:
    """Numbers that may be negative, as noise is; the true ones lie between `low` and `high` in 95 of 100 cases.

    Both are None where nothing is known of the truth.
    """

    values: Floats
    low: Floats | None = None
    high: Floats | None = None

    @property
    def interval(self) -> Interval | None:
        """Both ends, if they are known."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def over(self, sizes: Floats) -> "Estimate":
        """Per so many, cell by cell."""
        low, high = (None if end is None else end / sizes for end in (self.low, self.high))
        return Estimate(self.values / sizes, low, high)

    @classmethod
    def within(cls, values: Floats, half: Floats) -> "Estimate":
        """With intervals that reach as far on both sides."""
        return cls(values, values - half, values + half)


def count_in_trips(question: Question, trips: Trips) -> Floats | None:
    """What these trips answer; None where they do not tell."""
    if isinstance(question, Visits):
        return count_visits(question, trips)
    return count_runs(question, trips) if isinstance(question, Runs) else count_ends(question, trips)


def count_visits(question: Visits, trips: Trips) -> Floats | None:
    """The visits of these trips; None where the trips do not tell, as of routes."""
    if "route" in question.per:
        return None
    at, size = np.zeros(trips.visits, np.int64), 1
    for key in question.per:
        at, size = at * (HOURS if key == "hour" else trips.world.size), size * _size(key, trips)
        at += _hours(trips) if key == "hour" else trips.location
    return np.bincount(at, minlength=size).astype(np.float64)


def count_runs(question: Runs, trips: Trips) -> Floats:
    """Trips with each of the runs."""
    grams = gram_counts(trips, question.stops.shape[1], once_per_trip=True)
    return match_grams(grams, question.stops).astype(np.float64)


def count_ends(question: Ends, trips: Trips) -> Floats:
    """Trips between each of the pairs, and in each of the bins."""
    full, size = trips.lengths > 0, np.int64(trips.world.size)
    found = trips.origins()[full] * size + trips.destinations()[full]
    asked = question.origin * size + question.destination
    if question.bins is not None and question.bin is not None:
        if trips.time is None:
            raise ParameterError(NO_TIMES)
        first = trips.time[trips.offsets[:-1][full]]
        found = found * question.bins.count + question.bins.bin_of(first)
        asked = asked * question.bins.count + question.bin
    cells, count = np.unique(found, return_counts=True)
    if len(cells) == 0:
        return np.zeros(len(asked))
    place = np.minimum(np.searchsorted(cells, asked), len(cells) - 1)
    return np.where(cells[place] == asked, count[place], 0).astype(np.float64)


def _size(key: Key, trips: Trips) -> int:
    return HOURS if key == "hour" else trips.world.size


def _hours(trips: Trips) -> NDArray[np.int64]:
    if trips.time is None:
        raise ParameterError(NO_TIMES)
    return trips.time % DAY // HOUR
