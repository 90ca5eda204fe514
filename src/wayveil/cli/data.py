"""Commands about inputs: `world`, `check`."""

from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.options import (
    AsJson,
    BoundingBox,
    LedgerPlace,
    Quiet,
    ServiceDate,
    Stations,
    TripColumns,
    WalkRadius,
    present,
    remark,
    world_words,
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


def check(
    file: Annotated[Path, typer.Argument(help="A file of trips, a GTFS feed, or a list of locations.")],
    world: Annotated[
        Path | None, typer.Option("--world", "-w", help="The public world that trips refer to.")
    ] = None,
    mapped: TripColumns = None,
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="The privacy budget that the plan is made for.")
    ] = "1",
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    ledger: LedgerPlace = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Say what a file is, what is wrong with it, and how to release it. Spends nothing. INTERNAL: keep it inside.

    Ends with the exact `wayveil release` command that it recommends.
    """
    from wayveil.cli.check import Checked

    with shown(not quiet and not as_json):
        words = [] if world is None else world_words(world, bbox, date, walk_radius)
        checked = Checked.of_file(
            file, world, mapped or [], epsilon, ledger, words, bbox=bbox, date=date, walk=walk_radius
        )
    if as_json:
        present(checked.facts(), as_json=True)
    else:
        for line in checked.lines():
            typer.echo(line)
    if not checked.findings.ok:
        raise typer.Exit(2)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (world, check):
        app.command()(command)
