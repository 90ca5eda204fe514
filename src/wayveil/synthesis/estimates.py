"""Questions that a released model may be asked, and the form of its answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wayveil.arrays import Floats, Int32s, Ints
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.trips.windows import gram_counts, match_grams
from wayveil.world.timebins import DAY, HOUR, TimeBins

Interval = tuple[Floats, Floats]
Key = Literal["stop", "route", "hour", "day", "weekday"]
HOURS = 24
WEEKDAYS = 7
NO_TIMES = "this release has no times; ask one made by a mechanism that has, such as ppdp"


@dataclass(frozen=True)
class Only:
    """Which visits are asked for, by what is known of each; None: whichever.

    stop, route  indices into the world; hour of the day; day since 1970; weekday from Monday, 0. All ascending
    """

    stop: tuple[int, ...] | None = None
    route: tuple[int, ...] | None = None
    hour: tuple[int, ...] | None = None
    day: tuple[int, ...] | None = None
    weekday: tuple[int, ...] | None = None

    @property
    def keys(self) -> set[Key]:
        """Return what it asks for by name."""
        names: tuple[Key, ...] = ("stop", "route", "hour", "day", "weekday")
        return {name for name in names if getattr(self, name) is not None}


@dataclass(frozen=True)
class Visits:
    """Visits in all, or per stop, route, hour, day or weekday, or several of them; the first changes slowest.

    With `only`, other visits do not count, and what is not asked for has no row.
    """

    per: tuple[Key, ...] = ()
    only: Only = Only()

    @property
    def keys(self) -> set[Key]:
        """All that has to be known of a visit."""
        return set(self.per) | self.only.keys

    def axis(self, key: Key, size: int | None) -> Ints:
        """The values of one key that have rows, ascending: those asked for, or all of them."""
        asked = getattr(self.only, key)
        if asked is not None:
            return np.asarray(asked, np.int64)
        if size is None:
            raise ParameterError(f"say which {key}s are asked for")
        return np.arange(size, dtype=np.int64)

    def rows(self, known: Mapping[Key, Ints], sizes: Mapping[Key, int]) -> tuple[Ints, int]:
        """The row that each thing falls into by what is known of it (-1: none), and how many rows there are."""
        count = len(next(iter(known.values()))) if known else 0
        at, size = np.zeros(count, np.int64), 1
        inside = np.ones(count, bool)
        for key in self.per:
            axis = self.axis(key, sizes.get(key))
            place = np.minimum(np.searchsorted(axis, known[key]), max(len(axis) - 1, 0))
            inside &= (axis[place] == known[key]) if len(axis) else False
            at, size = at * len(axis) + place, size * len(axis)
        for key in self.only.keys - set(self.per):
            inside &= np.isin(known[key], np.asarray(getattr(self.only, key)))
        return np.where(inside, at, -1), size


@dataclass(frozen=True, eq=False)
class Runs:
    """Trips that have these stops in a row; one row of stops each."""

    stops: Int32s


@dataclass(frozen=True, eq=False)
class Ends:
    """Trips from each origin to each destination; with `bins`, those that start in the given bin."""

    origin: Ints
    destination: Ints
    bins: TimeBins | None = None
    bin: Ints | None = None


Question = Visits | Runs | Ends


@dataclass(frozen=True, eq=False)
class Estimate:
    """Numbers that may be negative, as noise is; the true ones lie between `low` and `high` in 95 of 100 cases.

    Both are None where nothing is known of the truth. `variance` and `fourth` cumulant are those of the noise, where
    its law is known; `mean` and `median` are better guesses where all cells together tell more than the number itself.
    """

    values: Floats
    low: Floats | None = None
    high: Floats | None = None
    variance: Floats | None = None
    fourth: Floats | None = None
    mean: Floats | None = None
    median: Floats | None = None

    @property
    def interval(self) -> Interval | None:
        """Both ends, if they are known."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def over(self, sizes: Floats) -> "Estimate":
        """Per so many, cell by cell."""
        low, high = (None if end is None else end / sizes for end in (self.low, self.high))
        return Estimate(self.values / sizes, low, high)

    def take(self, rows: Ints) -> "Estimate":
        """These rows of it."""
        parts = (self.low, self.high, self.variance, self.fourth, self.mean, self.median)
        return Estimate(self.values[rows], *(None if part is None else part[rows] for part in parts))

    @classmethod
    def within(
        cls, values: Floats, half: Floats, variance: Floats | None = None, fourth: Floats | None = None
    ) -> "Estimate":
        """With intervals that reach as far on both sides."""
        return cls(values, values - half, values + half, variance, fourth)


def count_in_trips(question: Question, trips: Trips) -> Floats | None:
    """Return what these trips answer; None where they do not tell."""
    if isinstance(question, Visits):
        return count_visits(question, trips)
    return count_runs(question, trips) if isinstance(question, Runs) else count_ends(question, trips)


def count_visits(question: Visits, trips: Trips) -> Floats | None:
    """The visits of these trips; None where the trips do not tell, as of routes."""
    if "route" in question.keys:
        return None
    known: dict[Key, Ints] = {"stop": trips.location.astype(np.int64)}
    if question.keys & {"hour", "day", "weekday"}:
        if trips.time is None:
            raise ParameterError(NO_TIMES)
        day = trips.time // DAY
        known |= {"hour": trips.time % DAY // HOUR, "day": day, "weekday": weekday_of(day)}
    at, size = question.rows(known, {"stop": trips.world.size, "hour": HOURS, "weekday": WEEKDAYS})
    return np.bincount(at[at >= 0], minlength=size).astype(np.float64)


def weekday_of(day: Ints) -> Ints:
    """0 for Monday; day 0 of the timeline is a Thursday."""
    return (day + 3) % WEEKDAYS


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
