"""`wayveil lab report`: the internal report of a release with a comparison of mechanisms in it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayveil.cli.opening import Look, Trust, open_release, read_raw
from wayveil.cli.options import AsJson, DatasetName, LedgerPlace, Quiet, present
from wayveil.cli.releases import REPORT_QUERIES, Full, Queries, ReleaseFolder, write_internal
from wayveil.cli.risk import attack_beside
from wayveil.cli.tap_commands import OptionalWorld
from wayveil.errors import ParameterError
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.report.further import FurtherSection


def report(
    release: ReleaseFolder,
    comparison: Annotated[Path, typer.Option(help="Folder that `wayveil lab compare` wrote.")],
    raw: Annotated[Path | None, typer.Option(help="The raw trips, which the report shows beside.")] = None,
    world: OptionalWorld = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file.")] = Path("internal.html"),
    full: Full = False,
    risk: Annotated[bool, typer.Option("--risk", help="Attack the release too, on a page beside.")] = False,
    holdout: Annotated[Path | None, typer.Option(help="With --risk: trips of other people.")] = None,
    trust: Trust = None,
    queries: Queries = REPORT_QUERIES,
    ledger: LedgerPlace = None,
    dataset: DatasetName = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write the internal report with a section on other mechanisms and budgets. NOT for publication.

    wayveil lab report release/ --raw trips.csv --world city.zip --comparison compared/ --out internal.html
    """
    from wayveil.lab.comparison.comparison_results import Comparison
    from wayveil.lab.comparison.section import ComparisonSection

    if raw is None:
        raise ParameterError(
            "a comparison was made from raw trips and goes into the internal report: give --raw too"
        )
    if holdout is not None and not risk:
        raise ParameterError("--holdout is for attacks: add --risk")
    with shown(not quiet and not as_json):
        private = open_release(release, world, trust=trust)
        trips, _ = read_raw(raw, private, look=Look("report", ledger, dataset))
        further: list[FurtherSection] = [ComparisonSection.of(Comparison.load(comparison))]
        if risk:
            further.append(attack_beside(out, private, raw, trips, holdout))
        write_internal(out, private, trips, further, full=full, queries=queries)
    present({"report": str(out), "for": "internal eyes only"}, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)
