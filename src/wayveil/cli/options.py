"""Options that several commands share, and how results are shown."""

import inspect
import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.console import Console
from rich.table import Table

from wayveil.cli.tables import print_rows, print_table
from wayveil.plan.meanings import MEANINGS

if TYPE_CHECKING:
    from wayveil.releases.release import Release

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars and no remarks.")]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Also print what the verdict of the release calls noise.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
BoundingBox = Annotated[str | None, typer.Option(help=MEANINGS["bbox"])]
ServiceDate = Annotated[str | None, typer.Option("--date", help=MEANINGS["service_date"])]
WalkRadius = Annotated[float | None, typer.Option(help=MEANINGS["walk_radius"])]
TripColumns = Annotated[
    list[str] | None,
    typer.Option("--map", help="A column with another name, ours=theirs (stop_id=STATION); repeatable."),
]

LedgerPlace = Annotated[str | None, typer.Option(help=MEANINGS["ledger"])]


def present(facts: Mapping[str, Any], *, as_json: bool, title: str = "") -> None:
    """Show facts to a person, or to a machine."""
    if as_json:
        print(json.dumps(facts, indent=2, default=str))
        return
    table = Table(show_header=False, box=None, title=title or None, title_justify="left", title_style="bold")
    for name, value in facts.items():
        lines = map(str, value) if isinstance(value, list | tuple) else say_value(value).splitlines()
        table.add_row(name.replace("_", " "), "\n".join(map(_wrapped, lines)))
    print_table(table)


def _wrapped(text: str) -> str:
    """Break sentences between words, in files and pipes too; a path or a command stays whole."""
    whole = Console().is_terminal or text.startswith("wayveil ")
    return text if whole else textwrap.fill(text, 78, break_long_words=False, break_on_hyphens=False)


def present_release(made: "Release", folder: Path, *, as_json: bool, booked_in: str) -> None:
    """Show what was released, where it lies and is booked, and how far its numbers can be trusted."""
    from wayveil.accuracy.accuracy import ALL_NOISE
    from wayveil.accuracy.numbers import call_places
    from wayveil.released.released_trips import say_left_out, say_of_what
    from wayveil.world.grid import Grid

    noise, said = made.accuracy.is_noise, made.accuracy.words
    if isinstance(made.world, Grid):
        said = [call_places(line) for line in said]
    if noise:
        remark(ALL_NOISE)
    facts = {
        **({"warning": ALL_NOISE} if noise else {}),
        "guarantee": made.datasheet["guarantee"]["sentence"],
        "released_trips": made.released_trips,
        "what_was_counted": say_left_out(made.datasheet),
        "written_to": str(folder),
        "booked_in": booked_in,
        "verdict": [*said, say_of_what(made.datasheet)],
    }
    present(facts, as_json=as_json)


def present_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool, title: str = "") -> None:
    """Show rows with the same columns."""
    if as_json:
        print(json.dumps(list(rows), indent=2, default=str))
        return
    # A column in which nothing is known says nothing.
    names = [name for name in (rows[0] if rows else ()) if any(row[name] not in (None, "") for row in rows)]
    cells = [[say_value(row[name]) for name in names] for row in rows]
    print_rows([str(name).replace("_", " ") for name in names], cells, title)


def say_value(value: object) -> str:
    """A value for people: nothing where nothing is known, thousands apart, at most four digits that matter."""
    if value is None:
        return ""
    if type(value) is int:
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() or abs(value) >= 10_000 else f"{value:.4g}"
    return str(value)


def remark(text: str, *, quiet: bool = False) -> None:
    """A word to the person at the terminal; never part of the result."""
    if not quiet:
        Console(stderr=True).print(text, style="dim", markup=False, highlight=False)


@dataclass(frozen=True)
class Spoken:
    """Manner in which a command speaks: to a person, or to a machine."""

    quiet: Quiet = False
    as_json: AsJson = False

    @property
    def silent(self) -> bool:
        """Tell that neither progress nor remarks are wanted."""
        return self.quiet or self.as_json


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option for every field of each dataclass among its parameters."""
    hints = get_type_hints(command, include_extras=True)
    flat: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = kind
            options = get_type_hints(kind, include_extras=True)
            flat += [_option(each, options[each.name]) for each in fields(kind)]
        else:
            flat.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: kind(**{each.name: given.pop(each.name) for each in fields(kind)})
            for name, kind in groups.items()
        }
        command(**given, **made)

    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in flat}
    return run


def _option(field: "Field[Any]", hint: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
