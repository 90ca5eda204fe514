"""Options that several commands share, and how results are shown."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars and no remarks.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
WorldFile = Annotated[
    Path,
    typer.Option(
        "--world",
        "-w",
        help="Public places: a GTFS zip or folder, a saved network (.npz), a text file with one location per line, or "
        "a grid: grid:south,west,north,east@250 (cells of 250 m).",
    ),
]
BoundingBox = Annotated[
    str | None,
    typer.Option(help="Keep stops inside south,west,north,east (degrees), for example 52.3,13.1,52.7,13.8."),
]
ServiceDate = Annotated[str | None, typer.Option("--date", help="Keep the service of one day, YYYY-MM-DD.")]
WalkRadius = Annotated[
    float | None, typer.Option(help="Add walks between stops at most this many metres apart.")
]
Stations = Annotated[bool, typer.Option(help="Merge platforms into their stations.")]


def present(facts: Mapping[str, Any], *, as_json: bool, title: str = "") -> None:
    """Show facts to a person, or to a machine."""
    if as_json:
        print(json.dumps(facts, indent=2, default=str))
        return
    table = Table(show_header=False, box=None, title=title or None, title_justify="left", title_style="bold")
    for name, value in facts.items():
        if isinstance(value, list | tuple):
            value = "\n".join(str(item) for item in value)
        table.add_row(name.replace("_", " "), f"{value:,}" if type(value) is int else str(value))
    Console().print(table)


def present_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool, title: str = "") -> None:
    """Show rows with the same columns."""
    if as_json:
        print(json.dumps(list(rows), indent=2, default=str))
        return
    table = Table(title=title or None, title_justify="left", title_style="bold")
    for name in rows[0] if rows else ():
        table.add_column(str(name).replace("_", " "))
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    Console().print(table)


def remark(text: str, *, quiet: bool = False) -> None:
    """A word to the person at the terminal; never part of the result."""
    if not quiet:
        Console(stderr=True).print(text, style="dim", markup=False, highlight=False)
