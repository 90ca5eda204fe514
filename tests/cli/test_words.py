"""Sentences and tables that strangers read: each once said something else than it meant."""

import re
import shlex
from fractions import Fraction

import click
import numpy as np
import pytest
import typer
from rich.table import Table

from ring_networks import ring_of_stops
from wayveil import cli
from wayveil.cli.options import present, present_rows, say_value
from wayveil.cli.tables import print_rows, print_table, say_lines
from wayveil.errors import BudgetExceededError
from wayveil.lab.comparison import compare as comparing
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.units import Rider
from wayveil.progress import shown
from wayveil.released.datasheet_page import promise, spends
from wayveil.releases.hold import DEFAULT_DELTA
from wayveil.releases.order import default_mechanism
from wayveil.report.answers_view import expected_table
from wayveil.report.chart import environment
from wayveil.run import make_release as release
from wayveil.synthesis.model import ExpectedError
from wayveil.trips.history import MADE_UP
from wayveil.trips.trips import Trips
from wayveil.utility.scorecard import score
from wayveil.utility.suite import CountQueries, questions
from wayveil.world.places import PlaceList

RING = ring_of_stops(6)
TRIPS = Trips.of_lists([[0, 1, 2], [1, 2, 3]] * 20, RING)


def all_commands():
    cli._register()
    waiting = [((), typer.main.get_command(cli.app))]
    while waiting:
        path, command = waiting.pop()
        if isinstance(command, click.Group):
            waiting += [((*path, name), one) for name, one in command.commands.items()]
        else:
            yield path, command


def test_a_large_epsilon_is_not_called_almost_as_likely():
    sheet = {"guarantee": {"epsilon": "5", "unit": "rider", "sentence": "It holds."}, "private": True}
    said = promise(sheet).meaning
    assert "by a factor of at most 148" in said
    assert "almost" not in said


def test_figures_of_simulated_trips_do_not_speak_of_raw_ones():
    simulated = Trips.of_lists([[0, 1, 2]] * 9, RING, history=MADE_UP)
    assert "raw" not in score(simulated, simulated, queries=10).notice
    assert "raw trips" in score(TRIPS, TRIPS, queries=10).notice


def test_no_two_figures_have_the_same_words():
    labels = [
        (question.title, measure.label)
        for question in questions(TRIPS, suite="full", counting=CountQueries(10))
        for measure in question.measure(TRIPS)
    ]
    of_stops = [label for _, label in labels if "stops with the most" in label]
    assert len(of_stops) == len(set(of_stops)) >= 3
    assert len(labels) == len(set(labels))


def test_nothing_is_called_unbeatable():
    for path, command in all_commands():
        assert "nothing private" not in (command.help or ""), path


def test_percent_on_the_page_is_percent_in_its_csv():
    class Known:
        world = None
        expected = (ExpectedError("trips per stop", 10, 200.0, 52.0, 0.112, 1.0, seen=True),)

    table = expected_table(Known())
    assert table.rows[0][3] == "26 %"
    assert table.data["percent"].to_list() == [26.0]
    assert "relative" not in table.data.columns


def test_help_names_the_default_that_holds():
    stated = {
        "delta": f"{float(DEFAULT_DELTA):.0e}".replace("e-0", "e-"),
        "mechanism": default_mechanism(RING).name,
        "total_epsilon": "10",
    }
    for path, command in all_commands():
        for option in command.params:
            text = getattr(option, "help", None) or ""
            found = re.search(r"[Dd]efault: `?([\w.-]+?)`?[.;,)]", text)
            if not found or option.default not in (None, ()):
                # Where click knows the default, click says it.
                assert not found or str(option.default) == found[1], (path, option.name)
            elif option.name in stated and path[-1] in ("release", "init"):
                assert found[1] == stated[option.name], (path, option.name)


def test_people_read_decimals():
    error = BudgetExceededError("the release", requested=Fraction(3667604, 1826297), remaining=Fraction(1))
    assert "2.00822" in str(error)
    assert "/" not in str(error)
    table = spends({"spends": [{"label": "counts", "price": "3667604/1826297", "scale": "10/7"}]})
    assert table.rows == (("counts", "2.00822", "1.42857"),)
    assert say_value(0.9535370447886145) == "0.9535"
    assert say_value(30465168) == "30,465,168"


def test_tables_in_a_pipe_are_not_cut_and_have_no_empty_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    moment = "2026-11-17T08:00:00+00:00"
    row = {"line": 1, "time": moment, "who": "somebody with a name", "low": None, "what": "y" * 30}
    present_rows([row, {**row, "line": 2}], as_json=False)
    out = capsys.readouterr().out
    assert moment in out
    assert "y" * 30 in out
    assert "low" not in out
    assert "…" not in out
    wide = Table()
    wide.add_column("x" * 300)
    print_table(wide)
    assert "x" * 300 in capsys.readouterr().out


def test_sentences_in_a_pipe_are_wrapped_and_paths_and_commands_are_not(capsys):
    sentence, path, command = "word " * 60, f"/{'p' * 90}/report.html", f"wayveil release {'x ' * 60}".strip()
    present({"guarantee": sentence, "verdict": [sentence], "report": path, "next": command}, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.rstrip()) for line in lines if "word" in line) <= 100
    assert any(path in line for line in lines)
    assert any(command in line for line in lines)


def on_terminal(monkeypatch, columns):
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": columns}.items():
        monkeypatch.setenv(name, str(value))


def test_sentences_and_commands_fit_the_terminal_and_a_broken_command_still_is_the_same(capsys, monkeypatch):
    on_terminal(monkeypatch, 60)
    command = f"wayveil release {'x ' * 60}--need 'boardings per stop, top 50' {'y ' * 20}z"
    say_lines(["word " * 40, f"  {command}"])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 60
    assert shlex.split(out[out.index("wayveil") :].replace("\\\n", "")) == shlex.split(command)


@pytest.mark.parametrize("columns", [100, 60, 30])
def test_rows_fit_the_terminal_and_no_number_is_broken(columns, capsys, monkeypatch):
    on_terminal(monkeypatch, columns)
    names = ["stop", "answer", "low", "high", "best rank"]
    rows = [[f"Quillholm Lane {each}", "1,744", "1,732", "1,756", "17"] for each in ("North", "South")]
    print_rows(names, rows, "trips")
    say_lines([" | ".join(each) for each in (names, *rows)])
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert max(map(len, out.splitlines())) <= columns
    assert [out.count(number) for number in rows[0][1:]] == [4, 4, 4, 4]


def test_a_field_inside_a_field_of_the_datasheet_has_the_whole_width():
    css = environment().loader.get_source(environment(), "page.css")[0]
    rule = re.search(r"\.fields \.fields > div \{([^}]*)\}", css)
    assert "grid-template-columns: 1fr;" in rule[1]


def test_compare_shows_how_far_it_is(monkeypatch):
    told = []

    def track(items, what, total=None):
        told.append((what, total))
        return items

    monkeypatch.setattr(comparing, "track", track)
    comparing.compare(TRIPS, [NoisyPrefixTree(height=2)], [1, 2], repetitions=1, workers=1)
    [(what, total)] = told
    assert what == "releases compared"
    assert total > 1


def test_score_shows_a_bar_with_what_is_left_and_its_total_is_known_before(capsys, monkeypatch):
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": "160"}.items():
        monkeypatch.setenv(name, value)  # a terminal: only that can draw a bar
    with shown():
        card = score(TRIPS, TRIPS, queries=10)
    said = capsys.readouterr().err
    done = re.findall(r"scoring +.*?(\d+)/(\d+) .*left", said)[-1]
    assert done[0] == done[1]
    assert int(done[1]) >= 4  # every question of the release and of three lines to compare it with
    assert len(card.figures) > 0


def test_a_release_of_no_trips_opens_and_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    from wayveil.releases.release import Release

    few = Trips.of_lists([[0, 1]], RING)
    made = release(few, NoisyPrefixTree(height=2, threshold_scales=1000), epsilon=1)
    assert len(made.trips) == 0
    made.save(tmp_path / "out")
    again = Release.load(tmp_path / "out", RING)
    assert len(again.trips) == 0
    assert again.ask("boardings", anyway=True).table["answer"].sum() == 0
    assert again.ask("journeys", anyway=True).table.height == 0


def test_a_release_says_its_bounds_and_not_what_they_cut():
    from wayveil.released.released_trips import say_left_out

    riders = Trips.of_lists([[0, 1, 2]] * 30, RING, rider=[i // 3 for i in range(30)])
    made = release(riders, NoisyPrefixTree(height=2), epsilon=1, unit=Rider(max_trips=1), rows="calls")
    said = " ".join(say_left_out(made.datasheet))
    assert "At most 1 trip of a rider counts, chosen at random." in said
    assert "the first 2 stops count" in said
    assert "Every row is a stop that a trip passes." in said
    assert "30" not in said
    assert "10" not in said


def test_numbers_of_a_datasheet_are_decimals_with_thousands_apart():
    rows = [
        {"label": "number of trips", "price": "2/47", "sensitivity": 1, "scale": "23.5", "error_95": 70},
        {
            "label": "spread",
            "price": "11/47",
            "sensitivity": 1048576,
            "scale": "295698432/11",
            "error_95": 80530303,
        },
    ]
    assert spends({"spends": rows}).rows == (
        ("number of trips", "0.0425532", "1", "23.5", "70"),
        ("spread", "0.234043", "1,048,576", "26,881,676", "80,530,303"),
    )


def test_places_with_the_same_name_are_told_apart():
    twins = PlaceList(np.array(["a", "b", "c"]), np.array(["Union", "Union", "Main"]))
    assert twins.labels.tolist() == ["Union (a)", "Union (b)", "Main"]


def test_a_long_name_does_not_run_off_the_page():
    css = environment().loader.get_source(environment(), "page.css")[0]
    assert "overflow-wrap: anywhere" in re.search(r"h1 \{([^}]*)\}", css)[1]
