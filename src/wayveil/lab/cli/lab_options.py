"""Options that several commands of the lab share."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.errors import ParameterError
from wayveil.plan.meanings import MEANINGS
from wayveil.sources.column_names import parse_map

if TYPE_CHECKING:
    from wayveil.taps.taps import Taps
    from wayveil.world.world import World

WorldFile = Annotated[Path, typer.Option("--world", "-w", help=MEANINGS["place"])]
OptionalWorld = Annotated[Path | None, typer.Option("--world", "-w", help=MEANINGS["place"])]
Stations = Annotated[bool, typer.Option(help="Merge platforms into their stations.")]
Preset = Annotated[
    str | None,
    typer.Option(
        help="`published`: parameters as the mechanism's authors set them (`wayveil lab mechanisms NAME` shows which); "
        "what is set besides goes first. Mechanisms without one refuse."
    ),
]
Epsilon = Annotated[str, typer.Option("--epsilon", "-e", help=MEANINGS["epsilon"])]
DatasetName = Annotated[str | None, typer.Option(help=MEANINGS["name"])]
DAYS = 6  # of the study's period

TapFile = Annotated[Path, typer.Argument(help="The taps (csv or parquet).")]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Layout: wayveil, bc-transit, tides, tides-draft, sube, scikit-mobility, or a TOML file."
    ),
]
Mapped = Annotated[
    list[str] | None,
    typer.Option("--map", help="One column, ours=theirs (event_time=ts); repeatable; in place of --columns."),
]
RulesFile = Annotated[
    Path | None, typer.Option("--rules", help="TOML file that changes the rules of the reconstruction.")
]
Zone = Annotated[
    str | None,
    typer.Option(
        help="The city's time zone (Europe/Madrid): times that name a zone are put on its clock. Without it every row "
        "keeps the wall time that it shows."
    ),
]
OptOut = Annotated[
    str | None,
    typer.Option(
        help="Column with the wish not to be counted (1, true, yes): such rows are left out, each by itself."
    ),
]


def open_places(world: Path | None, bbox: str | None = None, walk_radius: float | None = None) -> "World":
    """Open the public places that a command names."""
    from wayveil.world.opening import open_world

    if world is None:
        raise ParameterError(
            "give the public places with --world: a feed, a list of places or grid:south,west,north,east@250, "
            "one of them"
        )
    return open_world(world, bbox=bbox, walk_radius_metres=walk_radius)


def layout_of(columns: str | None, mapped: list[str] | None) -> Any:
    """Columns of a tap file: a layout by name, or columns named one by one."""
    from wayveil.taps.columns import ColumnMap

    if not mapped:
        return columns
    if columns is not None:
        raise ParameterError("give --columns or --map, not both")
    return parse_map(mapped, tuple(ColumnMap.model_fields), "event_time=ts")


def read_clean(
    file: Path,
    city: "World",
    columns: str | None,
    mapped: list[str] | None,
    zone: str | None = None,
    opt_out: str | None = None,
) -> "Taps":
    from wayveil.taps.read import read_taps

    return read_taps(file, city, layout_of(columns, mapped), zone=zone, opt_out=opt_out).taps


def day_of(text: str) -> datetime.date:
    """A day that was written as YYYY-MM-DD."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise ParameterError(f"{text!r} is not a date; write YYYY-MM-DD") from error
