"""`wayveil lab sample`: more private trips from the model of a release."""

from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.opening import HeldWorld, ReleaseFolder, open_release
from wayveil.cli.options import AsJson, Quiet, present
from wayveil.progress import shown


def sample(
    release: ReleaseFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the trips go (.parquet or .csv).")],
    trips: Annotated[
        int | None, typer.Option(min=1, help="How many; default: as many as the release says there are.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed draws the same trips.")] = None,
    world: HeldWorld = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw more private trips from the model of a release. They are paid for: this costs nothing.

    wayveil lab sample release/ --trips 100000 --out more.parquet
    """
    from wayveil.releases.verbs import sample as draw
    from wayveil.trips.visits import write_visits

    with shown(not quiet and not as_json):
        drawn = draw(open_release(release, world), trips, seed=seed)
        write_visits(drawn, out)
    present({"trips": len(drawn), "written_to": str(out)}, as_json=as_json)
