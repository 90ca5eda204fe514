"""GPS points on the command line: from a file to a release, and sentences for what cannot be read."""

import sys

import numpy as np
import pytest

from wayveil.cli import main
from wayveil.privacy.ledger import open_ledger
from wayveil.simulate.taxis import simulate_taxis
from wayveil.trips.points import read_points
from wayveil.world.opening import open_world

BOX = "grid:37.6017,-122.5158,37.8112,-122.3527@12x12"
HEADER = "uid,tid,datetime,lat,lng"
GOOD = ["a,1,2024-05-06 08:00:00,37.615,-122.50", "a,1,2024-05-06 08:01:00,37.635,-122.50"]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["wayveil", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return ended.value.code or 0, " ".join((shown.out + shown.err).split())

    return call


def test_one_command_goes_from_points_to_release_and_report(run, tmp_path):
    simulate_taxis(2_500, drivers="wandering", seed=3).write(tmp_path / "taxis.csv")
    release, page = tmp_path / "release", tmp_path / "report.html"
    options = ["--epsilon", 1, "--out", release, "--mechanism", "od-hops", "--ledger", "none", "-q"]
    code, words = run("release", tmp_path / "taxis.csv", "--world", BOX, "--rows", "points", *options)
    assert code == 0, words
    assert "epsilon = 1" in words
    assert "Visits per place:" in words
    assert "per stop" not in words
    assert not list(tmp_path.glob(".release*"))
    code, words = run("report", release, "-o", page, "-q")
    assert code == 0, words
    assert page.exists()
    assert (release / "datasheet.json").exists()


@pytest.mark.parametrize(("wish", "count"), [("7", 7), ("none", 0)])
def test_as_many_trips_come_out_as_are_wanted(run, tmp_path, wish, count):
    simulate_taxis(1_500, seed=3).write(tmp_path / "taxis.csv")
    points = (tmp_path / "taxis.csv", "--rows", "points", "--world", BOX)
    common = ("release", *points, "-e", 1, "-m", "od-hops", "-q", "--json")
    code, words = run(*common, "--out", tmp_path / "release", "--ledger", "none", "--trips-out", wish)
    assert code == 0, words
    assert f'"released_trips": {count},' in words
    assert run("report", tmp_path / "release", "-o", tmp_path / "page.html", "-q")[0] == 0
    assert (tmp_path / "page.html").exists()
    code, words = run(*common, "--out", tmp_path / "other", "--trips-out", "few")
    assert code != 0
    assert "--trips-out is none, all or a number" in words


ON = "2024-05-06 08:02:00"
# Rows of the file, options, and what the sentence says: where and what, and then the remedy.
CASES = {
    "swapped": (["a,1,2024-05-06 08:00:00,-122.5,37.61"], [], ("points.csv", "swapped", "map the columns")),
    "out of range": (
        [*GOOD, f"a,1,{ON},37.6,-222.5"],
        [],
        ("points.csv, row 3: (37.6, -222.5)", "correct or remove"),
    ),
    "no latitude": ([*GOOD, f"a,1,{ON},,-122.5"], [], ("points.csv, row 3: has no lat", "remove the row")),
    "no number": ([*GOOD, f"a,1,{ON},north,-122.5"], [], ("points.csv, row 3: lat 'north'", "correct it")),
    "no fix": ([*GOOD, f"a,1,{ON},0,0"], [], ("points.csv, row 3: is at (0, 0)", "--with no_fix=skip")),
    "no time": (
        [*GOOD, "a,1,noon,37.62,-122.5"],
        [],
        ("points.csv, row 3: datetime 'noon' cannot be read", "write"),
    ),
    "mixed times": (
        [*GOOD, "a,1,1715000000,37.62,-122.5"],
        [],
        ("points.csv, row 3", "use one form throughout"),
    ),
    "going back": (
        [*GOOD, "a,1,2024-05-06 07:59:00,37.62,-122.5"],
        [],
        ("points.csv, row 3: is earlier", "--with order=time"),
    ),
    "one second": (
        [*GOOD, "a,1,2024-05-06 08:01:00,37.8,-122.4"],
        [],
        ("points.csv, row 3: is in the same second", "--with repeated=first"),
    ),
    "one point": (GOOD[:1], [], ("points.csv: no trip is left", "compare the box with a map")),
    "elsewhere": (
        [row.replace("37.", "47.") for row in GOOD],
        [],
        ("points.csv: no trip is left", "compare the box with a map"),
    ),
    "no points": ([], [], ("points.csv", "has no points")),
    "no flag": (GOOD, ["--map", "flag=occupied"], ("points.csv", "no column 'occupied'", "its columns are")),
    "a map turned around": (
        GOOD,
        ["--map", "ts=datetime"],
        ("unknown column 'ts'", "choose one of trip_id, stop_id"),
    ),
    "events": (GOOD, ["--mechanism", "dp-loc", "--unit", "event"], ("Use trip, rider or rider-day",)),
    "no delta": (GOOD, ["--mechanism", "dp-loc", "--delta", "0"], ("delta must be greater than 0",)),
    "tiny cells": (GOOD, ["--world", BOX.replace("12x12", "1")], ("take cells of at least",)),
    "one cell": (GOOD, ["--world", BOX.replace("12x12", "99000")], ("a single cell", "take smaller cells")),
    "turned box": (
        GOOD,
        ["--world", "grid:-122.5158,37.6017,-122.3527,37.8112@250"],
        ("south must be below north", "the order is south,west,north,east"),
    ),
    "no box": (GOOD, ["--world"], ("from a map, never from the data",)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_released_gets_a_sentence_and_costs_nothing(run, tmp_path, case):
    rows, options, sentences = CASES[case]
    refuse(run, tmp_path, [HEADER, *rows], options, sentences)


def test_a_file_that_cannot_be_written_is_refused_before_points_are_made(run, tmp_path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("points were made")

    monkeypatch.setattr("wayveil.simulate.taxis.simulate_taxis", never)
    code, said = run("lab", "simulate", "gps", "--out", tmp_path / "taxis.xlsx")
    assert code == 2
    assert "end its name in" in said


def test_points_of_named_trips_need_no_times(run, tmp_path):
    rows = [(trip, 37.65 + 0.001 * (trip % 50), -122.5 + 0.02 * at) for trip in range(900) for at in range(4)]
    lines = ["tid,lat,lng", *(f"{trip},{lat:.4f},{lng:.4f}" for trip, lat, lng in rows)]
    (tmp_path / "points.csv").write_text("\n".join(lines) + "\n")
    raw = read_points(tmp_path / "points.csv", open_world(BOX))
    assert (len(raw), raw.time) == (900, None)
    assert (np.diff(open_world(BOX).column[raw.location[: raw.offsets[1]]]) > 0).all()
    code, words = run("check", tmp_path / "points.csv", "--world", BOX, "-q")
    assert (code, "GPS points (trips 900" in words) == (0, True)
    refuse(
        run,
        tmp_path,
        lines,
        ["--with", "rules.fastest_kmh=90"],
        ("has no times, which the rule fastest_kmh needs",),
    )
    refuse(run, tmp_path, lines, ["--with", "split_gap=60"], ("points.csv: has no times to split",))
    other = ["tid,lat,lng,ts", *(f"{line},8" for line in lines[1:])]
    refuse(
        run,
        tmp_path,
        other,
        [],
        ("no column 'event_time', but 'ts', which may be one", "--map event_time=ts"),
    )
    nameless = [line.split(",", 1)[1] for line in lines]
    nameless = ["uid," + nameless[0], *("a," + line for line in nameless[1:])]
    refuse(run, tmp_path, nameless, [], ("has no column for 'event_time'", "or name trips ('trip_id')"))


def test_points_without_trips_a_flag_or_h3_get_a_sentence_and_cost_nothing(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h3", None)
    plain = ["uid,datetime,lat,lng", "a,2024-05-06 08:00:00,37.615,-122.50"]
    refuse(
        run,
        tmp_path,
        plain,
        [],
        ("points.csv: has no column 'trip_id' and no 'flag'", "--with split_gap=1200"),
    )
    cells = ["tid,datetime,h3", "1,2024-05-06 08:00:00,8928308280fffff"]
    refuse(run, tmp_path, cells, [], ("is not installed: pip install h3",))


def refuse(run, tmp_path, lines, options, sentences):
    """A release of these points is refused in these words, and the ledger does not know of it."""
    points, book = tmp_path / "points.csv", tmp_path / "book.ledger"
    points.write_text("\n".join(lines) + "\n")
    world = [] if "--world" in options else ["--world", BOX]
    options = [] if options == ["--world"] else options
    common = ["--epsilon", 1, "--out", tmp_path / "out", "--ledger", book, "--policy-epsilon", 5, "-q"]
    code, words = run("release", points, "--rows", "points", *world, *common, *options)
    assert code == 2
    assert all(sentence in words for sentence in sentences), words
    assert not (tmp_path / "out").exists()
    if book.exists():
        assert all(open_ledger(book).spent(name) == 0 for name in open_ledger(book).datasets())
