"""`wayveil lab risk`: attacks with STRAP beside them, on releases and on what `anonymise` wrote."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wayveil.cli.opening import Trust, open_release
from wayveil.cli.options import AsJson, BoundingBox, Quiet, WorldFile
from wayveil.cli.risk import (
    FiguresOut,
    Holdout,
    Hours,
    KnownSeed,
    Metres,
    RawTrips,
    RiskPage,
    Targets,
    present_risk,
    read_sides,
)
from wayveil.progress import shown


def risk(
    release: Annotated[Path, typer.Argument(help="The folder of a release, or what `anonymise` wrote.")],
    raw: RawTrips,
    world: WorldFile,
    holdout: Holdout = None,
    targets: Targets = 2_000,
    metres: Metres = 100.0,
    hours: Hours = None,
    p: Annotated[float, typer.Option("--p", help="Chance that STRAP's adversary knows a visit.")] = 0.3,
    seed: KnownSeed = 0,
    out: FiguresOut = None,
    page: RiskPage = None,
    bbox: BoundingBox = None,
    trust: Trust = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Attack a release as `wayveil risk` does, and put STRAP (cells of 500 m and 1 km) beside. NOT for publication.

    wayveil lab risk glove/ --raw trips.csv --world city.zip --holdout others.csv
    """
    from wayveil.attacks.assess import RiskSettings
    from wayveil.lab.strap.beside import StrapBeside, risk_and_strap
    from wayveil.lab.syntactic.method import is_syntactic, load_syntactic
    from wayveil.world.opening import open_world

    settings, strap = RiskSettings(targets=targets, metres=metres, hours=hours, seed=seed), StrapBeside(p=p)
    with shown(not quiet and not as_json):
        made: Any
        if is_syntactic(release):
            made = load_syntactic(release, open_world(world, bbox=bbox))
        else:
            made = open_release(release, world, bbox=bbox, trust=trust)
        sides = read_sides(raw, holdout, made.trips)
        found = risk_and_strap(made, *sides, settings=settings, strap=strap)
    present_risk(found, out, page, as_json=as_json, quiet=quiet)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(risk)
