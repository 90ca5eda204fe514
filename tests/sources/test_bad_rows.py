"""Rules for bad rows: what each does, and that one row more moves what is read by no more than the rule states."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import wayveil.sources.bad_rows as rules_module
from wayveil.errors import InputError, ParameterError
from wayveil.plan.plan import Plan
from wayveil.plan.reading import files_of, open_rows
from wayveil.sources.bad_rows import RULES, apply_rules, changes_trips, needs_whole_table
from wayveil.sources.opening import open_table
from wayveil.sources.reading import Reading
from wayveil.trips.history import MERGED, UNMOVED
from wayveil.trips.read import read_trips
from wayveil.world.world import World

WORLD = World.of_symbols("abcd")
CHOICES = [(kind, rule) for kind, each in RULES.items() for rule in each.choices]
# What a cell may hold: good values more often than bad ones.
PLACES = ["a", "b", "c", "d", "a", "b", "z", None]
TIMES = [f"2026-05-01T{clock}:00" for clock in ("08:00", "08:02", "10:00", "10:30")]
TIMES += [None, "x", "1070-01-01T00:00:00"]


def some_rows(rng, rows, kind):
    def pick(values):
        return [values[int(i)] for i in rng.integers(0, len(values), rows)]

    shared = {"trip_id": pick(["1", "2", "3", "4", None]), "rider_id": pick(["p", "q", "r"])}
    if kind == "pairs":
        return pl.DataFrame(
            {
                **shared,
                "origin": pick(PLACES),
                "destination": pick(PLACES),
                "start": pick(TIMES),
                "end": pick(TIMES),
            }
        )
    return pl.DataFrame({**shared, "stop_id": pick(PLACES), "event_time": pick(TIMES)})


def trips_left(table, rules):
    """Trips of each rider after the rules, each with all of its rows."""
    left = apply_rules(table, rules, WORLD)
    found = Counter()
    for key, rows in left.with_columns(pl.all().cast(pl.String)).group_by(
        "trip_id", "rider_id", maintain_order=True
    ):
        parts = [tuple(row) for row in rows.rows()]
        found.update(
            {(key, tuple(parts)): 1} if key[0] is not None else Counter((key, (part,)) for part in parts)
        )
    return found


def moved(kind, rule, rows_kind, seeds=range(25)):
    """Trips of others that change when one row comes in, and whether trips of its own do."""
    others = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        table = some_rows(rng, 12, rows_kind)
        more = some_rows(rng, 1, rows_kind)
        at = int(rng.integers(0, 13))
        neighbour = pl.concat([table[:at], more, table[at:]])
        before, after = (trips_left(each, {kind: rule}) for each in (table, neighbour))
        changed = (before - after) + (after - before)
        owner, trip = more["rider_id"][0], more["trip_id"][0]
        names = {trip, f"{trip} {owner} {len(owner)}", None}
        others += sum(count for (key, _), count in changed.items() if key[1] != owner or key[0] not in names)
    return others


@pytest.mark.parametrize(("kind", "rule"), CHOICES)
@pytest.mark.parametrize("rows", ["pairs", "calls"])
def test_one_row_more_changes_no_trip_of_another_rider_and_no_other_trip(kind, rule, rows):
    assert moved(kind, rule, rows) == 0


@pytest.mark.parametrize(("kind", "rule"), [each for each in CHOICES if not RULES[each[0]].per_trip])
def test_a_rule_of_a_row_gives_at_most_one_row_more(kind, rule):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        table, more = some_rows(rng, 12, "pairs"), some_rows(rng, 1, "pairs")
        before, after = (
            Counter(apply_rules(each, {kind: rule}, WORLD).rows())
            for each in (table, pl.concat([table, more]))
        )
        assert sum((after - before).values()) <= 1
        assert not before - after


def test_a_rule_that_drops_the_trip_of_another_rider_is_caught(monkeypatch):
    """The broken variant: trips are told by their id alone, so that one rider's bad row drops another's trip."""

    def broken(table, rules, world):
        for kind in rules:
            bad = rules_module.bad_rows(table, kind, world)
            table = table.filter(
                ~table.with_columns(bad=bad).select(pl.col("bad").any().over("trip_id")).to_series()
            )
        return table

    monkeypatch.setitem(globals(), "apply_rules", broken)
    assert moved("unknown_stop", "drop", "pairs") > 0


RIDES = "trip_id,rider_id,origin,destination,start,end\n"
GOOD = "1,p,a,b,2026-05-01T08:00:00,2026-05-01T08:10:00\n"
BAD = {
    ("unknown_stop", "drop"): "2,q,a,z,2026-05-01T08:00:00,2026-05-01T08:10:00\n",
    ("missing_end", "drop"): "2,q,a,,2026-05-01T08:00:00,2026-05-01T08:10:00\n",
    ("missing_time", "drop"): "2,q,a,b,2026-05-01T08:00:00,\n",
    ("ends_early", "clip"): "2,q,a,b,2026-05-01T08:00:00,2026-05-01T07:59:50\n",
    ("ends_early", "swap"): "2,q,a,b,2026-05-01T08:00:00,2026-05-01T07:59:50\n",
    ("ends_long_before", "swap"): "2,q,a,b,2026-05-01T08:00:00,2026-05-01T06:00:00\n",
    ("duplicate", "drop"): GOOD,
    ("impossible_year", "drop"): "2,q,a,b,1070-01-01T00:00:00,1070-01-01T00:10:00\n",
    ("empty_id", "drop"): ",q,a,b,2026-05-01T08:00:00,2026-05-01T08:10:00\n",
    ("two_riders", "split"): "1,q,a,b,2026-05-01T08:20:00,2026-05-01T08:30:00\n",
}
MENDED = {"clip", "swap", "split"}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_row_is_read_as_its_rule_says(case, tmp_path):
    (tmp_path / "rides.csv").write_text(RIDES + GOOD + BAD[case])
    kind, rule = case
    trips = read_trips(open_table([tmp_path / "rides.csv"], Reading(rules={kind: rule}), WORLD), WORLD)
    assert len(trips) == (2 if rule in MENDED else 1)
    assert trips.lengths.max() == 2
    assert (trips.history.stability.visits is None) == changes_trips({kind: rule})


def test_unknown_rules_are_refused_and_rules_of_trips_need_the_whole_table():
    with pytest.raises(ParameterError, match=r"choose one of refuse, drop, not 'mend'"):
        apply_rules(pl.DataFrame({"trip_id": ["1"]}), {"unknown_stop": "mend"}, WORLD)
    assert needs_whole_table({"duplicate": "drop"})
    assert not needs_whole_table({"ends_early": "clip"})


def rows_of(path, **said):
    plan = Plan.of(files=str(path), epsilon=1, **said)
    return open_rows(plan, WORLD, files_of(plan)).rows


def test_a_bad_tap_drops_no_tap_of_another_on_the_same_bus(tmp_path):
    taps = [f"2026-05-01T08:{minute:02}:00,a,run 7\n" for minute in range(40)]
    for more in ([], ["2026-05-01T09:00:00,nowhere,run 7\n"]):
        (tmp_path / "taps.csv").write_text("".join(["event_time,stop_id,trip_id\n", *taps, *more]))
        read = rows_of(tmp_path / "taps.csv", rows="taps", way="counts", bad_rows={"unknown_stop": "drop"})
        assert len(read.location) == 40


@pytest.mark.parametrize(("seq", "stability"), [(False, MERGED), (True, UNMOVED)])
def test_a_repeated_row_that_takes_the_place_of_another_is_charged(tmp_path, seq, stability):
    rows = ["1,a,1\n", "1,b,2\n", "1,c,3\n"]
    orders = []
    for more in ([], ["1,c,3\n"]):
        text = "".join([f"trip_id,stop_id,{'seq' if seq else 'note'}\n", *more, *rows])
        (tmp_path / "calls.csv").write_text(text)
        read = rows_of(tmp_path / "calls.csv", rows="calls", bad_rows={"duplicate": "drop"})
        assert read.history.stability == stability
        orders.append("".join(WORLD.ids[read.location]))
    assert orders == ["abc", "abc" if seq else "cab"]


def test_two_riders_get_no_trip_of_one_name_whatever_they_are_called(tmp_path):
    (tmp_path / "calls.csv").write_text("trip_id,rider_id,stop_id\n1 2,3,a\n1,2 3,b\n1 2,,c\n1,2 ,d\n")
    read = rows_of(tmp_path / "calls.csv", rows="calls", bad_rows={"two_riders": "split"})
    assert read.lengths.tolist() == [1, 1, 1, 1]
    assert (read.rider >= 0).tolist() == [True, True, False, True]


def test_one_record_more_brings_no_column_for_all_others(tmp_path):
    file, ride = tmp_path / "rides.jsonl", '{"origin": "a", "destination": "b"}\n'
    named = '{"origin": "a", "destination": "b", "trip_id": "1", "rider_id": "p"}\n'
    said = {"rows": "pairs", "bad_rows": {"empty_id": "drop"}}
    file.write_text(5 * ride)
    assert len(rows_of(file, **said)) == 5
    file.write_text(5 * ride + named)
    with pytest.raises(InputError, match="has records with 'rider_id' and records without"):
        rows_of(file, **said)
    read = rows_of(file, **said, columns={"origin": "origin", "destination": "destination"})
    assert len(read) == 6
    assert read.rider is None
    file.write_text('{"lat": 1, "lon": 2, "car": "x", "seq": 7}\n{"lat": 1, "lon": 2, "car": "y"}\n')
    table = open_table([file], Reading(columns={"rider_id": "car"}))
    assert sorted(table.columns) == ["lat", "lon", "rider_id"]


def test_a_file_more_is_a_trip_more_and_joins_none_of_its_name_elsewhere(tmp_path):
    reading, names = Reading(columns={"trip_id": "(file)"}), ["trip_id", "stop_id"]
    files = [tmp_path / folder / "7.csv" for folder in ("monday", "tuesday")]
    for file in files:
        file.parent.mkdir()
        file.write_text("stop_id\na\n")
    assert open_table(files[:1], reading).read(names).rows() == [("7", "a")]
    with pytest.raises(InputError, match="two files of one name"):
        open_table(files, reading).read(names)
    renamed = files[1].rename(files[1].with_name("8.csv"))
    assert open_table([files[0], renamed], reading).read(names).rows() == [("7", "a"), ("8", "a")]
