"""A comparison as one HTML file, or as a part of a page: who is best at what, and every figure."""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import polars as pl
from markupsafe import Markup

from wayveil.lab.comparison.comparison_charts import (
    LEAST_FOR_A_BAND,
    error_against_epsilon,
    error_against_parameter,
    privacy_utility,
)
from wayveil.lab.comparison.comparison_results import Comparison, Point, curves_over, varied_parameters
from wayveil.lab.comparison.recommend import HEADLINES, Recommendation, recommend
from wayveil.report.chart import COMPARISON, Chart, environment, write_page
from wayveil.utility.figures import CEILING, EMPTY, FLOOR

LINES = {
    CEILING: "Ceiling: a resample of the raw trips.",
    FLOOR: "Floor: public knowledge only.",
    EMPTY: "Empty: no trips at all.",
}


@dataclass(frozen=True, eq=False)
class ComparisonSection:
    """Section that both the report and the page of a comparison show; `key` explains the lines of its charts."""

    scope: str
    key: str
    pictures: list[Chart]
    choices: list[Recommendation]
    gaps: list[tuple[str, str]]
    title: str = "Comparison"
    target: str = COMPARISON

    @classmethod
    def of(cls, comparison: Comparison) -> "ComparisonSection":
        """Draw the charts and find the best."""
        epsilons = ", ".join(f"{epsilon:g}" for epsilon in comparison.epsilons)
        repetitions = (comparison.table["repetition"].max() or 0) + 1  # type: ignore[operator]
        releases = "1 release" if repetitions == 1 else f"{repetitions} releases"
        scope = f"{len(comparison.mechanisms)} mechanisms, epsilon {epsilons}, {releases} of each"
        charts = headline_charts(comparison)
        return cls(scope, explain_lines(charts), charts, recommend(comparison), list(comparison.gaps()))

    def charts(self, folder: str | None) -> list[tuple[str, Markup, str | None]]:
        """Text, picture, and where its numbers lie."""
        return [
            (chart.alt, Markup(chart.svg), None if folder is None else f"{folder}/{chart.name}.csv")
            for chart in self.pictures
        ]

    def html(self, data: str | None) -> str:
        """The section of an internal report."""
        template = environment("wayveil.lab.comparison").get_template("section.html.j2")
        return template.render(section=self, data=data, number=number)

    def save(self, folder: str | Path) -> list[Path]:
        """Every chart as SVG and csv."""
        return [path for chart in self.pictures for path in chart.save(folder)]


def explain_lines(charts: list[Chart]) -> str:
    """Explain what is drawn beside the curves, and nothing that is not."""
    drawn = pl.concat([chart.data for chart in charts], how="diagonal_relaxed")
    banded = "repetitions" in drawn.columns and (drawn["repetitions"] >= LEAST_FOR_A_BAND).any()
    bands = "Bands are 95 % intervals over repetitions." if banded else "Too few repetitions for intervals."
    names = set(drawn["name"])
    return " ".join([bands, *(words for line, words in LINES.items() if line in names)])


def headline_charts(comparison: Comparison) -> list[Chart]:
    """The privacy-utility picture, then each headline figure that was measured, against epsilon and what was varied."""
    measured = {figure["key"] for figure in comparison.figures}
    charts = [privacy_utility(comparison, name="privacy-utility", title="All headline figures together")]
    for question, key in HEADLINES.items():
        if key in measured and comparison.curves(key, plain_laplace=False):
            name = "epsilon-" + key.replace("/", "-").replace("_", "-")
            charts.append(error_against_epsilon(comparison, key, name=name, title=question.capitalize()))
            charts += _parameter_charts(comparison, key, question.capitalize())
    return charts


def _parameter_charts(comparison: Comparison, key: str, title: str) -> list[Chart]:
    """Draw the figure against each parameter of which several values were tried."""
    return [
        error_against_parameter(
            comparison,
            key,
            parameter,
            name=f"{parameter.replace('_', '-')}-{key.replace('/', '-').replace('_', '-')}",
            title=title,
        )
        for parameter in varied_parameters(comparison)
        if curves_over(comparison, key, parameter)
    ]


def number(value: float) -> str:
    """Three digits are enough."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


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
