"""What formats share: moments and dates of released trips, places, bars, and what a missing cell means."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.trip_periods import is_dated
from wayveil.errors import ParameterError
from wayveil.exports.menu import MENU
from wayveil.synthesis.estimates import Estimate
from wayveil.trips.trips import Trips
from wayveil.world.network import Network

ALL_CELLS = (
    "Cells that are not listed have no synthetic tap; their true number lies within the noise of the release."
)
HIDDEN_CELLS = (
    "Cells that are not listed have no released trip: they are empty, or have fewer trips than this release can tell "
    "from none."
)
NO_ALIGHTINGS = (
    "these visits are taps: where people got off is not in the data, so there are no origins and destinations. Release "
    "with --way cards --with alightings=true to have them"
)


def missing_cells(release: JudgedRelease) -> str:
    """Say what it means that a cell is not listed."""
    return ALL_CELLS if release.visits_are_taps else HIDDEN_CELLS


def times_of(trips: Trips) -> NDArray[np.int64]:
    """The times of all visits; refused where there are none."""
    if trips.time is None:
        raise ParameterError(
            "this format needs times, and the released trips have none; use a mechanism with times"
        )
    return trips.time


def dates_of(trips: Trips) -> NDArray[np.int64]:
    """The times of all visits on a calendar; refused where no date is known."""
    time = times_of(trips)
    if trips.visits and not is_dated(trips):
        raise ParameterError(
            "this format has dates, and the released trips have hours or weekdays only: say with --put-on "
            "(put_on=...) on which day or in which week they lie"
        )
    return time


def journeys_of(release: JudgedRelease) -> Trips:
    """The trips that have a begin and an end; taps have none."""
    if release.visits_are_taps:
        raise ParameterError(NO_ALIGHTINGS)
    return release.trips.take(release.trips.lengths > 0)


def network_of_trips(trips: Trips) -> Network:
    """The world of the trips, with coordinates."""
    if not isinstance(trips.world, Network):
        raise ParameterError("this format needs coordinates; load the release with the network of its city")
    return trips.world


def texts(values: NDArray[Any]) -> pl.Series:
    """Ids or names as a column of text, also where there are none."""
    return pl.Series(values.tolist(), dtype=pl.String)


def moment(seconds: NDArray[np.int64]) -> pl.Series:
    """Seconds of the timeline as `2026-11-17T08:00:00`."""
    if len(seconds) == 0:
        return pl.Series([], dtype=pl.String)
    return (pl.Series(seconds) * 1000).cast(pl.Datetime("ms")).dt.strftime("%Y-%m-%dT%H:%M:%S")


def date_of(day: NDArray[np.int64]) -> pl.Series:
    """Day numbers as dates."""
    return pl.Series(day, dtype=pl.Int64).cast(pl.Int32).cast(pl.Date)


def whole_bars(known: Estimate | None) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Both ends in whole trips, not below zero; None where nothing is known."""
    if known is None or known.interval is None:
        return None
    low, high = (np.maximum(end, 0) for end in known.interval)
    return np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)


def point(world: Network, stop: int) -> list[float]:
    """Longitude and latitude, as GeoJSON has them."""
    return [round(float(world.lon[stop]), 6), round(float(world.lat[stop]), 6)]


def numbers_of(release: JudgedRelease, kind: str) -> str | None:
    """The kind of question whose numbers a format shows: where visits are taps, every one boards."""
    about = MENU[kind].about
    return "stops" if about == "boardings" and release.visits_are_taps else about


def verdict_on(release: JudgedRelease, kind: str) -> str | None:
    """Verdict on the numbers in this format, and on those by hour; None if there is none."""
    hourly = MENU[kind].hourly if release.trips.time is not None else None
    about = (each for each in (numbers_of(release, kind), hourly) if each is not None)
    said = [verdict.words for verdict in map(release.accuracy.of, about) if verdict is not None]
    return " ".join(said) or None
