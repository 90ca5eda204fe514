"""`wayveil check`: what a file is, and how to release it."""

from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.options import (
    AsJson,
    BoundingBox,
    LedgerPlace,
    Quiet,
    ServiceDate,
    TripColumns,
    WalkRadius,
    present,
    world_words,
)
from wayveil.progress import shown


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

        wayveil check trips.csv --world city.zip
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
