"""`wayveil lab world`: what is in a public world."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.nouns import Spoken, grouped
from wayveil.cli.options import (
    BoundingBox,
    ServiceDate,
    Stations,
    WalkRadius,
    present,
    remark,
)
from wayveil.errors import ParameterError
from wayveil.progress import shown


@dataclass(frozen=True, kw_only=True)
class WorldOptions:
    """What `world` takes."""

    feed: Annotated[Path, typer.Argument(help="GTFS zip or folder, saved network, or list of locations.")]
    bbox: BoundingBox = None
    date: ServiceDate = None
    walk_radius: WalkRadius = None
    stations: Stations = True
    out: Annotated[
        Path | None, typer.Option(help="Save the network here (.npz), to open it faster later.")
    ] = None
    ngrams: Annotated[
        int, typer.Option(min=1, max=100, help="Also say how many runs of so many stops are possible.")
    ] = 3


@grouped
def world(options: WorldOptions, spoken: Spoken) -> None:
    """Read a public world and say what is in it: stops, stations, edges, components.

    The possible runs of stops (n-grams) are what mechanisms that count them add noise to; without immediate returns
    (a, b, a) they are fewer.

        wayveil lab world city.zip --out city.npz
    """
    from wayveil.world.network import Network
    from wayveil.world.ngrams import NgramUniverse, count_without_returns
    from wayveil.world.opening import open_world

    with shown(not spoken.silent):
        city = open_world(
            options.feed,
            bbox=options.bbox,
            service_date=options.date,
            stations=options.stations,
            walk_radius_metres=options.walk_radius,
        )
    if isinstance(city, Network):
        if not spoken.as_json:
            for warning in city.warnings:
                remark(f"note: {warning}", quiet=spoken.quiet)
        if options.out is not None:
            city.save(options.out)
    elif options.out is not None:
        raise ParameterError("only networks are saved; a list of locations already is a file")
    sizes = {
        f"possible_{options.ngrams}_grams": NgramUniverse(city, options.ngrams).size,
        f"possible_{options.ngrams}_grams_without_immediate_returns": count_without_returns(
            city, options.ngrams
        ),
    }
    present({**city.describe(), **sizes}, as_json=spoken.as_json)
