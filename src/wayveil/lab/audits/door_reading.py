"""Mistakes of readers, made on purpose: what reading did is forgotten, or follows from what is in the rows."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import polars as pl

from wayveil.counting import file_pieces, spark_tables
from wayveil.lab.audits.door import FilePair, nothing_broken
from wayveil.lab.audits.door_files import PairWriter
from wayveil.lab.audits.door_rows import (
    card_more,
    drive_between_two,
    leg_more,
    pair_more,
    point_too_fast,
    rider_with_blanks,
    trip_of_points_more,
    trip_with_a_mark,
    visit_without_id,
)
from wayveil.lab.audits.door_variants import VISITS, DoorVariant, changed_reading
from wayveil.plan import reading
from wayveil.trips import tables
from wayveil.trips.history import AS_READ, PER_TRIP, marks_of
from wayveil.trips.ids import NO_ID
from wayveil.trips.points import Split, read_points
from wayveil.trips.trips import Trips


def _points_as_visits() -> AbstractContextManager[Any]:
    """Points come as trips without a word of what was done to them."""

    def forgetful(*given: Any, **options: Any) -> Trips:
        return replace(read_points(*given, **options), history=AS_READ)

    return patch.object(reading, "read_points", forgetful)


def _splits_for_nothing() -> AbstractContextManager[Any]:
    """A trip that a split makes counts as one, whatever it joins or parts."""
    return patch.object(Split, "stability", lambda self, **facts: PER_TRIP)


def _priced_by_rows(trips: Trips) -> Trips:
    """A row without the id of its trip makes the noise larger."""
    return replace(trips, history=trips.history.then(PER_TRIP)) if trips.history.half_named else trips


def _any_mark() -> AbstractContextManager[Any]:
    """What one row says of itself holds for all of them."""

    def found(column: pl.Series) -> frozenset[str]:
        return marks_of(column.cast(pl.String).drop_nulls().unique().to_list())

    return patch.object(tables, "marks_in", found)


def _ids_of_duckdb() -> AbstractContextManager[Any]:
    """Rows are sorted by ids as DuckDB trims them."""
    nobody = ", ".join(f"'{word}'" for word in NO_ID)

    def trimmed(column: str, **kind: bool) -> str:
        return f"CASE WHEN trim(CAST({column} AS VARCHAR), E' \\t\\n\\r') NOT IN ({nobody}) THEN {column} END"

    return patch.object(file_pieces, "duckdb_id", trimmed)


def _ids_of_java() -> AbstractContextManager[Any]:
    """Rows are sorted by ids as Java trims them."""

    def trimmed(column: str) -> Any:
        from pyspark.sql import functions as sql

        bare = sql.regexp_replace(column, r"^\s+|\s+$", "")
        return sql.when(~bare.isin(*NO_ID), sql.col(column))

    return patch.object(spark_tables, "spark_id", trimmed)


def _by(engine: str) -> Callable[[PairWriter], FilePair]:
    return lambda writer: rider_with_blanks(writer, engine=engine)


ROW_VARIANTS = (
    DoorVariant("points that are taken for visits", _points_as_visits, point_too_fast, VISITS),
    DoorVariant("a split that nobody pays for", _splits_for_nothing, drive_between_two),
    DoorVariant(
        "noise that follows from the rows", changed_reading(_priced_by_rows), visit_without_id, VISITS
    ),
    DoorVariant("one simulated row for all", _any_mark, trip_with_a_mark),
    DoorVariant("ids as DuckDB trims them", _ids_of_duckdb, _by("stream")),
)
# Slow: each release starts Spark.
SPARK_VARIANTS = (DoorVariant("ids as Java trims them", _ids_of_java, _by("spark")),)

SOUND_ROWS = (
    DoorVariant("legs", nothing_broken, leg_more),
    DoorVariant("pairs", nothing_broken, pair_more),
    DoorVariant("cards", nothing_broken, card_more, VISITS),
    DoorVariant("points of named trips", nothing_broken, trip_of_points_more),
    DoorVariant("a point too fast", nothing_broken, point_too_fast, VISITS),
    DoorVariant("points that a pause splits", nothing_broken, drive_between_two),
    DoorVariant("a visit without an id", nothing_broken, visit_without_id, VISITS),
    DoorVariant("a trip with a mark", nothing_broken, trip_with_a_mark),
    DoorVariant("blanks for ids, in memory", nothing_broken, rider_with_blanks),
    DoorVariant("blanks for ids, in pieces", nothing_broken, _by("stream")),
)
SOUND_ON_SPARK = (DoorVariant("blanks for ids, on Spark", nothing_broken, _by("spark")),)
