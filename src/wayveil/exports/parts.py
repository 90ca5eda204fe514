"""Common parts of formats: moments and dates of released trips, places, bars, and what a missing cell means."""

from typing import Any

import polars as pl
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.numbers import WANTED, judge_tally
from wayveil.answers.trip_periods import is_dated
from wayveil.arrays import Ints
from wayveil.errors import ParameterError, RefusedError
from wayveil.exports.menu import MENU
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


def note_of(release: JudgedRelease, format: str) -> str:
    """Say for whoever reads a file: what to think of its numbers, of what they are, and what an empty cell means."""
    missing = ALL_CELLS if release.visits_are_taps else HIDDEN_CELLS
    return f"{judge_format(release, format, anyway=True)} {missing}".strip()


def times_of(trips: Trips) -> Ints:
    """The times of all visits; refused where there are none."""
    if trips.time is None:
        raise ParameterError(
            "this format needs times, and the released trips have none; use a mechanism with times"
        )
    return trips.time


def dates_of(trips: Trips) -> Ints:
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


def moment(seconds: Ints) -> pl.Series:
    """Seconds of the timeline as `2026-11-17T08:00:00`."""
    if len(seconds) == 0:
        return pl.Series([], dtype=pl.String)
    return (pl.Series(seconds) * 1000).cast(pl.Datetime("ms")).dt.strftime("%Y-%m-%dT%H:%M:%S")


def date_of(day: Ints) -> pl.Series:
    """Day numbers as dates."""
    return pl.Series(day, dtype=pl.Int64).cast(pl.Int32).cast(pl.Date)


def point(world: Network, stop: int) -> list[float]:
    """Longitude and latitude, as GeoJSON has them."""
    return [round(float(world.lon[stop]), 6), round(float(world.lat[stop]), 6)]


def kinds_of(release: JudgedRelease, format: str) -> list[str]:
    """The kinds of question whose numbers a format shows: where visits are taps, every one boards."""
    entry = MENU[format]
    about = "stops" if entry.about == "boardings" and release.visits_are_taps else entry.about
    hourly = entry.hourly if release.trips.time is not None else None
    return [kind for kind in (about, hourly) if kind is not None]


def judge_format(release: JudgedRelease, format: str, *, anyway: bool) -> str:
    """Refuse a format of which no number is worth having, and say what to know of those of the others."""
    judged, refused = [], []
    for kind in kinds_of(release, format):
        try:
            judged.append(judge_tally(release, kind, anyway=anyway)[1])
        except RefusedError as error:
            refused.append(error)
    if refused and not judged:
        raise refused[0]
    said = [one.said for one in judged if one.said]
    said += [str(error).removesuffix(f" {WANTED}") for error in refused]
    return " ".join([*said, *(one.of_what for one in judged[:1])]).strip()
