"""A trend as one HTML file: what changed by more than noise, in words, pictures and tables. May be published."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.questions import TREND_QUESTIONS
from wayveil.answers.trends import Trend, find_trend, name_releases
from wayveil.errors import ParameterError, RefusedError
from wayveil.report.page_files import environment, write_page
from wayveil.report.trend_pictures import change_chart, course_chart

# Cells of a stop and an hour are too many for a page; they go into a table of their own (--out).
ON_PAGE = tuple(question for question in TREND_QUESTIONS if question != "stop-hours")
MOST_ROWS = 20


def write_trend_page(
    path: str | Path, releases: Sequence[JudgedRelease], *, title: str = "What changed", anyway: bool = False
) -> Path:
    """Write the page, and its pictures with their numbers as csv in a folder `charts` beside it."""
    path = Path(path)
    sections, missing = [], []
    for question in ON_PAGE:
        try:
            trend = find_trend(releases, question, anyway=anyway)
        except (ParameterError, RefusedError) as refused:
            missing.append(f"{question}: {refused}")
            continue
        charts = [chart for chart in (course_chart(trend), change_chart(trend)) if chart is not None]
        sections.append(
            {"trend": trend, "rows": _rows(trend), "charts": [(c.alt, Markup(c.svg)) for c in charts]}
        )
        for chart in charts:
            chart.save(path.parent / "charts")
    page = environment().get_template("trend.html.j2")
    html = page.render(
        title=title,
        names=name_releases(releases),
        sections=sections,
        missing=missing,
        guarantees=[each.datasheet["guarantee"]["sentence"] for each in (releases[0], releases[-1])],
    )
    return write_page(path, html)


def _rows(trend: Trend) -> list[dict[str, str]]:
    """The changes that are more than noise, and if there are none, the largest numbers."""
    table = trend.changed if trend.changed.height else trend.table
    found = []
    for row in table.head(MOST_ROWS).iter_rows(named=True):
        shown = {key: str(row[key]) for key in trend.keys if row[key] is not None}
        for name in ("before", "after", "change"):
            ends = ("low", "high") if name == "change" else (f"{name}_low", f"{name}_high")
            shown[name] = _number(row[name], row[ends[0]], row[ends[1]], sign="+" if name == "change" else "")
        shown["verdict"] = row["verdict"]
        for when in ("before", "after"):
            best, worst = row.get(f"rank_{when}"), row.get(f"rank_{when}_worst")
            if best is not None:
                shown[f"rank {when}"] = f"{best:,}" if best == worst else f"{best:,} to {worst:,}"
        found.append(shown)
    return found


def _number(value: float | None, low: float | None, high: float | None, sign: str) -> str:
    if value is None:
        return "not known"
    if low is None or high is None:
        return f"{value:{sign},.0f}"
    return f"{value:{sign},.0f} ({low:{sign},.0f} to {high:{sign},.0f})"
