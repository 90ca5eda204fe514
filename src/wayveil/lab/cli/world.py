"""`wayveil lab world`: what is in a public world."""

from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.options import (
    AsJson,
    BoundingBox,
    Quiet,
    ServiceDate,
    Stations,
    WalkRadius,
    present,
    remark,
)
from wayveil.errors import ParameterError
from wayveil.progress import shown


def world(
    feed: Annotated[Path, typer.Argument(help="GTFS zip or folder, saved network, or list of locations.")],
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    stations: Stations = True,
    out: Annotated[
        Path | None, typer.Option(help="Save the network here (.npz), to open it faster later.")
    ] = None,
    ngrams: Annotated[
        int, typer.Option(min=1, max=100, help="Also say how many runs of so many stops are possible.")
    ] = 3,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Read a public world and say what is in it: stops, stations, edges, components.

    The possible runs of stops (n-grams) are what mechanisms that count them add noise to; without immediate returns
    (a, b, a) they are fewer.

        wayveil lab world city.zip --out city.npz
    """
    from wayveil.world.network import Network
    from wayveil.world.ngrams import NgramUniverse, count_without_returns
    from wayveil.world.opening import open_world

    with shown(not quiet and not as_json):
        city = open_world(
            feed, bbox=bbox, service_date=date, stations=stations, walk_radius_metres=walk_radius
        )
    if isinstance(city, Network):
        if not as_json:
            for warning in city.warnings:
                remark(f"note: {warning}", quiet=quiet)
        if out is not None:
            city.save(out)
    elif out is not None:
        raise ParameterError("only networks are saved; a list of locations already is a file")
    sizes = {
        f"possible_{ngrams}_grams": NgramUniverse(city, ngrams).size,
        f"possible_{ngrams}_grams_without_immediate_returns": count_without_returns(city, ngrams),
    }
    present({**city.describe(), **sizes}, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(world)
