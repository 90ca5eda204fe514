"""The page of a study: what was reached, every table and figure with ours beside theirs, and a csv of everything."""

import json
import re
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from wayveil import __version__
from wayveil.files import write_whole
from wayveil.lab.studies.exhibits import (
    SCALES,
    line_charts,
    plane_chart,
    study_record,
    table_heads,
    table_rows,
)
from wayveil.lab.studies.figure_verdicts import FigureVerdict, judge, remark
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.run_study import run_study
from wayveil.lab.studies.study import Exhibit, Study
from wayveil.lab.studies.study_results import Results
from wayveil.released.datasheet_page import templates
from wayveil.report.chart import Chart, write_page

INTERNAL = "This page shows figures computed from raw trips."


def study_page(
    name: str, lab: Lab, *, workers: int | None = None, minutes: float | None = None
) -> tuple[Path, list[FigureVerdict], Results]:
    """Run a study and write `index.html`, `figures/`, `results.csv` and `figures.json` into the lab's folder."""
    study, results = run_study(name, lab, workers=workers, minutes=minutes)
    folder = lab.out or Path()
    verdicts = judge(study, results)
    charts = {exhibit.label: _charts(exhibit, results) for exhibit in study.exhibits}
    for chart in (chart for found in charts.values() for chart in found):
        chart.save(folder / "figures")
    write_whole(folder / "results.csv", results.table.write_csv())
    sources = [source.words for source in lab.sources.values()]
    record = json.dumps(study_record(study, results, verdicts, charts, lab.scale, sources), indent=1)
    write_whole(folder / "figures.json", record + "\n")
    page = write_page(folder / "index.html", _html(study, lab, results, verdicts, charts))
    return page, verdicts, results


def _html(
    study: Study, lab: Lab, results: Results, verdicts: list[FigureVerdict], charts: dict[str, list[Chart]]
) -> str:
    exhibits = [
        {
            "id": f"e{at}",
            "about": exhibit,
            "heads": table_heads(exhibit, results),
            "rows": table_rows(exhibit, results) if exhibit.shape == "table" else [],
            "charts": [
                (chart.alt, Markup(chart.svg), f"figures/{chart.name}.csv") for chart in charts[exhibit.label]
            ],
            "verdict": next((one for one in verdicts if one.label == exhibit.label), None),
            "remark": remark(study, exhibit, results),
        }
        for at, exhibit in enumerate(study.exhibits)
    ]
    reached = sum(verdict.status == "reached" for verdict in verdicts)
    tiles = [
        ("tables and figures reached", f"{reached} of {len(verdicts)}"),
        ("cells run", f"{len(results.cells):,}"),
        ("processor time of all cells", f"{results.seconds:,.0f} s"),
        ("scale", lab.scale),
    ]
    environment = templates("wayveil.lab.studies", "wayveil.report", "wayveil.released")
    return environment.get_template("study.html.j2").render(
        study=study,
        internal=INTERNAL if lab.internal else "",
        scale=SCALES[lab.scale],
        extent=results.extent(study),
        times=results.times(),
        sources=list(lab.sources.values()),
        tiles=tiles,
        verdicts=verdicts,
        exhibits=exhibits,
        gaps=results.gaps(),
        version=__version__,
        marked=marked,
    )


def marked(text: str) -> Markup:
    """Words with names between backticks set as code.

    >>> str(marked("see `lab risk` & more"))
    'see <code>lab risk</code> &amp; more'
    """
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _charts(exhibit: Exhibit, results: Results) -> list[Chart]:
    if exhibit.shape == "lines":
        return line_charts(exhibit, results)
    if exhibit.shape == "plane":
        return [plane_chart(exhibit, results)]
    return results.pictures(exhibit) if exhibit.shape == "pictures" else []


def summary_rows(verdicts: list[FigureVerdict]) -> list[dict[str, Any]]:
    """For a terminal."""
    return [
        {
            "figure": one.label,
            "what": one.title,
            "status": one.status,
            "values": f"{one.reached} of {one.judged}",
        }
        for one in verdicts
    ]
