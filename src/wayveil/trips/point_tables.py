"""Files of GPS points: csv (with or without a header) or parquet, ours or mapped columns, checked row by row."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import append
from wayveil.disclosures import EMPTY, LAYOUT
from wayveil.errors import InputError
from wayveil.progress import step
from wayveil.sources.bad_rows import needs_whole_table
from wayveil.sources.opening import SourceTable
from wayveil.trips.findings import Findings
from wayveil.trips.point_columns import point_columns
from wayveil.trips.point_pieces import Codes, PointReader
from wayveil.trips.source_points import SourcePoints
from wayveil.trips.times import Form
from wayveil.world.geo import haversine


@dataclass(frozen=True, eq=False)
class PointTable:
    """Points in some order: `unit` (code of rider_id), `trip` (code of trip_id), seconds, degrees, occupied, row.

    `unit_ids` is the rider_id behind each code, None where the file has none.

    `first` marks the first point of each run of one unit and trip. Where the file has no times (`timed`), seconds only
    only number the points. Points whose trips are known otherwise have no `trip`, and no `row` once all are checked.
    """

    file: Path | str
    unit: NDArray[np.int32]
    trip: NDArray[np.int32] | None
    time: NDArray[np.int64]
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    flag: NDArray[np.bool_] | None
    row: NDArray[np.integer] | None
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

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_] | slice) -> "PointTable":
        """The points at these positions, or where the mask is true."""
        if not isinstance(index, slice) and index.dtype == np.bool_ and index.all():
            return self
        columns = {name: column for name in _COLUMNS if (column := getattr(self, name)) is not None}
        return replace(self, **{name: column[index] for name, column in columns.items()})

    def into_place(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> "PointTable":
        """Take these positions in the memory of these points, which nobody may look at again: columns are large."""
        if index.dtype == np.bool_ and index.all():
            return self
        index = index.copy() if index is self.flag else index
        many, moved = (int(index.sum()) if index.dtype == np.bool_ else len(index)), {}
        for name in _COLUMNS:
            column = getattr(self, name)
            if column is not None:
                column[:many] = column[index]
                moved[name] = column[:many]
        return replace(self, **moved)

    def metres(self) -> NDArray[np.float64]:
        """Return how far each point is from the one before; 0 for the first of a unit and trip."""
        metres = np.zeros(len(self.time))
        for block in blocks(len(metres) - 1):
            here, there = block, slice(block.start + 1, block.stop + 1)
            metres[there] = haversine(self.lat[here], self.lon[here], self.lat[there], self.lon[there])
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
        points = self.into_place(self._on_globe & ~((self.lat == 0) & (self.lon == 0)))
        key = points.unit.astype(np.int64)
        if points.trip is not None:
            key = key * (int(points.trip.max(initial=0)) + 1) + points.trip
        if _sorted([key, points.time] if by_time else [key]):
            return points
        if not by_time:
            return points.into_place(np.argsort(key, kind="stable"))
        order = np.argsort(points.time, kind="stable")
        key = key[order]
        return points.into_place(order[np.argsort(key, kind="stable")])

    def one_per_second(self, findings: Findings, *, first: bool) -> "PointTable":
        """Points that are in order, the first of each second; reports those that go back, or are elsewhere (`first`:
        these are passed over).
        """
        assert self.row is not None
        same, lat, lon = ~self.first, self.lat, self.lon
        back = np.flatnonzero(same[1:] & (self.time[1:] < self.time[:-1])) + 1
        findings.rows(
            "points earlier than the point before",
            np.sort(self.row[back]),
            lambda row: (
                "is earlier than the point before it in its trip; sort the file, or have it sorted "
                "(--with order=time)"
            ),
        )
        again = same
        again[1:] &= self.time[1:] == self.time[:-1]
        # Where times may go back (only reported so far), repeated seconds are those next to each other.
        moved = np.zeros(len(again), bool)
        moved[1:] = (lat[1:] != lat[:-1]) | (lon[1:] != lon[:-1])
        if not first:
            findings.rows(
                "points in the same second as another, elsewhere",
                np.sort(self.row[again & moved]),
                lambda row: (
                    "is in the same second as another point of its trip, at another place; remove one, or take the "
                    "first (--with repeated=first)"
                ),
            )
        return self.into_place(~again)


_COLUMNS = ("unit", "trip", "time", "lat", "lon", "flag", "row")
# Points that are worked on at once, where there is no need for all.
BLOCK = 1 << 18


def blocks(many: int, size: int = BLOCK) -> Iterator[slice]:
    """Cut so many points into pieces."""
    return (slice(first, min(first + size, many)) for first in range(0, many, size))


def read_point_table(source: SourceTable, findings: Findings) -> PointTable:
    """The points in the order of the file, read piece by piece. Rows without a usable time or place are reported."""
    path, ours = source.name, point_columns(source)
    # Errors call a column as the file does.
    called = {our: source.reading.columns.get(our, their) for their, our in ours.items()}
    called = called if source.reading.header else {our: our for our in called}
    ids: dict[str, Codes] = {name: Codes() for name in ("rider_id", "trip_id") if name in called}
    reader, columns = PointReader(called, ids), dict[str, NDArray[Any]]()
    whole = needs_whole_table(source.reading.rules)
    with step(f"Reading {Path(path).name}"):
        for table in [source.read(list(ours))] if whole else (t for _, t in source.pieces(list(ours), None)):
            for block in blocks(table.height):
                for name, values in reader.read(table[block].rename(ours)).items():
                    append(columns.setdefault(name, np.empty(0, values.dtype)), values)
    height = reader.problems.before
    if height == 0:
        raise InputError("has no points in it", file=path, tells=EMPTY)
    reader.report(findings)
    if not ids:
        raise InputError(
            "has neither 'rider_id' nor 'trip_id': map a column to one of them", file=path, tells=LAYOUT
        )
    points = PointTable(
        path,
        columns["rider_id"] if "rider_id" in ids else np.zeros(height, np.int32),
        columns.get("trip_id"),
        columns["time"],
        columns["lat"],
        columns["lon"],
        columns.get("flag"),
        np.arange(height, dtype=np.int32 if height < 1 << 31 else np.int64),
        pl.Series("rider_id", list(ids["rider_id"].known), pl.String) if "rider_id" in ids else None,
        reader.form != Form.CLOCK if "event_time" in called else False,
        "event_time" in called,
    )
    return points.into_place(columns.pop("usable"))


def _sorted(keys: list[NDArray[np.int64]]) -> bool:
    """Tell whether rows are already in order of these keys."""
    key = keys[0]
    if np.any(key[1:] < key[:-1]):
        return False
    return len(keys) == 1 or not np.any((key[1:] == key[:-1]) & (keys[1][1:] < keys[1][:-1]))
