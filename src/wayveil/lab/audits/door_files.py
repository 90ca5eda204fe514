"""Pairs of files that differ in one unit, as people bring them: visits, legs, pairs, taps, GPS points, records.

Each pair is chosen for one thing that can go wrong between a file and a count: one row more, one point, one trip
between two others, one rider, as the unit's neighbours do. What is new stands at the end of the second file, so that
chance falls alike for everybody else (see `recording`).
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from wayveil.lab.audits.door import FilePair
from wayveil.lab.audits.tiny_worlds import crowd, small_grid, with_trips
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Unit
from wayveil.trips.history import MARKS_NAME
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.trips.visits import write_visits
from wayveil.world.world import World

ANY_MOVE = LegalityRule(repeats="keep", impossible="keep")
NOBODY = -1
DAY = "2024-03-04"
GAP = 1200
# Taken for a blank by polars, and for a letter by DuckDB and Java.
NO_BREAK = "\u00a0"
Row = tuple[Any, ...]


class PairWriter:
    """Writes pairs into folders of their own, csv and parquet in turn."""

    def __init__(self, folder: Path, world: World, busy: int = 12) -> None:
        self.folder, self.world = folder, world
        # Everybody travels on the third day, so that somebody can come before them.
        others = crowd(world, busy)
        self.others = Trips(others.location, others.offsets, world, _on_day(others.time, 2), others.rider)
        self._made = 0

    def trips(
        self,
        name: str,
        unit: Unit,
        new: list[list[int]],
        rider: int | None = None,
        *,
        day: int = 2,
        earlier: int = 0,
        others: Trips | None = None,
        rule: LegalityRule | None = None,
    ) -> FilePair:
        """The others, and new trips of one rider (None: a rider who was not there), `earlier` seconds than eight."""
        base = self.others if others is None else others
        free = 1 + int(np.max(base.rider, initial=-1)) if base.rider is not None else 0
        riders = [free if rider is None else rider] * len(new)
        more = with_trips(base, new, riders, day=day)
        if earlier and more.time is not None:
            more.time[base.visits :] -= earlier
        return self._pair(name, unit, base, more, rule)

    def visits(self, name: str, unit: Unit, places: list[int], rule: LegalityRule | None = None) -> FilePair:
        """The others, the last of whom makes a few visits more in the middle of a long trip."""
        long = with_trips(self.others, [[0, 1, 2, 3, 4, 5] * 4], [len(self.others)], day=2)
        at = int(long.offsets[-2]) + 2
        if long.time is None:
            raise ValueError("visits have times")
        offsets = long.offsets.copy()
        offsets[-1] += len(places)
        more = Trips(
            np.insert(long.location, at, places),
            offsets,
            self.world,
            np.insert(long.time, at, [long.time[at]] * len(places)),
            long.rider,
        )
        return self._pair(name, unit, long, more, rule)

    def taps(self, name: str, rows: list[Row], new: Row) -> FilePair:
        """A file of taps, and one tap more: their times, stops and, where there are any, buses."""
        columns = ["event_time", "stop_id", "vehicle_id"][: len(new)]
        return pair_of_tables(self, name, Event(), columns, (rows, [new]), rows="taps", way="counts")

    def _pair(
        self, name: str, unit: Unit, without: Trips, within: Trips, rule: LegalityRule | None
    ) -> FilePair:
        files = self.new_files("visits.csv" if self._made % 2 else "visits.parquet")
        for path, trips in zip(files, (without, within), strict=True):
            write_visits(trips, path, riders=True)
        return FilePair(name, *files, self.world, unit, rule=rule)

    def new_files(self, name: str) -> tuple[Path, Path]:
        """Two files of one name in folders of their own."""
        self._made += 1
        folders = [self.folder / f"{self._made}-{side}" for side in ("without", "within")]
        for folder in folders:
            folder.mkdir(parents=True)
        return folders[0] / name, folders[1] / name


def every_unit(writer: PairWriter) -> list[FilePair]:
    """At least one pair for every unit that the command line offers, each far beyond its bound."""
    ring = [visit % 6 for visit in range(40)]
    return [
        writer.trips("one more on the busy path", Trip(), [[0, 1, 2]]),
        writer.trips("a trip of forty visits", Trip(), [ring]),
        writer.trips("somebody long before the others", Trip(), [[3, 4, 5]], day=0, earlier=10_000),
        writer.trips("moves outside the network, and back", Trip(), [[0, 4, 1, 1, 5, 0]]),
        writer.trips("a rider with twenty trips", Rider(max_trips=2), [[0, 1, 2]] * 20),
        writer.trips("a rider with twenty long trips", Rider(max_trips=3), [ring] * 20),
        writer.trips(
            "twenty long trips that are weighed", Rider(max_trips=3, bounding="weights"), [ring] * 20
        ),
        writer.trips(
            "a day of twenty trips of the last rider",
            RiderDay(max_trips=2),
            [[0, 1, 2]] * 20,
            rider=len(writer.others) - 1,
            day=4,
        ),
        writer.visits("one visit more", Event(), [4], rule=ANY_MOVE),
        writer.visits("three visits more, one after the other", Points(length=3), [4, 0, 4], rule=ANY_MOVE),
    ]


def same_visits(writer: PairWriter) -> FilePair:
    """Somebody whose every visit happens at the place and time of a visit of somebody else."""
    lists = [[0], [1], [2], [3]]
    empty = Trips.of_lists([], writer.world, time=np.zeros(0, np.int64), rider=np.zeros(0, np.int64))
    others = with_trips(empty, lists, [0, 1, 2, 3], day=2)
    if others.time is None:
        raise ValueError("visits have times")
    spread = Trips(
        others.location, others.offsets, others.world, others.time + 300 * np.arange(4), others.rider
    )
    return writer.trips("the same visits as four others", Trip(), [[0, 1, 2, 3]], others=spread)


def many_without_id(writer: PairWriter) -> FilePair:
    """A person whose twenty trips carry no id, among others who have none either."""
    some = with_trips(writer.others, [[3, 4]] * 3, [NOBODY] * 3, day=2)
    return writer.trips(
        "twenty trips without an id", Rider(max_trips=2), [[0, 1, 2]] * 20, NOBODY, others=some
    )


def bad_rows_beside(writer: PairWriter, kind: str, rule: str) -> FilePair:
    """Write a rider whose rows are bad in a way and name the trips of thirty others, under a rule for such rows."""
    ids, at = [str(place) for place in writer.world.ids], "2024-03-06T08:{:02d}:{:02d}"
    pairs = kind in ("ends_early", "ends_long_before")
    columns = [
        "trip_id",
        "rider_id",
        *(("origin", "destination", "start", "end") if pairs else ("stop_id", "event_time")),
    ]
    rows: list[Row] = []
    new: list[Row] = []
    for trip in range(30):
        name, person, moments = f"t{trip}", f"p{trip}", [at.format(trip, place) for place in range(3)]
        if pairs:
            rows.append((name, person, ids[0], ids[2], moments[0], "2024-03-06T09:00:00"))
            early = "2024-03-06T01:00:00" if kind == "ends_long_before" else moments[0]
            new.append((name, "somebody", ids[0], ids[2], moments[1], early))
            continue
        rows += [(name, person, ids[place], moments[place]) for place in range(3)]
        bad = {
            "unknown_stop": (name, "somebody", "nowhere", moments[0]),
            "missing_end": (name, "somebody", None, moments[0]),
            "missing_time": (name, "somebody", ids[0], None),
            "impossible_year": (name, "somebody", ids[0], "1070-03-06T08:00:00"),
            "empty_id": (None, "somebody", ids[trip % 3], moments[0]),
        }
        new += [bad.get(kind, (name, "somebody", ids[0], moments[0]))] * (2 if kind == "duplicate" else 1)
    # Rows that are mended stay in trips of their own.
    rules = {kind: rule, **({} if rule == "drop" and kind != "duplicate" else {"two_riders": "split"})}
    said: Any = {"rows": "pairs" if pairs else "calls", "bad_rows": rules}
    name = f"bad rows beside others: {kind}, {rule}"
    return pair_of_tables(writer, name, Rider(2), columns, (rows, new), rule=ANY_MOVE, **said)


def rare_stop(writer: PairWriter) -> FilePair:
    """The fifth visitor of a stop."""
    free = len(writer.others)
    some = with_trips(writer.others, [[4]] * 4, list(range(free, free + 4)), day=2)
    return writer.trips("the fifth visitor of a stop", Event(), [[4]], others=some, rule=ANY_MOVE)


def two_forms_of_time(writer: PairWriter) -> FilePair:
    """Write as many local times as zoned ones, and one more."""
    first, second = writer.world.ids[0], writer.world.ids[1]
    rows: list[Row] = [(f"2024-03-04T08:{minute:02d}:00", first) for minute in range(20)]
    rows += [(f"2024-03-04T08:{minute:02d}:00+01:00", second) for minute in range(20)]
    return writer.taps(
        "one tap more, of a form that half the file has", rows, ("2024-03-04T09:30:00+01:00", second)
    )


def stops_to_fill(writer: PairWriter) -> FilePair:
    """Twenty taps on a bus without a stop, one long before with a stop, and one more among them with another."""
    rows: list[Row] = [("2024-03-04T06:00:00", writer.world.ids[0], "bus")]
    rows += [(f"2024-03-04T08:{minute:02d}:00", None, "bus") for minute in range(20)]
    new = ("2024-03-04T08:10:30", writer.world.ids[1], "bus")
    return writer.taps("one tap more, which tells where a bus was", rows, new)


def one_tap_more(writer: PairWriter) -> FilePair:
    """A file of taps and one more of them."""
    rows: list[Row] = [
        (f"2024-03-04T08:{minute:02d}:00", writer.world.ids[minute % 3]) for minute in range(30)
    ]
    return writer.taps("one tap more", rows, ("2024-03-04T09:30:00", writer.world.ids[4]))


def pair_of_tables(
    writer: PairWriter,
    name: str,
    unit: Unit,
    columns: Sequence[str],
    content: tuple[list[Row], list[Row]],
    *,
    world: World | None = None,
    rule: LegalityRule | None = None,
    **said: Any,
) -> FilePair:
    """Two csv files: of some rows, and of these with new ones at the end."""
    files = writer.new_files("rows.csv")
    others, new = content
    for path, table in zip(files, (others, [*others, *new]), strict=True):
        pl.DataFrame(table, schema=list(columns), orient="row", infer_schema_length=None).write_csv(path)
    rule = rule if "rows" in said else ANY_MOVE
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


MakePair = Callable[[PairWriter], FilePair]


def _on_day(time: np.ndarray | None, day: int) -> np.ndarray | None:
    return None if time is None else time + day * 86_400
