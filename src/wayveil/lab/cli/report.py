"""`wayveil lab report`: the internal report of a release with a comparison of mechanisms in it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayveil.cli.nouns import Spoken, grouped
from wayveil.cli.opening import Inside, ReleaseFolder, open_release, read_raw
from wayveil.cli.options import present
from wayveil.cli.releases import REPORT_QUERIES, Attacked, Full, Queries, write_internal
from wayveil.cli.risk import attack_beside
from wayveil.errors import ParameterError
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.report.further import FurtherSection


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
