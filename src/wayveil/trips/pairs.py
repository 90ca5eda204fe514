"""Pairs: origin, destination and, where known, start, end, trip and rider in one row, read as trips of two visits.

Rows with the same trip_id are the legs of one journey, in the order of the file. Without trip_id each row is a trip.
A start without an end (a tap on, and no tap off) is the time of both visits: hours are those in which rides begin.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError
from wayveil.sources.frames import Source, source_name
from wayveil.sources.moments import of_one_form
from wayveil.trips.findings import Findings
from wayveil.trips.history import MARKS_NAME, History, marks_text
from wayveil.trips.tables import read_marked_table, rules_history
from wayveil.trips.trips import Trips
from wayveil.trips.visits import read_visits
from wayveil.world.world import World

REQUIRED = ("origin", "destination")
OPTIONAL = ("start", "end", "trip_id", "rider_id")


def read_pairs(
    source: Source,
    world: World | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    findings: Findings | None = None,
    **options: Any,
) -> Trips:
    """Trips of two visits each, or of more where rows share a trip_id; `options` are those of `read_visits`."""
    name = source_name(source)
    findings = Findings(name, strict=True) if findings is None else findings
    table, marks = read_marked_table(source, columns, REQUIRED, OPTIONAL)
    if "end" in table.columns and "start" not in table.columns:
        raise InputError(
            "has an end and no start; name the start (--map start=COLUMN), or omit the end",
            file=name,
            tells=LAYOUT,
        )
    findings.visits_per_row = 2
    visits = _as_visits(of_one_form(table))
    mark = marks_text(History(marks=marks))
    if mark is not None:
        visits = visits.with_columns(pl.lit(mark).alias(MARKS_NAME))
    trips = read_visits(visits, world, findings=findings, **options)
    return replace(trips, history=rules_history(source, trips.history))


def _as_visits(table: pl.DataFrame) -> pl.DataFrame:
    """Two rows for each: the origin at the start, then the destination at the end."""
    at = pl.int_range(table.height, eager=True)
    shared = {"trip_id": table["trip_id"] if "trip_id" in table.columns else at}
    if "rider_id" in table.columns:
        shared["rider_id"] = table["rider_id"]
    halves = []
    last = "end" if "end" in table.columns else "start"
    for number, (stop, moment) in enumerate((("origin", "start"), ("destination", last))):
        columns = {**shared, "stop_id": _text(table[stop]), "at": at * 2 + number}
        halves.append(
            pl.DataFrame(columns | ({"event_time": table[moment]} if moment in table.columns else {}))
        )
    return pl.concat(halves, how="vertical_relaxed").sort("at").drop("at")


def _text(column: pl.Series) -> pl.Series:
    return column if column.dtype == pl.Categorical else column.cast(pl.String).cast(pl.Categorical)
