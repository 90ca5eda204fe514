"""A comparison as one HTML file: who is best at what, every figure, what could not be run."""

from itertools import groupby
from pathlib import Path

from wayveil.lab.comparison.comparison_results import Comparison, Point
from wayveil.lab.comparison.section import ComparisonSection, number
from wayveil.report.page_files import environment, write_page
from wayveil.utility.reference import CEILING, EMPTY, FLOOR


def write_comparison_page(
    path: str | Path, comparison: Comparison, *, title: str = "Comparison", tuned_on: str = "the raw trips"
) -> Path:
    """Write the page, and its charts with their data as csv in a folder `charts` beside it.

    The page compares with raw trips, says so at its top, and is not for publication; `tuned_on` names the trips
    that were compared, which may be simulated ones.
    """
    path = Path(path)
    section = ComparisonSection.of(comparison)
    page = (
        environment("wayveil.lab.comparison")
        .get_template("comparison.html.j2")
        .render(
            title=title,
            tuned_on=tuned_on,
            notice=comparison.notice,
            facts=_facts(comparison),
            section=section,
            number=number,
            tables=figure_tables(comparison),
            epsilons=[f"{epsilon:g}" for epsilon in comparison.epsilons],
        )
    )
    write_page(path, page)
    section.save(path.parent / "charts")
    return path


def figure_tables(comparison: Comparison) -> list[dict[str, object]]:
    """Every figure: a row per mechanism, a column per epsilon, and the reference lines."""
    points = comparison.points
    tables: list[dict[str, object]] = []
    for question, figures in groupby(comparison.figures, key=lambda figure: figure["question"]):
        parts = []
        for figure in figures:
            own = [p for p in points if p.key == figure["key"]]
            lines = comparison.references(figure["key"])
            names = dict.fromkeys(p.name for p in own if p.epsilon is not None)
            rows = [(name, [_cell(own, name, epsilon) for epsilon in comparison.epsilons]) for name in names]
            references = [(line, number(lines[line])) for line in (CEILING, FLOOR, EMPTY) if line in lines]
            parts.append({**figure, "rows": rows, "references": references})
        tables.append({"question": question, "figures": parts})
    return tables


def _cell(points: list[Point], name: str, epsilon: float) -> str:
    for point in points:
        if point.name == name and point.epsilon == epsilon:
            half = "" if point.low is None else f" ± {number(point.value - point.low)}"
            return number(point.value) + half
    return "–"


def _facts(comparison: Comparison) -> list[tuple[str, str]]:
    table = comparison.table
    return [
        ("mechanisms", f"{len(comparison.mechanisms)}"),
        ("epsilons", ", ".join(f"{epsilon:g}" for epsilon in comparison.epsilons)),
        ("repetitions", f"{(table['repetition'].max() or 0) + 1}"),  # type: ignore[operator]
        ("figures", f"{len(comparison.figures)}"),
    ]
