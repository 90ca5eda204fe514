"""The part of a report that says how far off a woven release is expected to be."""

import polars as pl
import pytest

from bare_release import bare_release
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.releases.release import Release
from wayveil.report.answers_view import expected_table
from wayveil.report.report_page import report_html, write_report
from wayveil.run import make_release as release
from weave_city import QUICK, small_town, town_trips


@pytest.fixture(scope="module")
def made():
    weave = Weave(weakest=0, generation=QUICK)
    return release(town_trips(1_500), weave, epsilon=2, bits=SeededBits(1), seed=1)


def test_a_woven_release_says_how_far_off_to_expect_it_and_gives_the_numbers(made, tmp_path):
    write_report(tmp_path / "r.html", release=made)
    page = (tmp_path / "r.html").read_text()
    assert "How far off to expect it" in page
    numbers = pl.read_csv(tmp_path / "r-figures" / "answer-expected-error.csv")
    assert {"number of trips", "riders on an edge"} <= set(numbers["question"])
    assert numbers["off"].min() > 0
    assert f"{made.trips.visits - len(made.trips):,}" == f"{(numbers['mean'] * numbers['cells'])[3]:,.0f}"


def test_the_table_marks_what_is_a_guess(made):
    table = expected_table(made)
    for row, seen in zip(table.rows, table.data["seen"], strict=True):
        assert row[4].endswith("*") is not seen


def test_another_mechanism_has_no_such_part(made):
    other = bare_release(made.trips, made.datasheet)
    assert expected_table(other) is None
    assert "How far off to expect it" not in report_html(release=other)


def test_errors_are_found_once_and_kept_with_the_saved_release(made, tmp_path, monkeypatch):
    loaded = Release.load(made.save(tmp_path / "release"), small_town())
    monkeypatch.setattr(type(loaded.model), "expected_errors", lambda *_: pytest.fail("was woven again"))
    assert loaded.expected == made.expected
    assert report_html(release=loaded) == report_html(release=made)
