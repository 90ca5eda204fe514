"""Seats that really ran: from a public timetable, on the days and hours that are asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.asked import Ran, Seats
from wayveil.answers.filters import EPOCH, days_of
from wayveil.answers.trip_periods import is_dated
from wayveil.arrays import Floats
from wayveil.errors import InputError, ParameterError
from wayveil.synthesis.estimates import weekday_of
from wayveil.synthesis.model import OfDays
from wayveil.world.gtfs.service import parse_date
from wayveil.world.gtfs.timetable import Timetable, read_timetable
from wayveil.world.network import Network

SEATS: Final = 38


@dataclass(frozen=True, eq=False)
class Service:
    """Runs on the days of a release.

    days    the days that were counted, and for each the day of the timetable whose runs it had
    seats   of every trip of the timetable
    """

    timetable: Timetable
    network: Network
    days: tuple[tuple[int, int], ...]
    seats: Floats

    def by_route(self) -> pl.DataFrame:
        """`route` (of the network), `day`, `weekday`, `hour`, `seats`: those of a run lie in the hours of its calls."""
        return self._on_days(self.timetable.runs, ["route", "hour"])

    def by_edge(self) -> pl.DataFrame:
        """Seats as in `by_route`, for every step of the network: with `source` and `target`."""
        return self._on_days(self.timetable.runs_over_edges, ["route", "source", "target", "hour"])

    def _on_days(self, runs: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
        order = {name: at for at, name in enumerate(self.network.route_ids.tolist())}
        named = self.timetable.trips["route_id"].to_list()
        route = np.array([order.get(name, -1) for name in named], np.int64)
        trip = runs["trip"].to_numpy()
        known = runs.with_columns(
            route=pl.Series(route[trip]), seats=pl.Series(self.seats[trip]) * runs["runs"]
        )
        once: dict[int, pl.DataFrame] = {}
        parts = []
        for day, runs_as in self.days:
            if runs_as not in once:
                there = self.timetable.running(runs_as)[trip] & (route[trip] >= 0)
                once[runs_as] = (
                    known.filter(pl.Series(there)).group_by(keys).agg(pl.col("seats").sum()).sort(keys)
                )
            weekday = int(weekday_of(np.array([day]))[0])
            parts.append(
                once[runs_as].with_columns(day=pl.lit(day, pl.Int64), weekday=pl.lit(weekday, pl.Int64))
            )
        return pl.concat(parts)


def find_service(release: JudgedRelease, ran: Ran) -> Service | None:
    """Find the service of the days of a release; None where no timetable is given.

    A day that the calendars of the feed do not cover is refused, unless `timetable_date` says whose runs every day
    had. A release without dates needs that too, and on how many `days` its people were counted.
    """
    if ran.timetable is None:
        return None
    if not isinstance(release.world, Network) or len(release.world.route_ids) == 0:
        raise ParameterError("this world has no routes; open the release with its GTFS feed")
    table = read_timetable(ran.timetable, release.world)
    same = None if ran.timetable_date is None else (parse_date(ran.timetable_date) - EPOCH).days
    if same is not None and not table.covers(same):
        raise ParameterError(_not_covered(same, table))
    dated = isinstance(release.model, OfDays) or is_dated(release.trips)
    if not dated:
        if ran.days is None or same is None:
            raise ParameterError(
                "this release has no dates: say with --timetable-date whose runs every day had, and with --days on how "
                "many days its people were counted"
            )
        return Service(table, release.world, ((same, same),) * ran.days, _seats_of(table, ran.seats))
    if ran.days is not None:
        raise ParameterError("--days is for releases without dates; this one knows its days")
    counted = days_of(release)
    for day in counted if same is None else []:
        if not table.covers(day):
            raise ParameterError(
                f"{_not_covered(day, table)}; say with --timetable-date whose runs every day had"
            )
    return Service(
        table,
        release.world,
        tuple((day, day if same is None else same) for day in counted),
        _seats_of(table, ran.seats),
    )


def _seats_of(timetable: Timetable, seats: Seats | None) -> Floats:
    """Seats of every trip: a number, or a table with `seats` by `route_id` or `trip_id`."""
    seats = SEATS if seats is None else seats
    if isinstance(seats, str) and seats.strip().isdigit():
        seats = int(seats)
    if isinstance(seats, int):
        if seats < 1:
            raise ParameterError(f"a vehicle has at least one seat, not {seats}")
        return np.full(len(timetable.trips), float(seats))
    table, file = _read_seats(seats)
    key = next((name for name in ("trip_id", "route_id") if name in table.columns), None)
    if key is None or "seats" not in table.columns:
        raise InputError("needs the columns seats and route_id or trip_id", file=file)
    table = table.select(pl.col(key).cast(pl.String), pl.col("seats").cast(pl.Float64, strict=False)).unique()
    if table[key].is_duplicated().any():
        raise InputError(f"has two numbers of seats for one {key}", file=file)
    if table["seats"].is_null().any() or not (table["seats"] > 0).all():
        raise InputError("has seats that are no number above 0", file=file)
    found = timetable.trips.select(key).join(table, on=key, how="left", maintain_order="left")
    lacking = found.filter(pl.col("seats").is_null())
    if lacking.height:
        raise InputError(f"does not say how many seats {key} {lacking[key][0]!r} has", file=file)
    return found["seats"].to_numpy()


def _read_seats(seats: Any) -> tuple[pl.DataFrame, str | Path]:
    if not isinstance(seats, str | Path):
        return pl.DataFrame(seats), "the frame"
    try:
        return pl.read_csv(seats, infer_schema=False), seats
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot be read as a table of seats ({error})", file=seats) from error


def seats_per_row(rows: pl.DataFrame, at: Sequence[int] | Any, size: int) -> Floats:
    """The seats of each row of an answer; no number where none ran."""
    inside = np.asarray(at) >= 0
    found = np.bincount(np.asarray(at)[inside], rows["seats"].to_numpy()[inside], size)
    return np.where(found > 0, found, np.nan)


def _not_covered(day: int, timetable: Timetable) -> str:
    first, last = timetable.covered or ("", "")
    asked = date.fromordinal(EPOCH.toordinal() + day)
    return f"the timetable tells what runs from {first} to {last}, and not on {asked}"
