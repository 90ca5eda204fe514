"""`wayveil lab sample`: more private trips from the model of a release."""

from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.opening import Trust, open_release
from wayveil.cli.options import AsJson, BoundingBox, Quiet, ServiceDate, WalkRadius, present
from wayveil.cli.releases import ReleaseFolder
from wayveil.cli.tap_commands import OptionalWorld
from wayveil.errors import ParameterError
from wayveil.progress import shown


def sample(
    release: ReleaseFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the trips go (.parquet or .csv).")],
    trips: Annotated[
        int | None, typer.Option(min=1, help="How many; default: as many as the release says there are.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed draws the same trips.")] = None,
    world: OptionalWorld = None,
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    trust: Trust = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw more private trips from the model of a release. They are paid for: this costs nothing.

    wayveil lab sample release/ --world city.zip --trips 100000 --out more.parquet
    """
    from wayveil.synthesis.model import DrawsMore
    from wayveil.trips.visits import write_visits

    with shown(not quiet and not as_json):
        private = open_release(release, world, bbox=bbox, date=date, walk_radius=walk_radius, trust=trust)
        if not isinstance(private.model, DrawsMore):
            made_by = private.datasheet["mechanism"]["name"]
            raise ParameterError(f"the model of this release ({made_by}) draws its own number of trips only")
        drawn = private.model.draw(trips, seed)
        write_visits(drawn, out)
    present({"trips": len(drawn), "written_to": str(out)}, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(sample)
