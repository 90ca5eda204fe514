"""Options that several commands share, and how results are shown."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from wayveil.releases.release import Release

# Wide enough for any table, where no terminal has a width.
UNCUT = 10_000

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars and no remarks.")]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Also print what the verdict of the release calls noise.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
WorldFile = Annotated[
    Path,
    typer.Option(
        "--world",
        "-w",
        help="Public places: a GTFS zip or folder, a saved network (.npz), a csv or GeoJSON of places, a text file "
        "with one location per line, or a grid: grid:south,west,north,east@250 (cells of 250 m).",
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
Visits = Annotated[
    str | None,
    typer.Option(
        help="What a row is: `calls` (every stop passed), `legs` (where people board and alight), `pairs` (origin and "
        "destination in one row), `taps` (boardings only). `wayveil check` says what a file seems to be."
    ),
]
WaysOption = Annotated[
    str | None,
    typer.Option(
        "--ways",
        help="For legs and pairs: `routed` by the public fastest path (default on a network), or only the `ends`.",
    ),
]
TripColumns = Annotated[
    list[str] | None,
    typer.Option("--map", help="A column with another name, ours=theirs (stop_id=STATION); repeatable."),
]
PriorFolders = Annotated[
    list[Path] | None,
    typer.Option(
        "--prior",
        help="Folder of an earlier release of the same kind that this one follows; repeatable, the oldest first. Costs "
        "nothing: it is public. For weave, tap-counts and tap-margins.",
    ),
]
NoRider = Annotated[
    str,
    typer.Option(
        help="Trips or taps without a rider (card) id: `refuse`, `drop` them, or take each for a rider of its `own`, "
        "which protects nobody behind several of them. The datasheet says which."
    ),
]
Stations = Annotated[bool, typer.Option(help="Merge platforms into their stations.")]

Preset = Annotated[
    str | None,
    typer.Option(
        help="`published`: parameters as the mechanism's authors set them (`wayveil lab mechanisms NAME` shows which); "
        "what is set besides goes first. Mechanisms without one refuse."
    ),
]
TripsOut = Annotated[
    str, typer.Option(help="How many private trips to draw: all, none, or a number. The model can draw more.")
]
Epsilon = Annotated[
    str,
    typer.Option(
        "--epsilon", "-e", help="Privacy budget: a number or fraction, 0.5 or 1/2, from 0.001 to 1000."
    ),
]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        help="Ledger file or postgresql:// address. Default: WAYVEIL_HOME, a folder .wayveil here or above, or "
        "~/.wayveil. `none` for no ledger."
    ),
]
DatasetName = Annotated[
    str | None, typer.Option(help="Name of the dataset in the ledger; default: the file's name.")
]
PolicyEpsilon = Annotated[
    str | None,
    typer.Option(
        help="For a dataset that the ledger does not know yet: what may be spent on it in all, for ever."
    ),
]
NewPeople = Annotated[
    bool,
    typer.Option(
        "--new-people",
        help="Confirm that nobody in this file is in another dataset of the ledger, although it looks so.",
    ),
]
MemoryLimit = Annotated[
    float,
    typer.Option(
        "--memory",
        min=0.001,
        help="GiB that noisy answers may take; a mechanism that would pass it stops before its next spend.",
    ),
]


def world_words(world: Path, bbox: str | None, date: str | None, walk_radius: float | None) -> list[str]:
    """The options that open the same world again, for a command that is printed."""
    words = ["--world", str(world)]
    for option, value in (("--bbox", bbox), ("--date", date), ("--walk-radius", walk_radius)):
        if value is not None:
            words += [option, f"{value:g}" if isinstance(value, float) else str(value)]
    return words


def present(facts: Mapping[str, Any], *, as_json: bool, title: str = "") -> None:
    """Show facts to a person, or to a machine."""
    if as_json:
        print(json.dumps(facts, indent=2, default=str))
        return
    table = Table(show_header=False, box=None, title=title or None, title_justify="left", title_style="bold")
    for name, value in facts.items():
        if isinstance(value, list | tuple):
            value = "\n".join(str(item) for item in value)
        table.add_row(name.replace("_", " "), say_value(value))
    print_table(table)


def present_release(
    made: "Release", folder: Path, *, as_json: bool, booked_in: str, more: Mapping[str, str] | None = None
) -> None:
    """Show what was released, where it and `more` of it lies and is booked, and how far its numbers can be trusted."""
    from wayveil.accuracy.accuracy import ALL_NOISE
    from wayveil.released.released_trips import say_left_out, say_of_what

    noise = made.accuracy.is_noise
    if noise:
        remark(ALL_NOISE)
    facts = {
        **({"warning": ALL_NOISE} if noise else {}),
        "guarantee": made.datasheet["guarantee"]["sentence"],
        "released_trips": made.released_trips,
        "what_was_counted": say_left_out(made.datasheet),
        "written_to": str(folder),
        **(more or {}),
        "booked_in": booked_in,
        "verdict": [*made.accuracy.words, say_of_what(made.datasheet)],
    }
    present(facts, as_json=as_json)


def present_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool, title: str = "") -> None:
    """Show rows with the same columns."""
    if as_json:
        print(json.dumps(list(rows), indent=2, default=str))
        return
    table = Table(title=title or None, title_justify="left", title_style="bold")
    # A column in which nothing is known says nothing.
    names = [name for name in (rows[0] if rows else ()) if any(row[name] not in (None, "") for row in rows)]
    for name in names:
        table.add_column(str(name).replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(say_value(row[name]) for name in names))
    print_table(table)


def say_value(value: object) -> str:
    """A value for people: nothing where nothing is known, thousands apart, at most four digits that matter."""
    if value is None:
        return ""
    if type(value) is int:
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() or abs(value) >= 10_000 else f"{value:.4g}"
    return str(value)


def print_table(table: Table) -> None:
    """To a terminal as wide as that is; into a file or a pipe without cutting anything."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=UNCUT)
    console.print(table)


def remark(text: str, *, quiet: bool = False) -> None:
    """A word to the person at the terminal; never part of the result."""
    if not quiet:
        Console(stderr=True).print(text, style="dim", markup=False, highlight=False)


@dataclass(frozen=True)
class Spoken:
    """How a command speaks: to a person, or to a machine."""

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
