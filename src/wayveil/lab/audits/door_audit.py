"""The audits at the front door: every mechanism with every unit, and mistakes of readers made on purpose."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import polars as pl

from wayveil.counting import file_pieces, spark_tables
from wayveil.counting.spark_session import SparkError, check_address
from wayveil.lab.audits.door import Door, FilePair, nothing_broken
from wayveil.lab.audits.door_files import (
    PairWriter,
    bad_tap_on_a_bus,
    card_more,
    drive_between_two,
    every_unit,
    leg_more,
    pair_more,
    point_too_fast,
    record_with_a_name,
    rider_with_blanks,
    riders_of_one_name,
    trip_of_points_more,
    trip_with_a_mark,
    visit_without_id,
)
from wayveil.lab.audits.door_variants import EPSILON, SOUND, VARIANTS, VISITS, DoorVariant, changed_reading
from wayveil.lab.audits.door_weights import SOUND_WEIGHTS, WEIGHT_VARIANTS
from wayveil.lab.audits.grey_box import Examination
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.plan import reading
from wayveil.privacy.bits import Bits
from wayveil.sources import bad_rows, formats, nested, opening
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
    """Take what one row says of itself for all of them."""

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


def _rules_by_trip() -> AbstractContextManager[Any]:
    """A bad tap drops all taps that name its trip, which is that of a vehicle."""
    return patch.object(opening, "apply_rules", lambda *given, of_trips: bad_rows.apply_rules(*given))


def _names_run_together() -> AbstractContextManager[Any]:
    """A trip is called by its name and its rider's, with a blank between."""

    def named(table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(trip_id=pl.concat_str("trip_id", "rider_id", separator=" "))

    return patch.object(bad_rows, "_of_each_rider", named)


def _names_of_any_record() -> AbstractContextManager[Any]:
    """A column is there for all records as soon as one of them names it."""
    return patch.object(formats, "read_nested", lambda path: (nested.read_nested(path)[0], None))


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
    DoorVariant("a bad tap that drops those of others", _rules_by_trip, bad_tap_on_a_bus, VISITS),
    DoorVariant("names that run together", _names_run_together, riders_of_one_name),
    DoorVariant("a column that one record brings", _names_of_any_record, record_with_a_name),
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
    DoorVariant("a bad tap", nothing_broken, bad_tap_on_a_bus, VISITS),
    DoorVariant("riders of one name", nothing_broken, riders_of_one_name),
    DoorVariant("a record with a name of its own", nothing_broken, record_with_a_name),
)
# Its mistake shows whichever trips are counted; a release on Spark takes longer than all the others together.
SOUND_ON_SPARK = (DoorVariant("blanks for ids, on Spark", nothing_broken, _by("spark"), chances=1),)


# Stands in the place of a mechanism: what is attacked is `release` itself.
RELEASE = "release"


def plan_at_the_door(plan: AuditPlan, settings: tuple[Mechanism, ...], bits: Bits) -> tuple[Examination, str]:
    """Release files of every unit with a mechanism; what was found, and in how many pairs."""
    findings, held, refused = Examination(), 0, []
    with _folder() as folder:
        pairs = every_unit(PairWriter(folder, plan.worlds[-1](), plan.busy))
        for mechanism in settings:
            door = Door(mechanism, plan.epsilon, folder)
            for pair in pairs:
                found = door.examine(pair, seed=int(bits.words(1)[0] >> 1))
                findings.loss = max(findings.loss, found.loss)
                findings.questions = max(findings.questions, found.questions)
                findings.problems += [
                    f"{pair.name}, unit {pair.unit.name}: {each}" for each in found.problems
                ]
                held += found.questions > 0
                refused += [pair.unit.name] if found.questions == 0 else []
    if held == 0:
        findings.problems.append("every pair of files was refused, so nothing was tried")
    said = f"{held} pairs of files" + (f", refused for {', '.join(sorted(set(refused)))}" if refused else "")
    return findings, said


def variant_at_the_door(name: str, bits: Bits) -> tuple[Examination, Fraction, str]:
    """One of the mistakes around a release, or one of the things that must hold as built; with claim and pair."""
    variant = door_variant(name)
    with _folder() as folder:
        pair = variant.pair(PairWriter(folder, small_network()))
        door = Door(variant.mechanism, EPSILON, folder, variant.gate)
        found = Examination()
        with variant.broken():
            for _ in range(variant.chances):
                found = door.examine(pair, seed=int(bits.words(1)[0] >> 1))
                if not found.ok:
                    break
        return found, EPSILON, pair.name


def sound_releases() -> tuple[DoorVariant, ...]:
    """List what must hold as built, for every kind of row; on Spark where it is installed."""
    return (*SOUND, *SOUND_ROWS, *SOUND_WEIGHTS, *(SOUND_ON_SPARK if spark_is_there() else ()))


def broken_releases() -> tuple[DoorVariant, ...]:
    """The mistakes, each of which must be caught."""
    return (*VARIANTS, *ROW_VARIANTS, *WEIGHT_VARIANTS, *(SPARK_VARIANTS if spark_is_there() else ()))


def spark_is_there() -> bool:
    """Tell whether files can be counted on Spark here."""
    try:
        check_address("local[2]")
    except SparkError:
        return False
    return True


def door_variant(name: str) -> DoorVariant:
    """A variant by its name."""
    return next(variant for variant in (*sound_releases(), *broken_releases()) if variant.name == name)


@contextmanager
def _folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="wayveil-audit-") as folder:
        yield Path(folder)
