"""`wayveil lab risk|report`: attacks with STRAP beside them, and an internal report with a comparison in it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.cli.opening import Inside, ReleaseFolder, open_release, read_raw
from wayveil.cli.options import Spoken, grouped, present
from wayveil.cli.releases import REPORT_QUERIES, Attacked, Full, Queries, write_internal
from wayveil.cli.risk import Attacker, Holdout, RawTrips, Written, attack_beside, present_risk, read_sides
from wayveil.errors import ParameterError
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.report.chart import FurtherSection


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


@grouped
def report(
    release: ReleaseFolder,
    comparison: Annotated[Path, typer.Option(help="Folder that `wayveil lab compare` wrote.")],
    inside: Inside,
    attacked: Attacked,
    spoken: Spoken,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file.")] = Path("internal.html"),
    full: Full = False,
    queries: Queries = REPORT_QUERIES,
) -> None:
    """Write the internal report with a section on other mechanisms and budgets. NOT for publication.

    wayveil lab report release/ --raw trips.csv --comparison compared/ --out internal.html
    """
    from wayveil.lab.comparison.comparison_page import ComparisonSection
    from wayveil.lab.comparison.comparison_results import Comparison

    raw = inside.raw
    if raw is None:
        raise ParameterError(
            "a comparison was made from raw trips and goes into the internal report: give --raw too"
        )
    if attacked.holdout is not None and not attacked.risk:
        raise ParameterError("--holdout is for attacks: add --risk")
    with shown(not spoken.silent):
        private = open_release(release)
        trips, _ = read_raw(raw, private, "report", inside.ledger)
        further: list[FurtherSection] = [ComparisonSection.of(Comparison.load(comparison))]
        if attacked.risk:
            further.append(attack_beside(out, private, raw, trips, attacked.holdout))
        write_internal(out, private, trips, further, full=full, queries=queries)
    present({"report": str(out), "for": "internal eyes only"}, as_json=spoken.as_json)
