"""The rows that a plan names, read as the plan says: trips, files of trips, or taps. Nothing is guessed here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from wayveil.counting.engines import Engine, open_source
from wayveil.disclosures import LAYOUT, OTHER_DAYS
from wayveil.errors import InputError, ParameterError
from wayveil.plan.parts import Source
from wayveil.plan.plan import Plan
from wayveil.privacy.ledger.data_time import Days
from wayveil.sources.column_names import WORDS, our_columns
from wayveil.sources.databases import is_address
from wayveil.sources.frames import frame_table, source_name
from wayveil.sources.opening import Place, SourceTable, expand_places, open_table
from wayveil.taps.cleaning import CleanTaps
from wayveil.taps.columns import COLUMNS, ColumnMap, column_map
from wayveil.taps.moments import read_moments
from wayveil.taps.read import read_taps
from wayveil.taps.taps import Taps
from wayveil.trips.columns import refuse_hidden_riders
from wayveil.trips.history import PER_TRIP
from wayveil.trips.point_rules import PointRules
from wayveil.trips.points import Split, read_points
from wayveil.trips.read import POINTS, kind_of, read_trips
from wayveil.trips.tables import read_marked_table, require_file
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.trips import Trips
from wayveil.world.opening import open_world
from wayveil.world.timebins import DAY
from wayveil.world.world import World

_EPOCH = date(1970, 1, 1)
_OTHER_DAYS = (
    "{what} of {day}, and its days are {days} ({many:,} such rows). Mend the file, or drop such rows one by one with "
    'outside = "drop" in [source]. Nothing was spent'
)


@dataclass(frozen=True, eq=False)
class OpenedRows:
    """Rows of a plan, the engine that counts them (None: the usual one) and why, and what cleaning did, for inside."""

    rows: Trips | TripFiles | Taps
    engine: Engine | None = None
    why: str = ""
    notes: tuple[str, ...] = ()


def open_plan_world(plan: Plan, days: Days | None = None) -> World:
    """Open the public world of a plan, or the version in force in a period."""
    version = plan.world_of(days)
    return open_world(
        plan.beside(version.place),
        bbox=version.bbox,
        service_date=version.service_date,
        walk_radius_metres=version.walk_radius,
    )


def files_of(plan: Plan) -> list[Place]:
    """The files, folders, patterns and addresses of a plan that is run once."""
    if not plan.source.files:
        raise ParameterError("say which file to release")
    places = [plan.beside(file) for file in plan.source.files]
    return [place if is_address(place) else Path(place) for place in places]


def open_rows(plan: Plan, world: World, files: Sequence[Place], days: Days | None = None) -> OpenedRows:
    """Read the rows of some files, which together are one table; of some days where these are said."""
    if _are_taps(plan, files):
        clean = _read_taps(plan, world, files, days)
        return OpenedRows(clean.taps, notes=tuple(clean.report.lines()))
    if are_points(plan.source, files):
        name = source_name(open_points(plan.source, files, world))
        return OpenedRows(_within(read_plan_points(plan.source, files, world), days, name))
    return _open_trips(plan, world, files, days)


def are_points(source: Source, files: Sequence[Place]) -> bool:
    """Tell whether rows are read as points: said so, or told by the header of a single file."""
    one = files[0] if len(files) == 1 else None
    return source.rows == "points" or (
        source.rows is None and isinstance(one, Path) and one.is_file() and kind_of(one) == POINTS
    )


def _are_taps(plan: Plan, files: Sequence[Place]) -> bool:
    """Tell whether rows are read as taps. Boardings of a table that says its trips are trips, unless a way is
    chosen.
    """
    if plan.source.rows != "taps" or plan.method.way is not None:
        return plan.source.rows == "taps"
    return "trip_id" not in _table(plan.source, files).columns


def _table(source: Source, files: Sequence[Place], world: World | None = None) -> SourceTable:
    """Open the files of a source as one table, read as the source says."""
    places = expand_places(files)
    for place in places:
        if isinstance(place, Path):
            require_file(place)
    return open_table(places, source.reading, world)


def _open_trips(plan: Plan, world: World, files: Sequence[Place], days: Days | None) -> OpenedRows:
    reading, machine = plan.source.reading, plan.machine
    named_columns(plan.source.columns)
    scratch = None if machine.scratch is None else plan.beside(machine.scratch)
    raw, engine, why = open_source(
        files, world, machine.engine, reading=reading, spark=machine.spark, scratch=scratch
    )
    first = expand_places(files)[0]
    if plan.protection.unit is None and isinstance(first, Path):
        refuse_hidden_riders(first, reading)
    if isinstance(raw, TripFiles):
        if days is not None or plan.series is not None:
            raise ParameterError("days are held against trips in memory; use the engine memory")
        return OpenedRows(raw, engine, why)
    return OpenedRows(_within(raw, days, first), engine, why)


def read_frame(source: Source, frame: Any, world: World) -> Trips | Taps:
    """Read a frame or an Arrow table as the source says."""
    if source.rows == "taps":
        return read_taps(frame, world, source.columns, zone=source.zone, opt_out=source.opt_out).taps  # type: ignore[arg-type]
    if source.rows == "points":
        return _points(source, frame_table(frame, source.reading, world), world)
    if not source.reading.plain:
        return read_trips(frame_table(frame, source.reading, world), world)
    columns = named_columns(source.columns)
    return read_trips(frame, world, **({"columns": columns} if columns else {}))


def open_points(source: Source, files: Sequence[Place], world: World | None = None) -> SourceTable:
    """Open files of points as one table; its columns may be named in order, apart by commas."""
    if isinstance(source.columns, str):
        named = tuple(name.strip() for name in source.columns.split(","))
        source = source.model_copy(update={"columns": named})
    table = _table(source, files, world)
    if isinstance(source.columns, tuple) and len(source.columns) != len(table.parts[0].columns):
        raise InputError(
            f"has {len(table.parts[0].columns)} columns, but {len(source.columns)} are named; write - for unused ones",
            file=table.name,
            tells=LAYOUT,
        )
    return table


def read_plan_points(source: Source, files: Sequence[Place], world: World) -> Trips:
    """Read GPS points as the source says."""
    return _points(source, open_points(source, files, world), world)


def _points(source: Source, table: Any, world: World) -> Trips:
    return read_points(table, world, **point_options(source))


def point_options(source: Source) -> dict[str, Any]:
    """Return how points become trips, as the reader of points takes it."""
    return {
        "split": Split(gap_seconds=source.split_gap, metres=source.split_metres),
        "rules": point_rules(source.rules),
        **{name: getattr(source, name) for name in ("order", "repeated", "no_fix", "riders", "radius")},
    }


def point_rules(given: Mapping[str, Any]) -> PointRules:
    """Make the rules of points; `study` takes those of the DP-Loc study first."""
    said = {name: None if str(value).lower() == "none" else value for name, value in given.items()}
    start = PointRules.study() if said.pop("study", False) else PointRules()
    if "holidays" in said:
        days = said["holidays"]
        listed = days if isinstance(days, list | tuple) else str(days).split(",")
        said["holidays"] = tuple(_day(day) for day in listed)
    try:
        return PointRules(**{**start.model_dump(exclude_unset=True), **said})
    except ValidationError as error:
        first = error.errors()[0]
        raise ParameterError(f"rules.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _day(text: Any) -> date:
    try:
        return text if isinstance(text, date) else date.fromisoformat(str(text).strip())
    except ValueError as error:
        raise ParameterError(f"{text!r} is not a date; write YYYY-MM-DD") from error


def named_columns(columns: str | Mapping[str, str] | Sequence[str] | None) -> dict[str, str]:
    """Columns that are named one by one, ours to theirs."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise ParameterError("columns of trips are named one by one, ours = theirs")
    return our_columns(columns, WORDS)


def _within(trips: Trips, days: Days | None, file: Path | str) -> Trips:
    """The trips that begin on these days: which they are is a rule per trip, for which units of visits pay."""
    if days is None:
        return trips
    return replace(trips.take(_inside(trips, days, file)), history=trips.history.then(PER_TRIP))


def _inside(trips: Trips, days: Days, file: Path | str) -> NDArray[np.bool_]:
    if trips.time is None:
        raise InputError(
            "has no times, so that nobody can hold its rows against their days", file=file, tells=LAYOUT
        )
    first, last = ((each - _EPOCH).days for each in (days.first, days.last))
    begins = trips.time[trips.offsets[:-1]] // DAY
    return np.asarray((begins >= first) & (begins <= last))


def require_days(plan: Plan, world: World, file: Place, days: Days) -> None:
    """Refuse a file with rows of other days than these, unless the plan drops such rows."""
    if plan.source.outside == "drop":
        return
    if _are_taps(plan, [file]):
        _require_days_of_taps(plan, file, days)
        return
    trips = open_rows(plan, world, [file]).rows
    assert isinstance(trips, Trips)  # or the engine was refused
    outside = np.flatnonzero(~_inside(trips, days, file))
    if len(outside):
        assert trips.time is not None
        day = np.datetime64(int(trips.time[trips.offsets[outside[0]]] // DAY), "D")
        raise InputError(
            _OTHER_DAYS.format(what="has a trip", day=day, days=days, many=len(outside)),
            file=file,
            tells=OTHER_DAYS,
        )


# --- taps


def _read_taps(plan: Plan, world: World, files: Sequence[Place], days: Days | None) -> CleanTaps:
    """Read the clean taps of some files together, of some days."""
    period = None if days is None else (days.first, days.last)
    table = _table(plan.source, files, world)
    return read_taps(table, world, _layout(plan, table), period=period)


def _require_days_of_taps(plan: Plan, file: Place, days: Days) -> None:
    """Refuse taps of other days. Reads times only."""
    for place in expand_places([file]):
        table = _table(plan.source, [place])
        layout = _layout(plan, table)
        times = {
            our: their for our, their in layout.columns().items() if our in ("event_time", "service_date")
        }
        read, _ = read_marked_table(table, times, ("event_time",), ("service_date",))
        moments = read_moments(read, layout)
        day = moments.wall // DAY
        first, last = ((each - _EPOCH).days for each in (days.first, days.last))
        outside = np.flatnonzero(~moments.unreadable & ~moments.other_form & ((day < first) | (day > last)))
        if len(outside):
            row = int(outside[0])
            seen = np.datetime64(int(day[row]), "D")
            said = _OTHER_DAYS.format(what="is", day=seen, days=days, many=len(outside))
            raise InputError(said, file=place, row=row + 1, tells=OTHER_DAYS)


def _layout(plan: Plan, table: SourceTable) -> ColumnMap:
    """Return the layout of taps: columns under our names where they were mapped, or a known layout."""
    given: Any = plan.source.columns
    if table.reading.columns:
        given = {name: name for name in COLUMNS if name in table.columns}
    elif isinstance(given, str) and given.endswith(".toml"):
        given = plan.beside(given)
    found = column_map(given, table.columns, table.name)
    if plan.source.opt_out is not None and plan.source.opt_out not in table.columns:
        raise InputError(
            f"has no column {plan.source.opt_out!r} with wishes not to be counted. Nothing was spent",
            file=table.name,
            tells=LAYOUT,
        )
    said = {
        "zone": plan.source.zone,
        "opt_out": plan.source.opt_out,
        "boardings": plan.source.boardings or None,
    }
    stated = {name: value for name, value in said.items() if value is not None}
    return found.changed(**stated)
