"""What a run leaves in `figures.json`: every verdict and every table, so that pages about it need nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from wayveil.lab.studies.exhibit_tables import table_heads, table_rows
from wayveil.lab.studies.figure_verdicts import FigureVerdict, remark
from wayveil.lab.studies.study import Exhibit, Study
from wayveil.lab.studies.study_results import Results
from wayveil.report.chart import Chart

SCALES = {
    "tiny": "tiny: shows that everything runs; its figures say nothing",
    "quick": "quick: few repetitions on small data",
    "full": "full: on as much data as the study",
}


def study_record(
    study: Study,
    results: Results,
    verdicts: Sequence[FigureVerdict],
    charts: Mapping[str, Sequence[Chart]],
    scale: str,
    sources: Sequence[str],
) -> dict[str, Any]:
    """The record of a run: what the docs are generated from."""
    return {
        "study": study.name,
        "title": study.title,
        "source": study.source,
        "scale": scale,
        "extent": results.extent(study),
        "seconds": round(results.seconds),
        "data": list(sources),
        "stand_in": study.stand_in,
        "figures": [asdict(verdict) for verdict in verdicts],
        "exhibits": [_exhibit(study, one, results, charts[one.label]) for one in study.exhibits],
        "gaps": results.gaps(),
    }


def _exhibit(study: Study, exhibit: Exhibit, results: Results, charts: Sequence[Chart]) -> dict[str, Any]:
    table = exhibit.shape == "table" and not exhibit.missing
    rows = table_rows(exhibit, results) if table else []
    return {
        "label": exhibit.label,
        "title": exhibit.title,
        "shape": exhibit.shape,
        "down": exhibit.down,
        "note": exhibit.note,
        "said": "" if exhibit.published else remark(study, exhibit, results),
        "missing": exhibit.missing,
        "heads": table_heads(exhibit, results) if table else [],
        "rows": [[row.head, row.series, *row.cells] for row in rows],
        "measured": bool(results.places(exhibit)) if table else bool(charts),
        "charts": [chart.name for chart in charts],
    }
