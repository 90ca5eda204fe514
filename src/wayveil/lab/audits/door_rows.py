"""Pairs of files of every kind of row: legs, pairs, cards, GPS points, rows without an id, rows with a mark.

Each pair differs by one row, one point, one trip between two others or one rider, as the unit's neighbours do. Some are
read by an engine that never holds them.
"""

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from wayveil.lab.audits.door import FilePair
from wayveil.lab.audits.door_files import ANY_MOVE, PairWriter
from wayveil.lab.audits.tiny_worlds import small_grid
from wayveil.privacy.units import Event, Rider, Trip, Unit
from wayveil.trips.history import MARKS_NAME
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


# --- rules for bad rows, and records that name their own columns


def bad_tap_on_a_bus(writer: PairWriter) -> FilePair:
    """A tap at an unknown stop, on the run of a bus that others tapped on."""
    columns = ("event_time", "stop_id", "trip_id")
    others = [(_clock(i), writer.world.ids[i % 3], "run 7") for i in range(30)]
    said: Any = {"rows": "taps", "way": "counts", "bad_rows": {"unknown_stop": "drop"}}
    new = [(_clock(40), "nowhere", "run 7")]
    return pair_of_tables(writer, "a bad tap on a bus", Event(), columns, (others, new), **said)


def riders_of_one_name(writer: PairWriter) -> FilePair:
    """A rider whose trip and name, one after the other, read like those of somebody else."""
    columns = ("trip_id", "rider_id", "stop_id")
    others = [("1 2", f"{i}", stop) for i in range(12) for stop in writer.world.ids[:3]]
    new = [("1", "2 0", writer.world.ids[4])]
    said: Any = {"rows": "calls", "bad_rows": {"two_riders": "split"}}
    return pair_of_tables(writer, "riders of one name", Rider(2), columns, (others, new), **said)


def record_with_a_name(writer: PairWriter) -> FilePair:
    """A record that names its trip, where no other does."""
    files = writer.new_files("rides.jsonl")
    ride = {"from": str(writer.world.ids[0]), "to": str(writer.world.ids[2])}
    for path, more in zip(files, ([], [{**ride, "trip_id": "1"}]), strict=True):
        path.write_text("\n".join(json.dumps(each) for each in [*[ride] * 12, *more]))
    columns = {"origin": "from", "destination": "to"}
    said = {"rows": "pairs", "columns": columns, "bad_rows": {"empty_id": "drop"}}
    return FilePair("a record with a name of its own", *files, writer.world, Trip(), said=said)


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
