"""The reference pages of the site, made from the code: the API from docstrings, the commands from their help.

python -m tools.reference docs/reference
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import typer

import wayveil as wv
from wayveil.cli import _register, app

# In the order in which a reader meets them; every public name stands in one group, and a test holds it.
GROUPS = {
    "Places": ("read_gtfs", "open_world", "World", "Network", "Grid", "TimeBins"),
    "Rows": (
        *("read_trips", "read_taps", "read_points", "write_visits"),
        *("Trips", "TripFiles", "Taps", "LegalityRule"),
    ),
    "Plans": ("guess_plan", "read_plan", "Plan", "Series"),
    "Whom is protected": ("Rider", "RiderDay", "Trip", "Event", "Points", "Window"),
    "Budgets and ledgers": ("Budget", "Policy", "open_ledger"),
    "Releases": ("release", "resume_release", "Release", "verify_release", "sample"),
    "Answers": ("ask", "trend", "export"),
    "Pages and pictures": ("write_report", "write_pictures", "draw_map", "display"),
    "For internal eyes": ("score", "risk", "RiskSettings"),
    "Counting at scale": ("StreamEngine", "SparkEngine"),
    "Mechanisms": ("mechanisms", "Mechanism", "register"),
    "The rest": ("WayveilError", "lab", "__version__"),
}


def grouped() -> dict[str, list[str]]:
    """Return every public name under its group; classes of mechanisms stand with the mechanisms."""
    groups = {title: list(names) for title, names in GROUPS.items()}
    known = {name for names in groups.values() for name in names}
    groups["Mechanisms"] += sorted(set(wv.__all__) - known)
    return groups


def api_page() -> str:
    """Return the page of the Python API: signature, description and example of each public name."""
    lines = ["# Python", "", "`import wayveil as wv`. Every example on this page is run by the tests.", ""]
    for title, names in grouped().items():
        lines += [f"## {title}", ""]
        for name in names:
            lines += [f"### `wv.{name}`", "", *_described(name, getattr(wv, name)), ""]
    return "\n".join(lines)


def _described(name: str, thing: Any) -> Iterator[str]:
    signature = _signature(name, thing)
    if signature:
        yield from ("```text", signature, "```", "")
    yield from markdown_of(inspect.getdoc(thing) or "")


def _signature(name: str, thing: Any) -> str:
    if not callable(thing) or (inspect.isclass(thing) and name[0].isupper() and _is_mechanism(thing)):
        return ""
    try:
        words = re.sub(r"(\w+\.)+(\w+)", r"\2", str(inspect.signature(thing)))
    except (TypeError, ValueError):
        return ""
    return f"wv.{name}{words}" if len(words) < 400 else f"wv.{name}(...)"


def _is_mechanism(thing: type) -> bool:
    return issubclass(thing, wv.Mechanism) and thing is not wv.Mechanism


def markdown_of(text: str) -> list[str]:
    """Return a docstring as Markdown: examples as code, aligned or indented lines as they stand, the rest as prose."""
    lines: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        rows = block.splitlines()
        if any(row.lstrip().startswith(">>>") for row in rows):
            lines += ["```pycon", *rows, "```", ""]
        elif any(re.match(r"\S+( \S+)*  +\S|\s{2,}\S|=+$|-+$", row) for row in rows):
            lines += ["```text", *rows, "```", ""]
        else:
            lines += [*(re.sub(r"([<>*_$])", r"\\\1", row) if "`" not in row else row for row in rows), ""]
    return lines[:-1]


def cli_page() -> str:
    """Return the page of the commands: what each does, its arguments and options."""
    _register()
    lines = ["# Commands", "", "`wayveil COMMAND --help` says the same in the terminal.", ""]
    for path, command in commands(typer.main.get_command(app), "wayveil"):
        lines += [f"## `{path}`", "", *markdown_of(_help(command)), ""]
        rows = [_option_row(each) for each in command.params if not getattr(each, "hidden", False)]
        if rows:
            lines += ["| option | what it says |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every visible command with the words that call it."""
    for name, each in getattr(command, "commands", {}).items():
        if each.hidden:
            continue
        if getattr(each, "commands", None):
            yield from commands(each, f"{path} {name}")
        else:
            yield f"{path} {name}", each


def _help(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").replace("\b\n", "").replace("\f", "")


def _option_row(each: click.Parameter) -> str:
    if isinstance(each, click.Argument):
        name = f"`{(each.name or '').upper()}`"
    else:
        name = ", ".join(f"`{word}`" for word in [*each.opts, *each.secondary_opts])
    words = re.sub(r"\s+", " ", getattr(each, "help", "") or "").replace("|", "\\|").replace("<", "\\<")
    return f"| {name} | {words} |"


def main() -> None:
    """Write both pages into a folder."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    (out / "api.md").write_text(api_page(), encoding="utf-8")
    (out / "commands.md").write_text(cli_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
