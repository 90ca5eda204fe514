"""`--prior` on the command line: earlier folders are followed, named on the datasheet, and never silently ignored."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from wayveil.cli import _register, app
from wayveil.errors import WayveilError

PLACES = [f"s{at:02}" for at in range(30)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "places.txt").write_text("\n".join(PLACES))
    for week in range(3):
        rng = np.random.default_rng(week)
        rows = ["time,stop"] + [
            f"2024-03-{4 + week:02}T{rng.integers(6, 22):02}:15:00,{PLACES[int(30 * rng.random() ** 3)]}"
            for _ in range(1_500)
        ]
        (tmp_path / f"taps{week}.csv").write_text("\n".join(rows))
    _register()

    def command(*words):
        made = CliRunner().invoke(app, [*words, "-q"])
        if isinstance(made.exception, WayveilError):
            return made.exception
        assert made.exit_code == 0, made.output
        return made

    return command


def tap_release(run, week, *words):
    return run(
        *("release", f"taps{week}.csv", "-w", "places.txt", "--way", "counts", "--epsilon", "0.5"),
        *("--map", "time=time", "--map", "stop=stop", "--ledger", "none", "-o", f"week{week}", *words),
    )


def test_taps_follow_the_folders_that_are_named(run, tmp_path):
    tap_release(run, 0)
    tap_release(run, 1, "--prior", "week0")
    tap_release(run, 2, "--prior", "week0", "--prior", "week1")
    inputs = json.loads((tmp_path / "week2" / "datasheet.json").read_text())["public_inputs"]
    assert [each["title"] for each in inputs if each["name"] == "prior"] == ["taps0.csv", "taps1.csv"]
    said = run("ask", "week0", "week2", "hours", "--json")
    assert len(json.loads(said.output)) == 24


def test_what_does_not_follow_refuses(run):
    tap_release(run, 0)
    refused = tap_release(run, 1, "--prior", "week0", "--mechanism", "markov")
    assert "made by tap-counts" in str(refused)
    missing = tap_release(run, 1, "--prior", "week9")
    assert isinstance(missing, WayveilError)
