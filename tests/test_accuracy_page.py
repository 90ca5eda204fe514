"""docs/accuracy.md says what was measured, all of it, and new cells take the place of old ones."""

import json

import pytest
from bench.coverage import JUDGING, MECHANISMS
from bench.coverage_cells import JUDGED, SET, STATE, is_outside, keep_cells, read_cells
from bench.coverage_choice import choose_factors
from bench.coverage_page import PAGE, earlier_words, said_share, table, verdict_words, write_page

CELL = {"world": "a", "mechanism": "markov", "epsilon": "1", "kind": "total"}


def test_the_page_is_what_the_kept_cells_say(tmp_path):
    write_page(read_cells(JUDGED), JUDGING, MECHANISMS, tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


def test_nothing_is_chosen_on_a_world_that_is_judged():
    chosen_on = {row["world"] for row in read_cells(SET)}
    assert chosen_on
    assert not chosen_on & set(JUDGING)


def test_a_cell_that_is_measured_again_takes_the_place_of_its_old_rows(tmp_path):
    file = tmp_path / "cells.json"
    keep_cells(file, [CELL | {"error": 1.23456}, CELL | {"kind": "visits"}, CELL | {"epsilon": "2"}])
    keep_cells(file, [CELL | {"error": 2.0}])
    now = CELL | {"state": STATE}
    assert read_cells(file) == [now | {"error": 2.0}, now | {"epsilon": "2"}]
    keep_cells(file, [CELL | {"error": 1.23456, "world": "b"}])
    assert read_cells(file, ["b"]) == [now | {"error": 1.235, "world": "b"}]
    assert len(file.read_text().splitlines()) == len(json.loads(file.read_text())) + 2


@pytest.mark.parametrize(
    ("coverage", "intervals", "outside"),
    [(0.8, 20, False), (0.8, 200, True), (0.95, 20, False), (1.0, 2_000, True)],
)
def test_few_intervals_cannot_tell_that_they_are_outside(coverage, intervals, outside):
    assert is_outside({"coverage": coverage, "intervals": intervals}) is outside


def test_verdicts_are_counted_by_cells_that_are_clear():
    good, bad = 7.0, 0.0
    rows = [
        CELL | {"releases": 2, "better": 2, "margins": [good, bad]},
        CELL | {"releases": 2, "better": 1, "margins": [good, good]},
        CELL | {"releases": 2, "better": 0, "margins": [bad, bad]},
    ]
    assert [said_share(rows[0], worst) for worst in (1.0, 8.0, None)] == [0.5, 0.0, 0.0]
    assert verdict_words(rows).splitlines()[-1] == "| all | 1 | 50.0% | 1 | 0.0% |"


def test_rows_of_an_earlier_state_are_marked_on_the_page():
    measured = {"coverage": 0.95, "intervals": 20, "releases": 20, "counted": True, "unlisted": None}
    now = CELL | measured | {"half_width": 2.0, "error": 1.0, "time_ratio": 1.0, "state": STATE}
    before = now | {"world": "b", "state": STATE - 1}
    taken_over = {name: value for name, value in now.items() if name != "state"} | {"world": "c"}
    rows = [line.split(" | ") for line in table([now, before, taken_over]).splitlines()[2:5]]
    assert [row[5] for row in rows] == ["20", "20 †", "20 †"]
    assert "2 rows" in earlier_words([now, before, taken_over])
    assert earlier_words([now]) == ""


def test_factors_are_those_that_are_right_about_worlds_left_out():
    def cell(world, margin, better):
        return CELL | {
            "world": world,
            "kind": "stops",
            "releases": 2,
            "better": better,
            "margins": [margin] * 2,
        }

    good = [cell(world, 7.1, 2) for world in "abcdef"]
    wrong = [cell(world, 2.4, 0) for world in "abcdef"]
    # A factor of 3 tells them apart on every world; on the worlds that are left out too.
    assert choose_factors([*good, *wrong])["markov", "stops"] == 3.0
    assert choose_factors(good)["markov", "stops"] == 1.0
    # Where the same error means one thing here and another there, nothing is said.
    mixed = [cell(world, 7.1, 0) for world in "ghijkl"]
    assert choose_factors([*good, *mixed])["markov", "stops"] is None


def test_totals_that_were_measured_many_times_are_shown_and_verdicts_stay_those_of_releases(tmp_path):
    row = CELL | {"coverage": 0.75, "intervals": 20, "releases": 20, "counted": True, "unlisted": None}
    row |= {"half_width": 2.0, "error": 1.0, "time_ratio": 1.0, "answer_ratio": 0.1, "state": STATE}
    row |= {"better": 20, "margins": [7.1] * 20}
    many = row | {"totals": {"coverage": 0.96, "intervals": 300, "releases": 300}}
    write_page([many], ["a"], ["markov"], tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| law | 300 | 96.0% |" in page
    assert "a (markov, epsilon 1)" in page
    assert "| markov | 1 | 100.0% | 0 | – |" in page
