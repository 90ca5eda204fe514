"""GPS points on the command line: from a file to a release, and sentences for what cannot be read."""

import sys

import pytest

from wayveil.cli import main
from wayveil.privacy.ledger import open_ledger
from wayveil.simulate.taxis import simulate_taxis

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
    options = [
        "--epsilon",
        1,
        "--out",
        release,
        "--report",
        page,
        "--mechanism",
        "od-hops",
        "--ledger",
        "none",
    ]
    code, words = run("gps", "release", tmp_path / "taxis.csv", "--world", BOX, *options, "-q")
    assert code == 0, words
    assert "epsilon = 1" in words
    assert page.exists()
    assert (release / "datasheet.json").exists()


CASES = {
    "swapped": (["a,1,2024-05-06 08:00:00,-122.5,37.61"], [], "swapped"),
    "no fix": ([*GOOD, "a,1,2024-05-06 08:02:00,0,0"], [], "row 3: is at (0, 0)"),
    "no time": ([*GOOD, "a,1,noon,37.62,-122.5"], [], "row 3: datetime 'noon' cannot be read"),
    "mixed times": ([*GOOD, "a,1,1715000000,37.62,-122.5"], [], "use one form throughout"),
    "going back": ([*GOOD, "a,1,2024-05-06 07:59:00,37.62,-122.5"], [], "row 3: is earlier"),
    "one second": ([*GOOD, "a,1,2024-05-06 08:01:00,37.8,-122.4"], [], "row 3: is in the same second"),
    "one point": (GOOD[:1], [], "no trip is left"),
    "events": (GOOD, ["--mechanism", "dp-loc", "--unit", "event"], "Use trip, rider or rider-day"),
    "no delta": (GOOD, ["--mechanism", "dp-loc", "--delta", "0"], "delta must be greater than 0"),
    "tiny cells": (GOOD, ["--world", BOX.replace("12x12", "1")], "take cells of at least"),
    "no box": (GOOD, ["--world"], "from a map, never from the data"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_released_gets_a_sentence_and_costs_nothing(run, tmp_path, case):
    rows, options, sentence = CASES[case]
    points, book = tmp_path / "points.csv", tmp_path / "book.ledger"
    points.write_text("\n".join([HEADER, *rows]) + "\n")
    world = [] if "--world" in options else ["--world", BOX]
    options = [] if options == ["--world"] else options
    common = ["--epsilon", 1, "--out", tmp_path / "out", "--ledger", book, "--policy-epsilon", 5, "-q"]
    code, words = run("gps", "release", points, *world, *common, *options)
    assert code == 2
    assert sentence in words
    assert not (tmp_path / "out").exists()
    if book.exists():
        assert all(open_ledger(book).spent(name) == 0 for name in open_ledger(book).datasets())
