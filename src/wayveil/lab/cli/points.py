"""`wayveil lab trips`: GPS points as trips over a public grid."""

from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.gps import (
    Columns,
    GridWorld,
    Mapped,
    NoFix,
    Order,
    PointFile,
    Radius,
    Repeated,
    Riders,
    Rule,
    SplitGap,
    SplitMetres,
    grid_given,
    read_gps,
)
from wayveil.cli.options import AsJson, Quiet, present
from wayveil.progress import shown


def trips(
    points: PointFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the trips go (.parquet or .csv).")],
    world: GridWorld = None,
    columns: Columns = None,
    mapped: Mapped = None,
    split_gap: SplitGap = None,
    split_metres: SplitMetres = None,
    rule: Rule = None,
    order: Order = "auto",
    repeated: Repeated = "error",
    no_fix: NoFix = "error",
    riders: Riders = "auto",
    radius: Radius = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Read points as trips and write these, as raw as the points: for internal eyes.

    wayveil lab trips points.csv --world grid:37.60,-122.52,37.81,-122.35@250 --out trips.parquet
    """
    from wayveil.trips.visits import write_visits
    from wayveil.world.opening import open_world

    with shown(not quiet and not as_json):
        made = read_gps(
            points,
            open_world(grid_given(world)),
            columns,
            mapped,
            split_gap,
            split_metres,
            rule,
            order,
            repeated,
            no_fix,
            riders,
            radius,
        )
        write_visits(made, out, riders=made.rider is not None)
    present({**made.describe(), "written_to": str(out)}, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(trips)
