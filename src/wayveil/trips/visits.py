"""Trips in long form, one row per visit: trip_id, seq, stop_id, event_time, rider_id (parquet or csv).

`seq` orders the visits of a trip (without it the order of the file does); `event_time` and `rider_id` are
optional, and a rider may be missing from single trips. Rows are counted from 1, the first row of data.
"""

import gzip
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import InputError, ParameterError
from wayveil.progress import meter, step
from wayveil.trips.findings import Findings
from wayveil.trips.identity import name_trips
from wayveil.trips.matching import OnUnknown, Repeats, assemble, check_options, match_stops, universe_of
from wayveil.trips.ordering import VisitOrder, runs_of
from wayveil.trips.tables import (
    TABLE_SUFFIXES,
    distinct_values,
    read_table,
    replacing,
    replacing_folder,
    table_suffix,
)
from wayveil.trips.times import Form, read_times
from wayveil.trips.trips import Trips
from wayveil.world.world import World

REQUIRED = ("trip_id", "stop_id")
OPTIONAL = ("seq", "event_time", "rider_id")

# 99:59:59 is the last clock time that GTFS can write; later seconds are dates.
_CLOCK_END = 100 * 3_600


def read_visits(
    path: str | Path,
    world: World | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    universe_from_data: bool = False,
    on_unknown: OnUnknown = "error",
    repeats: Repeats = "keep",
    findings: Findings | None = None,
) -> Trips:
    """Read trips over a world; they keep the order in which the file first names them.

    `columns` maps the file's names to ours. A trip with a stop that the world lacks is an error or is dropped
    (`on_unknown`); consecutive visits to one stop are kept or merged (`repeats`): both are rules per trip and
    cost no privacy. A universe taken from the trips themselves (`universe_from_data`) is for experiments only: it
    marks everything made from it as not private. With `findings`, problems of rows are collected there instead of
    raised.
    """
    path = Path(path)
    check_options(world, universe_from_data, on_unknown, repeats)
    findings = Findings(path, strict=True) if findings is None else findings
    table = read_table(path, columns, REQUIRED, OPTIONAL)
    with step("Ordering visits"):
        trips = trips_of_table(table, world, findings, on_unknown)
    return trips.merged() if repeats == "merge" else trips


def trips_of_table(
    table: pl.DataFrame,
    world: World | None,
    findings: Findings,
    on_unknown: OnUnknown = "error",
    form: Form | None = None,
) -> Trips:
    """The trips of a table of visits under our names, or of a piece of one that holds whole trips.

    `form` is how the table writes its times, where a piece cannot tell by itself.
    """
    order = VisitOrder(table, findings)
    distinct, code = distinct_values(_as_codes(table["stop_id"]))
    world = universe_of(distinct) if world is None else world
    location = match_stops(distinct, code, world, findings, report_unknown=on_unknown == "error")
    time = _times(table, order, findings, form)
    rider, whose = _riders(table, order, findings)
    name = name_trips(whose, table["trip_id"].gather(order.first_rows()))
    return assemble(order.sorted(location), order.offsets, world, time, rider, name)


def write_visits(trips: Trips, path: str | Path, *, riders: bool = False, first_trip: int = 1) -> None:
    """Write one row per visit to .parquet, .csv or .csv.gz, the whole file or nothing.

    Trips are numbered from `first_trip` and visits from 1; a trip without visits leaves no row. Times are moments
    (undated ones on 1970-01-01; in csv they are clock times). Rider ids link the trips of a person, so they are
    written only if asked for.
    """
    path = Path(path)
    if table_suffix(path) not in TABLE_SUFFIXES:
        raise ParameterError(f"cannot tell the format of {path}: end its name in .parquet, .csv or .csv.gz")
    if riders and trips.rider is None:
        raise ParameterError("these trips have no rider ids to write")
    with step(f"Writing {path.name}"), replacing(path) as draft:
        rows = _rows(trips, riders, first_trip)
        if table_suffix(path) == ".parquet":
            rows.sink_parquet(draft)
            return
        separator = "\t" if table_suffix(path) == ".tsv" else ","
        rows = rows if trips.time is None else rows.with_columns(event_time=_time_text(trips.time))
        rows.sink_csv(draft, separator=separator)
        if path.suffix.lower() == ".gz":
            _pack(draft)


def write_joined(pieces: Iterable[Trips], path: Path, total: int) -> None:
    """Write trips that come in pieces as one Parquet file, numbered through, without holding them all."""
    parts = path.with_name(f".{path.stem}-parts")
    try:
        write_parts(pieces, parts, total=total)
        pl.scan_parquet(parts / "*.parquet").sink_parquet(path)
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def write_parts(
    parts: Iterable[Trips], folder: str | Path, *, riders: bool = False, total: int | None = None
) -> dict[str, int]:
    """Write trips that come in parts as Parquet files of one folder, which appears whole or not at all.

    Trips are numbered through. Returns how many trips and visits there were.
    """
    folder = Path(folder)
    if folder.exists():
        raise InputError("already exists; parts are written into a folder of their own", file=folder)
    written = {"trips": 0, "visits": 0, "parts": 0}
    with replacing_folder(folder) as draft, meter("Writing trips", total or 0, "trips") as advance:
        for number, part in enumerate(parts):
            path = draft / f"part-{number:06}.parquet"
            write_visits(part, path, riders=riders, first_trip=written["trips"] + 1)
            written["trips"] += len(part)
            written["visits"] += part.visits
            written["parts"] += 1
            advance(len(part))
    return written


def _as_codes(column: pl.Series) -> pl.Series:
    """A column of ids as categories, whatever type the file gave them; an empty id counts as missing."""
    if column.dtype != pl.Categorical:
        column = column.cast(pl.String).cast(pl.Categorical)
    empty = column == ""
    return (
        column if not empty.any() else column.to_frame().select(pl.when(~empty).then(pl.first())).to_series()
    )


def _times(
    table: pl.DataFrame, order: VisitOrder, findings: Findings, form: Form | None = None
) -> NDArray[np.int64] | None:
    if "event_time" not in table.columns:
        return None
    if form is None and table["event_time"].null_count() == table.height:
        return None
    column = table["event_time"]
    times = replace(read_times(column), given=form)
    wrong = times.wrong_rows()
    findings.rows("visits without a usable event_time", wrong, lambda row: times.say(row, column[row]))
    time = times.seconds(order.sorted, order.offsets)
    usable = np.ones(len(time), bool)
    usable[wrong] = False
    usable = order.sorted(usable)
    earlier = order.within_trips((time[1:] < time[:-1]) & usable[1:] & usable[:-1])
    findings.rows(
        "visits earlier than the visit before",
        order.rows_where(earlier),
        lambda row: (
            f"event_time {str(column[row])!r} is earlier than the visit before it "
            f"in trip {str(table['trip_id'][row])!r}"
        ),
    )
    return time


def _riders(
    table: pl.DataFrame, order: VisitOrder, findings: Findings
) -> tuple[NDArray[np.int64] | None, pl.Series | None]:
    """One code per trip, counted in the order in which the file names the riders; and the riders' ids as text."""
    if "rider_id" not in table.columns:
        return None, None
    distinct, code = _distinct_ids(table["rider_id"])
    visit = order.sorted(code)
    nobody = np.int32(len(code))
    rider = np.minimum.reduceat(np.where(visit < 0, nobody, visit), order.offsets[:-1])
    other = (visit >= 0) & (visit != np.repeat(rider, np.diff(order.offsets)))
    findings.rows(
        "visits by another rider than the rest of the trip",
        order.rows_where(other),
        lambda row: f"trip {str(table['trip_id'][row])!r} belongs to more than one rider",
    )
    known = np.where(rider == nobody, -1, rider).astype(np.int64)
    return known, distinct.gather(pl.Series(known).replace(-1, None))


def _distinct_ids(column: pl.Series) -> tuple[pl.Series, NDArray[np.int32]]:
    """The distinct ids as text and, per row, the position of its id (-1 for none).

    Whole numbers become text once for each distinct one, not once a row.
    """
    if not column.dtype.is_integer() or column.null_count():
        return distinct_values(_as_codes(column))
    run, length = runs_of(column)
    starts = np.cumsum(length) - length
    distinct = np.empty(int(run.max(initial=-1)) + 1, np.int64)
    distinct[run] = starts
    return column.gather(distinct).cast(pl.String), np.repeat(run, length).astype(np.int32)


def _rows(trips: Trips, riders: bool, first_trip: int) -> pl.LazyFrame:
    """The visits as a lazy frame, so that text is made a piece at a time while the file is written."""
    stop = pl.col("stop_id").replace_strict(
        np.arange(trips.world.size, dtype=np.int32), trips.world.ids.tolist(), return_dtype=pl.String
    )
    columns: dict[str, NDArray[np.generic]] = {
        "trip_id": np.repeat(np.arange(len(trips), dtype=np.int32), trips.lengths),
        "seq": (np.arange(trips.visits) - np.repeat(trips.offsets[:-1], trips.lengths) + 1).astype(np.int32),
        "stop_id": trips.location,
    }
    expressions = [
        pl.col("trip_id").cast(pl.Int64) + first_trip,
        pl.col("seq"),
        stop,
    ]
    if trips.time is not None:
        columns["event_time"] = trips.time
        expressions.append(pl.from_epoch("event_time", time_unit="s").cast(pl.Datetime("us")))
    if riders and trips.rider is not None:
        columns["rider_id"] = np.repeat(trips.rider, trips.lengths)
        expressions.append(pl.when(pl.col("rider_id") >= 0).then("rider_id"))
    return pl.LazyFrame(columns).select(expressions)


def _time_text(time: NDArray[np.int64]) -> pl.Expr:
    moment = pl.col("event_time")
    if len(time) == 0 or time.min() < 0 or time.max() >= _CLOCK_END:
        return moment.dt.strftime("%Y-%m-%dT%H:%M:%S")
    second = moment.dt.epoch("s")
    parts = (second // 3_600, second // 60 % 60, second % 60)
    return pl.concat_str([part.cast(pl.String).str.zfill(2) for part in parts], separator=":")


def _pack(draft: Path) -> None:
    packed = draft.with_name(f"{draft.name}.gz")
    try:
        with draft.open("rb") as plain, gzip.open(packed, "wb", compresslevel=6) as out:
            shutil.copyfileobj(plain, out)
        packed.replace(draft)
    finally:
        packed.unlink(missing_ok=True)
