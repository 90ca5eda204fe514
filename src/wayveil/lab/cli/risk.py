"""`wayveil lab risk`: attacks with STRAP beside them, on releases and on what `anonymise` wrote."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wayveil.cli.nouns import Spoken, grouped
from wayveil.cli.opening import open_release
from wayveil.cli.risk import Attacker, Holdout, RawTrips, Written, present_risk, read_sides
from wayveil.errors import ParameterError
from wayveil.progress import shown


@grouped
def risk(
    release: Annotated[Path, typer.Argument(help="The folder of a release, or what `anonymise` wrote.")],
    raw: RawTrips,
    attacker: Attacker,
    written: Written,
    spoken: Spoken,
    holdout: Holdout = None,
    world: Annotated[
        Path | None,
        typer.Option(
            "--world", "-w", help="The public places of what `anonymise` wrote; a release has its own."
        ),
    ] = None,
    p: Annotated[float, typer.Option("--p", help="Chance that STRAP's adversary knows a visit.")] = 0.3,
) -> None:
    """Attack a release as `wayveil risk` does, and put STRAP (cells of 500 m and 1 km) beside. NOT for publication.

    wayveil lab risk glove/ --raw trips.csv --world city.zip --holdout others.csv
    """
    from wayveil.attacks.assess import RiskSettings
    from wayveil.lab.strap.strap_study import StrapBeside, risk_and_strap
    from wayveil.lab.syntactic.method import is_syntactic, load_syntactic
    from wayveil.world.opening import open_world

    with shown(not spoken.silent):
        made: Any
        if not is_syntactic(release):
            made = open_release(release, world)
        elif world is None:
            raise ParameterError(
                "what `anonymise` wrote holds no world: say which places it is over with --world"
            )
        else:
            made = load_syntactic(release, open_world(world))
        sides = read_sides(raw, holdout, made.trips)
        settings = RiskSettings(**vars(attacker))
        found = risk_and_strap(made, *sides, settings=settings, strap=StrapBeside(p=p))
    present_risk(found, written, spoken)
