"""The five questions of docs/first-hour.md, by the commands that stand there."""

import json
import shlex
import sys
from pathlib import Path

import polars as pl
import pytest

from wayveil.cli import main
from wayveil.simulate.city import simulate_city
from wayveil.simulate.feed import write_city
from wayveil.trips.visits import write_visits
from wayveil.world.gtfs import read_gtfs

PAGE = Path(__file__).parents[2] / "docs" / "first-hour.md"


def commands():
    return [line[2:] for line in PAGE.read_text().splitlines() if line.startswith("$ ")]


def test_every_command_of_the_first_hour_runs_and_answers(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    write_city("city.zip", seed=3, stops=40, lines=3)
    city = read_gtfs("city.zip")
    write_visits(simulate_city(city, 1_500, seed=3).trips, "trips.csv", riders=True)
    half = ["north" if lat > city.lat.mean() else "south" for lat in city.lat]
    pl.DataFrame({"stop_id": city.ids.tolist(), "district": half}).write_csv("districts.csv")
    answers = {}
    for command in commands():
        words = shlex.split(command)
        asks = words[1] == "ask"
        monkeypatch.setattr(sys, "argv", [*words, "--json" if asks else "--quiet"])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        assert not stopped.value.code, f"{command}: {err}"
        if asks:
            answers[words[3]] = json.loads(out)
    assert list(answers) == ["boardings", "districts", "line-load", "transfers", "durations"]
    assert all("tap" not in json.dumps(rows) for rows in answers.values())
    trips = sum(row["answer"] for row in answers["boardings"])
    # Boardings that stand out of their noise are the noisy counts themselves, so sums differ by a little.
    assert sum(row["answer"] for row in answers["districts"]) == pytest.approx(trips, rel=0.05)
    assert {row["from"] for row in answers["districts"]} <= {"north", "south"}
    assert {row["line"] for row in answers["line-load"]} <= set(city.route_names.tolist())
    assert 0 <= answers["durations"][0]["answer"] <= 1
