"""Pairs of files that differ in one unit, as people bring them: visits in csv and parquet, taps in csv.

Each pair is chosen for one thing that can go wrong between a file and a count. What is new stands at the end of the
second file, so that chance falls alike for everybody else (see `recording`).
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from wayveil.lab.audits.door import FilePair
from wayveil.lab.audits.tiny_worlds import crowd, with_trips
from wayveil.privacy.units import Event, Rider, RiderDay, Trip, Unit
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.trips.visits import write_visits
from wayveil.world.world import World

ANY_MOVE = LegalityRule(repeats="keep", impossible="keep")
NOBODY = -1
TapRow = tuple[str | None, ...]


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

    def taps(self, name: str, rows: list[TapRow], new: TapRow) -> FilePair:
        """A file of taps, and one tap more: their times, stops and, where there are any, buses."""
        columns = ["event_time", "stop_id", "vehicle_id"][: len(new)]
        files = self.new_files("taps.csv")
        for path, content in zip(files, (rows, [*rows, new]), strict=True):
            table = pl.DataFrame(content, schema=columns, orient="row")
            table.write_csv(path)
        return FilePair(name, *files, self.world, Event(), said={"rows": "taps", "way": "counts"})

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
    rows: list[TapRow] = []
    new: list[TapRow] = []
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
    files = writer.new_files("trips.csv")
    for path, content in zip(files, (rows, rows + new), strict=True):
        pl.DataFrame(content, schema=dict.fromkeys(columns, pl.String), orient="row").write_csv(path)
    # Rows that are mended stay in trips of their own.
    rules = {kind: rule, **({} if rule == "drop" and kind != "duplicate" else {"two_riders": "split"})}
    said = {"rows": "pairs" if pairs else "calls", "bad_rows": rules}
    return FilePair(f"bad rows beside others: {kind}, {rule}", *files, writer.world, Rider(2), ANY_MOVE, said)


def rare_stop(writer: PairWriter) -> FilePair:
    """The fifth visitor of a stop."""
    free = len(writer.others)
    some = with_trips(writer.others, [[4]] * 4, list(range(free, free + 4)), day=2)
    return writer.trips("the fifth visitor of a stop", Event(), [[4]], others=some, rule=ANY_MOVE)


def two_forms_of_time(writer: PairWriter) -> FilePair:
    """Write as many local times as zoned ones, and one more."""
    first, second = writer.world.ids[0], writer.world.ids[1]
    rows: list[TapRow] = [(f"2024-03-04T08:{minute:02d}:00", first) for minute in range(20)]
    rows += [(f"2024-03-04T08:{minute:02d}:00+01:00", second) for minute in range(20)]
    return writer.taps(
        "one tap more, of a form that half the file has", rows, ("2024-03-04T09:30:00+01:00", second)
    )


def stops_to_fill(writer: PairWriter) -> FilePair:
    """Twenty taps on a bus without a stop, one long before with a stop, and one more among them with another."""
    rows: list[TapRow] = [("2024-03-04T06:00:00", writer.world.ids[0], "bus")]
    rows += [(f"2024-03-04T08:{minute:02d}:00", None, "bus") for minute in range(20)]
    new = ("2024-03-04T08:10:30", writer.world.ids[1], "bus")
    return writer.taps("one tap more, which tells where a bus was", rows, new)


def one_tap_more(writer: PairWriter) -> FilePair:
    """A file of taps and one more of them."""
    rows: list[TapRow] = [
        (f"2024-03-04T08:{minute:02d}:00", writer.world.ids[minute % 3]) for minute in range(30)
    ]
    return writer.taps("one tap more", rows, ("2024-03-04T09:30:00", writer.world.ids[4]))


MakePair = Callable[[PairWriter], FilePair]


def _on_day(time: np.ndarray | None, day: int) -> np.ndarray | None:
    return None if time is None else time + day * 86_400
