"""`wayveil risk`: attack one's own release, for internal eyes."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayveil.cli.opening import HeldWorld, ReleaseFolder, open_release
from wayveil.cli.options import Spoken, grouped, remark
from wayveil.cli.tables import say_lines
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.attacks.attack_findings import RiskReport
    from wayveil.releases.release import Release
    from wayveil.report.chart import LinkedPage
    from wayveil.trips.trips import Trips

RawTrips = Annotated[Path, typer.Option("--raw", help="The raw trips that the release was made from.")]
Holdout = Annotated[
    Path | None,
    typer.Option(
        help="Trips of other people of the same source, who are not in the data. Without it there are rates, but "
        "no risk: what the same attack reaches on anybody is then unknown."
    ),
]


@dataclass(frozen=True)
class Attacker:
    """Options of the attacker."""

    targets: Annotated[int, typer.Option(help="People attacked on each side at most.")] = 2_000
    metres: Annotated[float, typer.Option(help="A released trip closer than this is a link.")] = 100.0
    hours: Annotated[
        bool | None,
        typer.Option(help="Whether the attacker knows hours; default: where raw and release carry times."),
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of what the attacker happens to know.")] = 0


@dataclass(frozen=True)
class Written:
    """Options that say what is written of the attacks."""

    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write the figures to this JSON file.")
    ] = None
    page: Annotated[
        Path | None, typer.Option("--page", help="Also write the risk page of the internal report (HTML).")
    ] = None


@grouped
def risk(
    release: ReleaseFolder,
    raw: RawTrips,
    attacker: Attacker,
    written: Written,
    spoken: Spoken,
    holdout: Holdout = None,
    world: HeldWorld = None,
) -> None:
    """Attack a release: can somebody be singled out, linked, inferred, or told to be in the data? NOT for publication.

    Every attack is run on people in the data and on people who are not (--holdout), and the risk is what the first
    have to fear beyond the second. docs/risk.md explains every figure.

        wayveil risk release/ --raw trips.csv --holdout others.csv
    """
    from wayveil.attacks.assess import RiskSettings
    from wayveil.attacks.assess import risk as attack

    settings = RiskSettings(**vars(attacker))
    with shown(not spoken.silent):
        made = open_release(release, world)
        found = attack(made, *read_sides(raw, holdout, made.trips), settings=settings)
    present_risk(found, written, spoken)


def read_sides(raw: Path, holdout: Path | None, released: "Trips") -> "tuple[Trips, Trips | None]":
    """The raw trips, and those of people who are not in the data."""
    from wayveil.attacks.targets import read_holdout
    from wayveil.trips.read import read_trips

    trips = read_trips(raw, released.world)
    return trips, None if holdout is None else read_holdout(holdout, raw, trips, released.world)


def present_risk(found: "RiskReport", written: Written, spoken: Spoken) -> None:
    """Write the figures and the page that are wanted, and show what was found."""
    from wayveil.report.risk_page import write_risk_page

    if written.out is not None:
        written.out.write_text(found.to_json())
    if written.page is not None:
        write_risk_page(written.page, found)
    say_lines((found.to_json() if spoken.as_json else str(found)).splitlines())
    remark("For internal eyes; docs/risk.md says how to read it.", quiet=spoken.silent)


def attack_beside(
    report: Path, release: "Release", raw: Path, trips: "Trips", holdout: Path | None
) -> "LinkedPage":
    """Write the risk page of an internal report beside it."""
    from wayveil.attacks.assess import risk as attack
    from wayveil.attacks.targets import read_holdout
    from wayveil.report.chart import LinkedPage
    from wayveil.report.risk_page import write_risk_page

    others = None if holdout is None else read_holdout(holdout, raw, trips, release.world)
    page = write_risk_page(report.with_name(f"{report.stem}-risk.html"), attack(release, trips, others))
    return LinkedPage("Risk", page.name)
