"""Files of GPS points: csv (with or without a header) or parquet, ours or mapped columns, checked row by row."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.disclosures import EMPTY, LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.progress import step
from wayveil.sources.categories import distinct_values
from wayveil.sources.opening import SourceTable
from wayveil.trips.findings import Findings
from wayveil.trips.ids import coded_ids
from wayveil.trips.point_columns import point_columns
from wayveil.trips.source_points import SourcePoints
from wayveil.trips.times import Form, Times, read_times
from wayveil.trips.visit_order import null_rows
from wayveil.world.geo import haversine

_NUMBERS = ("lat", "lon")
_OCCUPIED = ("1", "true", "t", "yes", "y", "occupied", "m")


@dataclass(frozen=True, eq=False)
class PointTable:
    """Points in some order: `unit` (code of rider_id), `trip` (code of trip_id), seconds, degrees, occupied, row.

    `unit_ids` is the rider_id behind each code, None where the file has none.

    `first` marks the first point of each run of one unit and trip. Where the file has no times (`timed`), seconds only
    number the points.
    """

    file: Path | str
    unit: NDArray[np.int32]
    trip: NDArray[np.int32] | None
    time: NDArray[np.int64]
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    flag: NDArray[np.bool_] | None
    row: NDArray[np.int64]
    unit_ids: pl.Series | None
    dated: bool
    timed: bool

    @property
    def named(self) -> bool:
        """Tell whether the file says whose each point is."""
        return self.unit_ids is not None

    @property
    def first(self) -> NDArray[np.bool_]:
        """Where another unit or trip begins."""
        new = np.ones(len(self.unit), bool)
        new[1:] = self.unit[1:] != self.unit[:-1]
        if self.trip is not None:
            new[1:] |= self.trip[1:] != self.trip[:-1]
        return new

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> "PointTable":
        """The points at these positions, or where the mask is true."""
        if index.dtype == np.bool_ and index.all():
            return self
        columns = ("unit", "trip", "time", "lat", "lon", "flag", "row")
        taken: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else column[index] for name in columns
        }
        return replace(self, **taken)

    def metres(self) -> NDArray[np.float64]:
        """Return how far each point is from the one before; 0 for the first of a unit and trip."""
        metres = np.zeros(len(self.time))
        metres[1:] = haversine(self.lat[:-1], self.lon[:-1], self.lat[1:], self.lon[1:])
        metres[self.first] = 0.0
        return metres

    def source(self) -> SourcePoints:
        """Return what these points are known by, once they stand in the order of their trips."""
        return SourcePoints.of(
            self.lat, self.lon, self.time if self.timed else None, self.first, self.unit_ids
        )

    def check_fixes(self, findings: Findings) -> None:
        """Report coordinates that are none on this planet, or none at all."""
        lat, lon = self.lat, self.lon
        skip = "correct or remove it, or skip such points (--with no_fix=skip)"

        def say(row: int) -> str:
            where = f"({lat[row]:g}, {lon[row]:g})"
            if abs(lat[row]) > 90 and abs(lon[row]) <= 90:
                swapped = "map the columns the other way if they are swapped"
                return f"{where} is no latitude and longitude; {swapped}, or {skip}"
            return f"{where} is no latitude (-90 to 90) and longitude (-180 to 180) in degrees; {skip}"

        findings.rows("points that are not on the globe", np.flatnonzero(~self._on_globe), say)
        findings.rows(
            "points at (0, 0), which devices without a fix report",
            np.flatnonzero((lat == 0) & (lon == 0)),
            lambda row: f"is at (0, 0), where a device without a fix is; {skip}",
        )

    @property
    def _on_globe(self) -> NDArray[np.bool_]:
        return np.asarray((np.abs(self.lat) <= 90) & (np.abs(self.lon) <= 180))

    def in_order(self, *, by_time: bool) -> "PointTable":
        """The points of each unit and trip together, in order of time or as in the file; all with a fix."""
        points = self.take(self._on_globe & ~((self.lat == 0) & (self.lon == 0)))
        key = points.unit.astype(np.int64)
        if points.trip is not None:
            key = key * (int(points.trip.max(initial=0)) + 1) + points.trip
        keys = {"key": key} | ({"time": points.time} if by_time else {})
        if not _sorted(list(keys.values())):
            order = pl.DataFrame(keys).select(pl.arg_sort_by(list(keys), maintain_order=True)).to_series()
            points = points.take(order.to_numpy().astype(np.int64))
        return points

    def one_per_second(self, findings: Findings, *, first: bool) -> "PointTable":
        """Points that are in order, the first of each second; reports those that go back, or are elsewhere (`first`:
        these are passed over).
        """
        same = ~self.first
        back = np.flatnonzero(same[1:] & (np.diff(self.time) < 0)) + 1
        findings.rows(
            "points earlier than the point before",
            np.sort(self.row[back]),
            lambda row: (
                "is earlier than the point before it in its trip; sort the file, or have it sorted "
                "(--with order=time)"
            ),
        )
        again = same.copy()
        again[1:] &= np.diff(self.time) == 0
        # Where times may go back (only reported so far), repeated seconds are those next to each other.
        moved = np.zeros(len(again), bool)
        moved[1:] = (np.diff(self.lat) != 0) | (np.diff(self.lon) != 0)
        if not first:
            findings.rows(
                "points in the same second as another, elsewhere",
                np.sort(self.row[again & moved]),
                lambda row: (
                    "is in the same second as another point of its trip, at another place; remove one, or take the "
                    "first (--with repeated=first)"
                ),
            )
        return self.take(~again)


def read_point_table(source: SourceTable, findings: Findings) -> PointTable:
    """The points in the order of the file. Rows without a usable time or place are reported."""
    path = source.name
    with step(f"Reading {Path(path).name}"):
        ours = point_columns(source)
        table = source.read(list(ours)).rename(ours)
    # Errors call a column as the file does.
    called = {our: source.reading.columns.get(our, their) for their, our in ours.items()}
    called = called if source.reading.header else {our: our for our in called}
    if table.height == 0:
        raise InputError("has no points in it", file=path, tells=EMPTY)
    wall, dated, usable = _moments(table, called, findings)
    lat, lon = _coordinates(table, called, findings)
    (ids, unit), (_, trip) = (_codes(table, name, called, findings) for name in ("rider_id", "trip_id"))
    if unit is None and trip is None:
        raise InputError(
            "has neither 'rider_id' nor 'trip_id': map a column to one of them", file=path, tells=LAYOUT
        )
    points = PointTable(
        path,
        np.zeros(table.height, np.int32) if unit is None else unit,
        trip,
        wall,
        lat,
        lon,
        _flags(table),
        np.arange(table.height),
        ids,
        dated,
        "event_time" in table.columns,
    )
    return points.take(usable)


def _moments(
    table: pl.DataFrame, called: Mapping[str, str], findings: Findings
) -> tuple[NDArray[np.int64], bool, NDArray[np.bool_]]:
    """The wall clock of each point, whether it has dates, and where it is usable; else the places in the file.

    A zone that changes on the way is taken as it stands.
    """
    usable = np.ones(table.height, bool)
    if "event_time" not in table.columns:
        return np.arange(table.height), False, usable
    times = read_times(table["event_time"])
    wrong, text = times.wrong_rows(), table["event_time"]
    findings.rows(
        f"points without a usable {called['event_time']}",
        wrong,
        lambda row: _say_time(times, row, text[row], called["event_time"]),
    )
    usable[wrong] = False
    return times.wall, times.expected != Form.CLOCK, usable


def _coordinates(
    table: pl.DataFrame, called: Mapping[str, str], findings: Findings
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if "h3" in table.columns and "lat" not in table.columns:
        return _of_h3(table["h3"], findings)
    found = []
    for name in _NUMBERS:
        column = table[name]
        text = column.cast(pl.String) if column.dtype == pl.Categorical else column
        number = text.cast(pl.Float64, strict=False)
        findings.rows(
            f"points without a usable {called[name]}",
            null_rows(number),
            lambda row, name=called[name], text=text: _say_number(name, text[row]),  # type: ignore[misc]
        )
        found.append(number.fill_null(float("nan")).to_numpy())
    return found[0], found[1]


def _say_number(name: str, value: object) -> str:
    if value is None or str(value).strip() == "":
        return f"has no {name}; give it one, or remove the row"
    return f"{name} {value!r} is not a number of degrees, like 22.5; correct it, or remove the row"


def _say_time(times: Times, row: int, value: object, name: str) -> str:
    if times.form[row] == Form.MISSING:
        return f"has no {name}; give it one, or remove the row"
    return times.say(row, value).replace("event_time", name)


def _of_h3(column: pl.Series, findings: Findings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    try:
        import h3
    except ImportError as error:
        raise ParameterError(
            "cells of H3 are read with the package h3, which is not installed: pip install h3, or give lat and lon"
        ) from error
    text = column if column.dtype == pl.Categorical else column.cast(pl.String).cast(pl.Categorical)
    distinct, code = distinct_values(text)
    centre = np.full((len(distinct) + 1, 2), np.nan)
    for place, cell in enumerate(distinct.to_list()):
        if h3.is_valid_cell(cell):
            centre[place] = h3.cell_to_latlng(cell)
    found = centre[code]
    findings.rows(
        "points without a valid H3 cell",
        np.flatnonzero(np.isnan(found[:, 0])),
        lambda row: f"h3 {text[row]!r} is not a cell of H3; correct it, or remove the row",
    )
    return found[:, 0].copy(), found[:, 1].copy()


def _codes(
    table: pl.DataFrame, name: str, called: Mapping[str, str], findings: Findings
) -> tuple[pl.Series | None, NDArray[np.int32] | None]:
    """The distinct ids of a column and, per row, the position of its id; what stands for no id is reported."""
    if name not in table.columns:
        return None, None
    ids, code = distinct_values(coded_ids(table[name]))
    findings.rows(
        f"points without {called[name]}",
        np.flatnonzero(code < 0),
        lambda row: f"has no {called[name]}; give it one, or remove the row",
    )
    return ids, code


def _flags(table: pl.DataFrame) -> NDArray[np.bool_] | None:
    """Tell whether each point is occupied: 1, true, yes or a number above 0."""
    if "flag" not in table.columns:
        return None
    column = table["flag"]
    if column.dtype == pl.Boolean or column.dtype.is_numeric():
        return (column.cast(pl.Float64).fill_null(0) > 0).to_numpy()
    distinct, code = distinct_values(
        column if column.dtype == pl.Categorical else column.cast(pl.Categorical)
    )
    number = distinct.cast(pl.Float64, strict=False).fill_null(0) > 0
    occupied = (distinct.str.to_lowercase().is_in(list(_OCCUPIED)) | number).to_numpy()
    return np.append(occupied, False)[code]


def _sorted(keys: list[NDArray[np.int64]]) -> bool:
    """Tell whether rows are already in order of these keys."""
    step = np.diff(keys[0])
    if np.any(step < 0):
        return False
    return len(keys) == 1 or not np.any((step == 0) & (np.diff(keys[1]) < 0))
