"""Trips in long form, one row per visit: trip_id, seq, stop_id, event_time, rider_id (parquet, csv, or a frame).

`seq` orders the visits of a trip (without it the order of the file does); `event_time` and `rider_id` are
optional, and a rider may be missing from single trips. Rows are counted from 1, the first row of data.
scikit-mobility's names are understood: `uid`, `tid` (counted anew for every uid) and `datetime`.
"""

import gzip
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.files import whole_file, whole_folder
from wayveil.progress import meter, step
from wayveil.sources.categories import distinct_values
from wayveil.sources.column_names import SCIKIT_MOBILITY, our_columns
from wayveil.sources.formats import format_of
from wayveil.sources.frames import Source, source_name
from wayveil.trips.findings import Findings
from wayveil.trips.history import MARKS_NAME, PER_TRIP, History, marks_text
from wayveil.trips.identity import name_trips
from wayveil.trips.ids import coded_ids
from wayveil.trips.matching import (
    OnUnknown,
    Repeats,
    assemble,
    check_options,
    match_stops,
    reading_history,
    universe_of,
)
from wayveil.trips.tables import (
    TABLE_SUFFIXES,
    read_marked_table,
    require_file,
    rules_history,
    table_header,
)
from wayveil.trips.times import Form, impossible_years, read_times, say_year
from wayveil.trips.trips import Trips
from wayveil.trips.visit_order import VisitOrder, runs_of
from wayveil.world.world import World

REQUIRED = ("trip_id", "stop_id")
OPTIONAL = ("seq", "event_time", "rider_id")

# 99:59:59 is the last clock time that GTFS can write; later seconds are dates.
_CLOCK_END = 100 * 3_600


def read_visits(
    source: Source,
    world: World | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    universe_from_data: bool = False,
    on_unknown: OnUnknown = "error",
    repeats: Repeats = "keep",
    findings: Findings | None = None,
) -> Trips:
    """Read trips over a world from a file or a frame; they keep the order in which it first names them.

    `columns` maps our names to the file's. A trip with a stop that the world lacks is an error or is dropped
    (`on_unknown`); consecutive visits to one stop are kept or merged (`repeats`): both are rules per trip, which
    the trips remember (`Trips.history`), because units of visits have to pay for them. A universe taken from the
    trips themselves (`universe_from_data`) is for experiments only: it marks everything made from it as not private.
    With `findings`, problems of rows are collected there instead of raised.
    """
    name = source_name(source)
    check_options(world, universe_from_data, on_unknown, repeats)
    findings = Findings(name, strict=True) if findings is None else findings
    if isinstance(name, Path):
        require_file(name)
    columns = column_map(name, table_header(source), columns)
    table, marks = read_marked_table(source, columns, REQUIRED, OPTIONAL)
    if columns.get("trip_id") == "tid" and "rider_id" in table.columns:
        table = table.with_columns(trip_id=_trips_of_each_rider(table))
    history = rules_history(source, reading_history(on_unknown, repeats, marks))
    with step("Ordering visits"):
        trips = trips_of_table(table, world, findings, history, on_unknown)
    return trips.merged() if repeats == "merge" else trips


def trips_of_table(
    table: pl.DataFrame,
    world: World | None,
    findings: Findings,
    history: History,
    on_unknown: OnUnknown = "error",
    form: Form | None = None,
) -> Trips:
    """The trips of a table of visits under our names, or of a piece of one that holds whole trips.

    `history` is what reading does to them, and `form` how the table writes its times, where a piece cannot tell by
    itself.
    """
    order = VisitOrder(table, findings)
    distinct, code = distinct_values(_coded_stops(table["stop_id"]))
    world = universe_of(distinct) if world is None else world
    location = match_stops(distinct, code, world, findings, report_unknown=on_unknown == "error")
    time, history = _times(table, order, findings, history, form)
    rider, ids, half_named = _riders(table, order, findings)
    whose = None if rider is None or ids is None else ids.gather(pl.Series(rider).replace(-1, None))
    name = name_trips(whose, table["trip_id"].gather(order.first_rows()))
    trips = assemble(order.sorted(location), order.offsets, world, history, time, rider, name)
    return replace(trips, rider_ids=ids, history=replace(history, half_named=half_named))


def write_visits(trips: Trips, path: str | Path, *, riders: bool = False, first_trip: int = 1) -> None:
    """Write one row per visit to .parquet, .csv or .csv.gz, the whole file or nothing.

    Trips are numbered from `first_trip` and visits from 1; a trip without visits leaves no row. Times are moments
    (undated ones on 1970-01-01; in csv they are clock times). Rider ids link the trips of a person, so they are
    written only if asked for. Marks are written as a column and, in parquet, as metadata.

    >>> wv.write_visits(trips, folder / "visits.csv")
    """
    path = Path(path)
    if format_of(path) not in TABLE_SUFFIXES:
        raise ParameterError(f"cannot tell the format of {path}: end its name in .parquet, .csv or .csv.gz")
    if riders and trips.rider is None:
        raise ParameterError("these trips have no rider ids to write")
    with step(f"Writing {path.name}"), whole_file(path) as draft:
        rows = trips.visit_rows(riders=riders, first_trip=first_trip)
        if format_of(path) == ".parquet":
            mark = marks_text(trips.history)
            rows.sink_parquet(draft, metadata=None if mark is None else {MARKS_NAME: mark})
            return
        separator = "\t" if format_of(path) == ".tsv" else ","
        rows = rows if trips.time is None else rows.with_columns(event_time=_time_text(trips.time))
        if path.suffix.lower() == ".gz":
            with gzip.open(draft, "wb", compresslevel=6) as out:
                rows.sink_csv(out, separator=separator)  # type: ignore[call-overload]
        else:
            rows.sink_csv(draft, separator=separator)


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
        raise InputError(
            "already exists; parts are written into a folder of their own", file=folder, tells=LAYOUT
        )
    written = {"trips": 0, "visits": 0, "parts": 0}
    with whole_folder(folder) as draft, meter("Writing trips", total or 0, "trips") as advance:
        for number, part in enumerate(parts):
            path = draft / f"part-{number:06}.parquet"
            write_visits(part, path, riders=riders, first_trip=written["trips"] + 1)
            written["trips"] += len(part)
            written["visits"] += part.visits
            written["parts"] += 1
            advance(len(part))
    return written


def column_map(name: Path | str, header: list[str], given: Mapping[str, str] | None) -> dict[str, str]:
    """Map ours to theirs as given, or, where ours are not there, as scikit-mobility calls them."""
    if given:
        return our_columns(given, (*REQUIRED, *OPTIONAL))
    wanted = {*REQUIRED, *OPTIONAL} - set(header)
    known = {our: their for their, our in SCIKIT_MOBILITY.items() if their in header and our in wanted}
    if "stop_id" not in header and {"lat"} & set(header) and {"lng", "lon"} & set(header):
        raise InputError(
            "has points (lat, lng) and no stop_id; visits need a location of the world in every row. Give points a "
            "stop_id first, or read them as points over a grid of cells or a network with coordinates",
            file=name,
            tells=LAYOUT,
        )
    return known


def _trips_of_each_rider(table: pl.DataFrame) -> pl.Series:
    """Rider and number as the id of a trip; none where there is no number. Other riders have no say in it."""
    rider = pl.col("rider_id").cast(pl.String).fill_null("")
    return table.select(pl.concat_str([rider, pl.col("trip_id").cast(pl.String)], separator=" ")).to_series()


def _coded_stops(column: pl.Series) -> pl.Series:
    """The stops as categories, whatever type the file gave them; an empty name counts as missing."""
    if column.dtype != pl.Categorical:
        column = column.cast(pl.String).cast(pl.Categorical)
    named = column.unique().drop_nulls().cast(pl.String)
    nowhere = named.filter(named.str.strip_chars() == "").to_list()
    if not nowhere:
        return column
    return column.to_frame().select(pl.when(~column.is_in(nowhere)).then(pl.first())).to_series()


def _times(
    table: pl.DataFrame, order: VisitOrder, findings: Findings, history: History, form: Form | None = None
) -> tuple[NDArray[np.int64] | None, History]:
    if "event_time" not in table.columns:
        return None, history
    if form is None and table["event_time"].null_count() == table.height:
        return None, history
    column = table["event_time"]
    times = replace(read_times(column), given=form)
    wrong = times.wrong_rows()
    findings.rows("visits without a usable event_time", wrong, lambda row: times.say(row, column[row]))
    impossible = impossible_years(times.wall)
    findings.rows("visits in an impossible year", impossible, lambda row: say_year(times.wall[row]))
    time = times.seconds(order.sorted, order.offsets)
    _check_order(table, order, findings, time, np.union1d(wrong, impossible))
    # With zones, the first visit of a trip sets the clock of all its visits.
    return time, history.then(PER_TRIP) if times.expected == Form.ZONED else history


def _check_order(
    table: pl.DataFrame,
    order: VisitOrder,
    findings: Findings,
    time: NDArray[np.int64],
    wrong: NDArray[np.int64],
) -> None:
    column = table["event_time"]
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


def _riders(
    table: pl.DataFrame, order: VisitOrder, findings: Findings
) -> tuple[NDArray[np.int64] | None, pl.Series | None, bool]:
    """One code per trip, counted in the order in which the file names the riders, the id behind each code, and whether
    a visit without id takes the rider of its trip: then one visit with an id names the rider of all.
    """
    if "rider_id" not in table.columns:
        return None, None, False
    ids, code = _distinct_ids(table["rider_id"])
    visit = order.sorted(code)
    nobody = np.int32(len(code))
    rider = np.minimum.reduceat(np.where(visit < 0, nobody, visit), order.offsets[:-1])
    whole = np.repeat(rider, np.diff(order.offsets))
    other = (visit >= 0) & (visit != whole)
    findings.rows(
        "visits by another rider than the rest of the trip",
        order.rows_where(other),
        lambda row: f"trip {str(table['trip_id'][row])!r} belongs to more than one rider",
    )
    half_named = bool(((visit < 0) & (whole != nobody)).any())
    return np.where(rider == nobody, -1, rider).astype(np.int64), ids, half_named


def _distinct_ids(column: pl.Series) -> tuple[pl.Series, NDArray[np.int32]]:
    """The distinct ids as text and, per row, the position of its id (-1 for none).

    Whole numbers become text once for each distinct one, not once a row.
    """
    if not column.dtype.is_integer() or column.null_count():
        return distinct_values(coded_ids(column))
    run, length = runs_of(column)
    starts = np.cumsum(length) - length
    distinct = np.empty(int(run.max(initial=-1)) + 1, np.int64)
    distinct[run] = starts
    return column.gather(distinct).cast(pl.String), np.repeat(run, length).astype(np.int32)


def _time_text(time: NDArray[np.int64]) -> pl.Expr:
    moment = pl.col("event_time")
    if len(time) == 0 or time.min() < 0 or time.max() >= _CLOCK_END:
        return moment.dt.strftime("%Y-%m-%dT%H:%M:%S")
    second = moment.dt.epoch("s")
    parts = (second // 3_600, second // 60 % 60, second % 60)
    return pl.concat_str([part.cast(pl.String).str.zfill(2) for part in parts], separator=":")
