"""The commands as a whole: few, in groups, each with an example; old names answer with the new command."""

import re

import pytest
import typer

from wayveil.answers.questions import QUESTIONS, TRIP_QUESTIONS, say_question
from wayveil.cli import _register, app
from wayveil.cli.moved import MOVED

MOST_COMMANDS = 16
MOST_OPTIONS = 200
GROUPS = ["Start", "Every week", "Hand on", "Inside only", "Officer", "Lab"]


def every_command(*, lab: bool):
    """Words and command of every leaf; of the product alone, or of the lab alone."""
    _register()
    waiting = [((), typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        parts = getattr(command, "commands", None)
        if parts is None:
            yield words, command
        else:
            waiting += [
                ((*words, name), part) for name, part in parts.items() if words or (name == "lab") == lab
            ]


def test_the_product_has_few_commands_and_options():
    _register()
    top = typer.main.get_command(app).commands
    assert len([name for name, command in top.items() if not command.hidden]) <= MOST_COMMANDS
    options = [
        (*words, option.name)
        for words, command in every_command(lab=False)
        for option in command.params
        if option.param_type_name == "option" and option.name != "help"
    ]
    assert len(options) <= MOST_OPTIONS, len(options)


def test_the_help_shows_the_groups_in_order(wayveil, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    shown = re.findall(r"─ ([A-Z][a-z ]+) ─", wayveil("--help")[1])
    assert [panel for panel in shown if panel != "Options"] == GROUPS


@pytest.mark.parametrize("lab", [False, True])
def test_every_help_ends_with_an_example(lab):
    for words, command in every_command(lab=lab):
        last = [line.strip() for line in command.help.splitlines() if line.strip()][-1]
        assert last.startswith(" ".join(("wayveil", *words))), words


def test_the_help_of_ask_explains_each_question_in_one_line(wayveil, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    shown = wayveil("ask", "--help")[1]
    for question, what in (
        TRIP_QUESTIONS | {name: say_question(name, taps=False) for name in QUESTIONS}
    ).items():
        assert re.search(rf"• {question}: {what} +│", shown), question


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_an_old_name_answers_with_the_new_command(wayveil, old, new):
    code, out, err = wayveil(*old.split(), "--some-option")
    assert (code, out) == (2, "")
    assert err == f"wayveil: `wayveil {old}` is now `wayveil {new}`\n"
    words = {words for lab in (False, True) for words, _ in every_command(lab=lab)}
    assert tuple(new.partition(" --")[0].split()) in words
