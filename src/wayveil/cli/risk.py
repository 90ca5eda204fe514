"""`wayveil risk`: attack one's own release, for internal eyes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.cli.opening import Trust, open_release
from wayveil.cli.options import AsJson, BoundingBox, Quiet, WorldFile, remark
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.releases.release import Release
    from wayveil.trips.trips import Trips


def risk(
    release: Annotated[Path, typer.Argument(help="The folder of a release, or what `anonymise` wrote.")],
    raw: Annotated[Path, typer.Option("--raw", help="The raw trips that the release was made from.")],
    world: WorldFile,
    holdout: Annotated[
        Path | None,
        typer.Option(
            help="Trips of other people of the same source, who are not in the data. Without it there are rates, but "
            "no risk: what the same attack reaches on anybody is then unknown."
        ),
    ] = None,
    targets: Annotated[int, typer.Option(help="People attacked on each side at most.")] = 2_000,
    metres: Annotated[float, typer.Option(help="A released trip closer than this is a link.")] = 100.0,
    hours: Annotated[
        bool | None,
        typer.Option(help="Whether the attacker knows hours; default: where raw and release carry times."),
    ] = None,
    strap: Annotated[
        bool, typer.Option(help="Put STRAP (cells of 500 m and 1 km) beside the attacks.")
    ] = True,
    p: Annotated[float, typer.Option("--p", help="Chance that STRAP's adversary knows a visit.")] = 0.3,
    seed: Annotated[int, typer.Option(help="Seed of what the attacker happens to know.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write the figures to this JSON file.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Also write the risk page of the internal report (HTML).")
    ] = None,
    bbox: BoundingBox = None,
    trust: Trust = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Attack a release: can somebody be singled out, linked, inferred, or told to be in the data? NOT for publication.

    Every attack is run on people in the data and on people who are not (--holdout), and the risk is what the first
    have to fear beyond the second. docs/risk.md explains every figure.

        wayveil risk release/ --raw trips.csv --world city.zip --holdout others.csv
    """
    from wayveil.attacks.assess import RiskSettings
    from wayveil.attacks.assess import risk as attack
    from wayveil.attacks.holdout import read_holdout
    from wayveil.lab.syntactic.method import is_syntactic, load_syntactic
    from wayveil.report.risk_page import write_risk_page
    from wayveil.trips.read import read_trips
    from wayveil.world.opening import open_world

    settings = RiskSettings(targets=targets, metres=metres, hours=hours, seed=seed, strap=strap, p=p)
    with shown(not quiet and not as_json):
        if is_syntactic(release):
            made: Any = load_syntactic(release, open_world(world, bbox=bbox))
        else:
            made = open_release(release, world, bbox=bbox, trust=trust)
        city = made.trips.world
        trips = read_trips(raw, city)
        others = None if holdout is None else read_holdout(holdout, raw, trips, city)
        found = attack(made, trips, others, settings=settings)
    if out is not None:
        out.write_text(found.to_json())
    if page is not None:
        write_risk_page(page, found)
    typer.echo(found.to_json() if as_json else str(found))
    remark("For internal eyes; docs/risk.md says how to read it.", quiet=quiet or as_json)


def attack_beside(report: Path, release: "Release", raw: Path, trips: "Trips", holdout: Path | None) -> Path:
    """The risk page of an internal report, beside it."""
    from wayveil.attacks.assess import risk as attack
    from wayveil.attacks.holdout import read_holdout
    from wayveil.report.risk_page import write_risk_page

    others = None if holdout is None else read_holdout(holdout, raw, trips, release.world)
    return write_risk_page(risk_page_beside(report), attack(release, trips, others))


def risk_page_beside(report: Path) -> Path:
    """Where the risk page of a report goes."""
    return report.with_name(f"{report.stem}-risk.html")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(risk)
