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
Key = Literal["stop", "route", "hour"]
HOURS = 24


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
    """Numbers that may be negative, as noise is; the true ones lie within `half` of them in 95 of 100 cases.

    Zero is for numbers that sum no noisy count of the model: nothing is known of them. `half` is None where nothing is
    known of any of them.
    """

    values: Floats
    half: Floats | None


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


def _size(key: Key, trips: Trips) -> int:
    return HOURS if key == "hour" else trips.world.size


def _hours(trips: Trips) -> NDArray[np.int64]:
    if trips.time is None:
        raise ParameterError("this release has no times; ask one made by a mechanism that has, such as ppdp")
    return trips.time % DAY // HOUR
