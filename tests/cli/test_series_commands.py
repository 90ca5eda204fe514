"""A series on the command line: what somebody types, and what is said."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from series.series_worlds import week_file, write_plan
from wayveil.cli import _register, app
from wayveil.errors import InputError
from wayveil.simulate.feed import write_city


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    _register()


def typed(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_plan_writes_a_plan_and_then_checks_it(tmp_path: Path) -> None:
    plan = tmp_path / "wayveil.toml"
    start = ("plan", "--every", "week", "--first", "2026-01-07", "--save", plan)
    typed(*start, "--dataset", "town")
    assert "first = 2026-01-05" in plan.read_text()
    said = json.loads(typed("plan", plan, "--json"))
    assert said["budget"].startswith("Every release costs epsilon 1 for one rider.")
    assert {row["accounting"] for row in said["noise"]} >= {"plain sum, Laplace", "zCDP, Gaussian"}
    before = plan.read_text()
    with pytest.raises(InputError, match="never written over another file"):
        typed(*start, "--dataset", "x")
    assert plan.read_text() == before


def test_run_and_status_say_what_happened_and_what_comes(tmp_path: Path) -> None:
    plan = write_plan(tmp_path).path
    said = json.loads(typed("release", plan, week_file(tmp_path, 1), week_file(tmp_path, 3), "--json"))
    assert said["released"] == ["2026-W01", "2026-W03"]
    assert Path(said["index"]).is_file()
    words = typed("status", plan, "--picture", tmp_path / "year.svg")
    assert "■□■▷" in words
    assert "gap: 2026-W02" in words
    assert (tmp_path / "year.svg").read_text().count("<rect") > 53
    (shown,) = json.loads(typed("ledger", "show", tmp_path / "ledger", "--json"))
    assert shown["by_span_of_data"] == "2026: epsilon 2, 50 left"
    status = json.loads(typed("status", plan, "--json"))
    assert status["next_due"] == "2026-W04"
    assert status["years"][0]["spent"] == "2"


def test_a_simulated_year_comes_with_its_plan(tmp_path: Path) -> None:
    feed = write_city(tmp_path / "city.zip", stops=40, lines=4)
    place = tmp_path / "year"
    typed("lab", "simulate", "year", feed, "--out", place, "--weeks", 2, "--riders", 300, "--strike", 2)
    files = sorted((place / "taps").iterdir())
    said = json.loads(
        typed("release", place / "wayveil.toml", *files, "--ledger", place / "ledger", "--json")
    )
    assert said["released"] == ["2026-W01", "2026-W02"]
    sheet = json.loads((place / "series/public/2026-W02/release/datasheet.json").read_text())
    assert "simulated" in sheet["source"]
