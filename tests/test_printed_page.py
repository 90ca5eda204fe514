"""The first tables of docs/accuracy.md: what marks and ratios mean, and that no old record stands for new code."""

import json

import pytest
from bench import printed, printed_page
from bench.printed_page import STORE, error_ratios, is_changed

from wayveil.lab.studies.sources import digest

CELL = {"world": "habit-10k", "mechanism": "weave", "unit": "trip", "releases": 1}


def row(**parts):
    return {**CELL, "kind": "total", "better": 1, "said": 1, **parts}


def test_single_numbers_are_judged_over_the_worlds_of_one_size():
    """A release shows one draw of its noise: a right expectation missed half of all cells."""
    lucky = row(errors=[0.02, 0.005, 1])
    unlucky = row(errors=[0.02, 0.03, 1], world="errands-10k")
    large = row(errors=[0.1, 0.1, 1], world="errands-60k")
    assert error_ratios([lucky, unlucky, large]) == [pytest.approx(0.04 / 0.035), 1.0]
    cells = [{**each, "kind": "stops"} for each in (lucky, unlucky, large)]
    assert error_ratios(cells) == [4.0, pytest.approx(2 / 3), 1.0]
    assert error_ratios([row(errors=[0, 0, 0])]) == []


def test_a_miss_that_luck_does_not_explain_is_starred():
    def shown(held, known):
        return printed_page._marked([(held, known)])

    assert shown(55, 66) == "83.3% *"
    assert shown(59, 66) == "89.4% ·"
    assert shown(96, 100) == "96.0%"
    assert shown(0, 0) == "–"


def test_what_earlier_code_measured_is_replaced_and_what_the_same_code_did_is_added_to(tmp_path, monkeypatch):
    file = tmp_path / "printed.json"
    for module in (printed, printed_page):
        monkeypatch.setattr(module, "STORE", file)
    now = {"accuracy/ranks.py": {"functions": ["*"], "digest": digest("accuracy/ranks.py", ("*",))}}
    before = {"accuracy/ranks.py": {"functions": ["*"], "digest": "another"}}
    old = {**CELL, "question": "stops", "all": [9, 10], "made": "old"}
    unknown = {**CELL, "question": "hours", "all": [9, 10]}
    file.write_text(json.dumps({"made": {"old": before}, "numbers": [old, unknown], "verdicts": []}))
    printed.add_to_store("numbers", [{**CELL, "question": "stops", "all": [19, 20]}], now)
    printed.add_to_store("numbers", [{**CELL, "question": "stops", "all": [20, 20]}], now)
    store = json.loads(file.read_text())
    hours, stops = store["numbers"]
    assert (stops["all"], stops["releases"]) == ([39, 40], 2)
    assert list(store["made"]) == [stops["made"]]
    assert (is_changed(store, stops), is_changed(store, hours)) == (False, True)
    printed_page.mark_older()
    assert [each["older"] for each in json.loads(file.read_text())["numbers"]] == [True, False]


@pytest.mark.parametrize(("unit", "told", "useful"), [("trip", 11, 6), ("rider", 4, 4)])
def test_enough_kinds_of_question_have_intervals_and_useful_ones(unit, told, useful):
    """On a city of 50,000 trips three of 16 kinds had intervals, and one a useful one."""
    rows = json.loads(STORE.read_text(encoding="utf-8"))["numbers"]
    here = [each for each in rows if (each["mechanism"], each["unit"]) == ("weave", unit)]
    with_intervals, narrow = printed_page.useful_kinds(here)
    assert len(with_intervals) >= told
    assert len(narrow) >= useful
