"""The five questions of docs/first-hour.md, by the commands that stand there."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from wayveil.cli import main
from wayveil.world.gtfs import read_gtfs

PAGE = Path(__file__).parents[2] / "docs" / "first-hour.md"


def steps():
    """Kind and text of each step of the page: a command, or a block of Python."""
    for kind, text in re.findall(r"^```(sh|python)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        yield from [(kind, line) for line in text.splitlines()] if kind == "sh" else [(kind, text)]


def test_every_command_of_the_first_hour_runs_in_an_empty_folder_and_answers(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    answers = {}
    for kind, text in steps():
        if kind == "python":
            exec(compile(text, PAGE.name, "exec"), {})
            continue
        words = shlex.split(text)
        monkeypatch.setattr(sys, "argv", [*words, "--json"])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        assert not stopped.value.code, f"{text}: {err}"
        if words[1] == "ask":
            answers[words[3]] = json.loads(out)
    city = read_gtfs("city.zip")
    assert list(answers) == ["boardings", "districts", "line-load", "transfers", "durations"]
    assert all("tap" not in json.dumps(rows) for rows in answers.values())
    trips = sum(row["answer"] for row in answers["boardings"])
    # Boardings that stand out of their noise are the noisy counts themselves, so sums differ by a little.
    assert sum(row["answer"] for row in answers["districts"]) == pytest.approx(trips, rel=0.05)
    assert {row["from"] for row in answers["districts"]} <= {"north", "south"}
    assert {row["line"] for row in answers["line-load"]} <= set(city.route_names.tolist())
    assert 0 <= answers["durations"][0]["answer"] <= 1
