"""The audits at the front door: every mechanism with every unit, and mistakes of readers made on purpose."""

from collections.abc import Callable, Iterator, Sequence
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
from wayveil.lab.audits.door_files import ANY_MOVE, PairWriter, every_unit
from wayveil.lab.audits.door_variants import EPSILON, SOUND, VARIANTS, VISITS, DoorVariant, changed_reading
from wayveil.lab.audits.door_weights import SOUND_WEIGHTS, WEIGHT_VARIANTS
from wayveil.lab.audits.grey_box import Examination
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.tiny_worlds import small_grid, small_network
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.plan import reading
from wayveil.privacy.bits import Bits
from wayveil.privacy.units import Event, Rider, Trip, Unit
from wayveil.trips import tables
from wayveil.trips.history import AS_READ, MARKS_NAME, PER_TRIP, marks_of
from wayveil.trips.ids import NO_ID
from wayveil.trips.points import Split, read_points
from wayveil.trips.trips import Trips
from wayveil.world.world import World

DAY = "2024-03-04"
GAP = 1200
# Taken for a blank by polars, and for a letter by DuckDB and Java.
NO_BREAK = "\u00a0"
Row = tuple[Any, ...]


def pair_of_tables(
    writer: PairWriter,
    name: str,
    unit: Unit,
    columns: Sequence[str],
    content: tuple[list[Row], list[Row]],
    *,
    world: World | None = None,
    **said: Any,
) -> FilePair:
    """Two csv files: of some rows, and of these with new ones at the end."""
    files = writer.new_files("rows.csv")
    others, new = content
    for path, table in zip(files, (others, [*others, *new]), strict=True):
        pl.DataFrame(table, schema=list(columns), orient="row", infer_schema_length=None).write_csv(path)
    rule = None if "rows" in said else ANY_MOVE
    return FilePair(name, *files, writer.world if world is None else world, unit, rule, said)


def _clock(minute: float) -> str:
    second = round(60 * minute)
    return f"{DAY}T{8 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def leg_more(writer: PairWriter) -> FilePair:
    """A ride with one transfer among other rides."""
    stops = writer.world.ids
    rides = [(f"t{i}", stops[place], _clock(i)) for i in range(12) for place in (0, 3)]
    new = [("new", stops[place], _clock(5 * at)) for at, place in enumerate((0, 3, 5))]
    return pair_of_tables(
        writer, "one ride more", Trip(), ("trip_id", "stop_id", "event_time"), (rides, new), rows="legs"
    )


def pair_more(writer: PairWriter) -> FilePair:
    """A rider with ten rows of origin and destination."""
    stops = writer.world.ids
    columns = ("origin", "destination", "start", "end", "rider_id")
    others = [(stops[0], stops[2], _clock(i), _clock(i + 20), f"r{i}") for i in range(12)]
    new = [(stops[1], stops[4], _clock(i), _clock(i + 20), "new") for i in range(10)]
    return pair_of_tables(
        writer, "a rider with ten rows", Rider(max_trips=2), columns, (others, new), rows="pairs"
    )


def card_more(writer: PairWriter) -> FilePair:
    """A card with thirty taps of a day."""
    stops = writer.world.ids
    columns = ("event_time", "stop_id", "card_id")
    others = [(_clock(i), stops[i % 3], f"c{i // 2}") for i in range(30)]
    new = [(_clock(100 + i), stops[i % 5], "new") for i in range(30)]
    return pair_of_tables(
        writer, "a card more", Rider(max_trips=1), columns, (others, new), rows="taps", way="cards"
    )


# --- GPS points


def _points(trip: str, first: float, cells: Sequence[int], every: float = 2) -> list[Row]:
    """A point in the middle of each cell of the small grid (two rows of three)."""
    return [
        ("taxi", trip, _clock(first + every * i), 0.005 + 0.01 * (cell // 3), 0.005 + 0.01 * (cell % 3))
        for i, cell in enumerate(cells)
    ]


def _drives(
    writer: PairWriter, name: str, unit: Unit, points: tuple[list[Row], list[Row]], **said: Any
) -> FilePair:
    """Points over the small grid; without `tid` where they are split."""
    named = "split_gap" not in said
    columns = ("uid", "tid" if named else "drive", "datetime", "lat", "lng")
    return pair_of_tables(
        writer,
        name,
        unit,
        columns,
        points,
        world=small_grid(),
        rows="points",
        order="time",
        riders="none",
        **said,
    )


def trip_of_points_more(writer: PairWriter) -> FilePair:
    """A drive more, which `tid` names."""
    others = [point for trip in range(8) for point in _points(f"t{trip}", trip, (0, 1, 2))]
    return _drives(writer, "one drive more", Trip(), (others, _points("new", 30, (3, 4, 5, 4, 3))))


def point_too_fast(writer: PairWriter) -> FilePair:
    """One point more in a long drive, which is too fast and so drops all of it."""
    others = [point for trip in range(8) for point in _points(f"t{trip}", trip, (0, 1, 2))]
    others += _points("long", 0, [0, 1, 2, 5, 4, 3] * 4)
    return _drives(writer, "one point more", Event(), (others, _points("long", 10.05, (5,))))


def drive_between_two(writer: PairWriter) -> FilePair:
    """A drive between two others of one vehicle, with pauses that no longer part them."""
    apart = GAP / 60 + 10
    ways = ((0, 1, 2), (3, 4)) * 6
    others = [point for at, way in enumerate(ways, 2) for point in _points("-", 2 * apart * at, way)]
    others += _points("-", 0, (3, 4)) + _points("-", apart, (0, 1, 2))
    new = _points("-", apart / 2, (5, 4, 3))
    kept = {"longer": "keep", "fill": False}
    return _drives(writer, "a drive between two others", Trip(), (others, new), split_gap=GAP, rules=kept)


# --- ids and marks


def visit_without_id(writer: PairWriter) -> FilePair:
    """One visit more, without the id that the others of its trip have."""
    stops = writer.world.ids
    columns = ("trip_id", "stop_id", "event_time", "rider_id")
    others = [(f"t{i}", stops[place], _clock(10 * place), f"r{i}") for i in range(12) for place in (0, 1, 2)]
    return pair_of_tables(
        writer, "one visit without id", Event(), columns, (others, [("t11", stops[3], _clock(50), None)])
    )


def trip_with_a_mark(writer: PairWriter) -> FilePair:
    """A trip more, which says of itself that it is simulated."""
    stops = writer.world.ids
    columns = ("trip_id", "stop_id", "event_time", MARKS_NAME)
    others = [(f"t{i}", stops[place], _clock(10 * place), None) for i in range(12) for place in (0, 1, 2)]
    new = [("new", stops[place], _clock(10 * place), "simulated") for place in (0, 1)]
    return pair_of_tables(writer, "one simulated trip", Trip(), columns, (others, new), rows="calls")


def rider_with_blanks(writer: PairWriter, **said: Any) -> FilePair:
    """A rider with twenty trips, whose id is a blank in half of the rows."""
    stops = writer.world.ids
    columns = ("trip_id", "stop_id", "event_time", "rider_id")
    others = [
        (f"t{i:02d}", stops[place], _clock(10 * place), f"r{i}") for i in range(12) for place in (0, 1, 2)
    ]
    # A letter behind the no-break space, which is then the smallest "id" of a trip, and behind the ids of all others.
    new = [
        (f"u{i:02d}", stops[place], _clock(10 * place), NO_BREAK if place == 1 and i % 2 else "\u00fc")
        for i in range(20)
        for place in (0, 1, 2)
    ]
    return pair_of_tables(
        writer, "a rider with blanks", Rider(max_trips=2), columns, (others, new), rows="calls", **said
    )


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


# Stands in the place of a mechanism: what is attacked is `release` itself.
RELEASE = "release"
CHANCES = 6


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
            for _ in range(CHANCES):  # which trips of a rider are counted is left to chance
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
