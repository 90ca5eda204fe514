"""A trend as one HTML file: what changed by more than noise, in words, pictures and tables. May be published."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
import polars as pl
from markupsafe import Markup

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.questions import TREND_QUESTIONS
from wayveil.answers.trends import LESS, MORE, Trend, find_trend, name_releases
from wayveil.arrays import Floats
from wayveil.errors import ParameterError, RefusedError
from wayveil.report.chart import Chart, environment, write_page

WIDTH, LABELS, ROW = 820, 250, 22
MOST_ROWS = 24


def change_chart(trend: Trend) -> Chart | None:
    """The largest changes as dots with the reach of noise; those beyond noise are filled. None where none is known."""
    known = trend.table.filter(pl.col("low").is_not_null())
    if trend.question == "hours":
        shown = known.sort("hour")
    else:
        shown = known.sort(pl.col("change").abs(), descending=True, maintain_order=True).head(MOST_ROWS)
    if shown.height == 0:
        return None
    low, change, high = (shown[name].to_numpy() for name in ("low", "change", "high"))
    across = _Axis(min(float(low.min()), 0.0), max(float(high.max()), 0.0), LABELS, WIDTH - 20)
    height = ROW * (shown.height + 2)
    parts = [
        f'<line class="grid" x1="{across(tick):.1f}" x2="{across(tick):.1f}" y1="0" y2="{height - ROW}"/>'
        f'<text x="{across(tick):.1f}" y="{height - 6}" text-anchor="middle">{_signed(tick)}</text>'
        for tick in across.ticks()
    ]
    parts.append(
        f'<line class="whisker" x1="{across(0):.1f}" x2="{across(0):.1f}" y1="0" y2="{height - ROW}"/>'
    )
    labels = [_label(row, trend.keys) for row in shown.iter_rows(named=True)]
    for at, (label, verdict) in enumerate(zip(labels, shown["verdict"], strict=True)):
        y = ROW * (at + 1)
        sure = verdict in (MORE, LESS)
        tip = f"{label}: {change[at]:+,.0f} ({low[at]:+,.0f} to {high[at]:+,.0f}), {verdict}"
        parts.append(
            f"<g><title>{escape(tip)}</title>"
            f'<text x="{LABELS - 12}" y="{y + 4}" text-anchor="end">{escape(label[:38])}</text>'
            f'<line class="whisker" opacity="{1 if sure else 0.35}" x1="{across(low[at]):.1f}" '
            f'x2="{across(high[at]):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle class="bar" cx="{across(change[at]):.1f}" cy="{y}" r="{6 if sure else 3}"/></g>'
        )
    alt = f"Changes of {trend.question} from {trend.names[0]} to {trend.names[-1]} with 95 % intervals."
    svg = _svg(parts, height, alt)
    return Chart(f"change-{trend.question}", svg, shown, alt, plain=True)


def course_chart(trend: Trend) -> Chart | None:
    """The sum of all numbers of every release with its interval, over time; for the question `total`."""
    series = trend.series
    if trend.question != "total" or series["low"].null_count():
        return None
    value, low, high = (series[name].to_numpy() for name in ("answer", "low", "high"))
    up = _Axis(0.0, float(high.max()), 220, 20)
    step = (WIDTH - 120) / max(len(value) - 1, 1)
    x = 80 + step * np.arange(len(value)) if len(value) > 1 else np.array([WIDTH / 2])
    parts = [
        f'<line class="grid" x1="60" x2="{WIDTH - 20}" y1="{up(tick):.1f}" y2="{up(tick):.1f}"/>'
        f'<text x="54" y="{up(tick) + 4:.1f}" text-anchor="end">{tick:,.0f}</text>'
        for tick in up.ticks()
    ]
    line = " ".join(f"{a:.1f},{up(b):.1f}" for a, b in zip(x, value, strict=True))
    parts.append(f'<polyline class="step" points="{line}"/>')
    every = max(1, len(value) // 12)
    for at, name in enumerate(series["release"]):
        tip = f"{name}: {value[at]:,.0f} ({low[at]:,.0f} to {high[at]:,.0f})"
        parts.append(
            f'<g><title>{escape(tip)}</title><line class="whisker" x1="{x[at]:.1f}" x2="{x[at]:.1f}" '
            f'y1="{up(low[at]):.1f}" y2="{up(high[at]):.1f}"/>'
            f'<circle class="bar" cx="{x[at]:.1f}" cy="{up(value[at]):.1f}" r="4"/></g>'
        )
        if at % every == 0:
            parts.append(f'<text x="{x[at]:.1f}" y="242" text-anchor="middle">{escape(name[:14])}</text>')
    alt = f"All of it in {len(value)} releases, with 95 % intervals."
    return Chart("course", _svg(parts, 250, alt), series, alt, plain=True)


class _Axis:
    """From numbers to places of a picture."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high = low, high if high > low else low + 1.0
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> Floats:
        """About six round numbers."""
        rough = (self.high - self.low) / 6
        power = 10.0 ** np.floor(np.log10(rough))
        step = power * next(each for each in (1, 2, 5, 10) if each * power >= rough)
        return np.arange(np.ceil(self.low / step), np.floor(self.high / step) + 1) * step


def _label(row: dict[str, object], keys: list[str]) -> str:
    named = [str(row[key]) for key in keys if row[key] is not None]
    if keys == ["hour"]:
        return f"{int(named[0]):02d}:00"
    if "stop" in keys or "route" in keys:
        named = list(dict.fromkeys(reversed(named[:2]))) + named[2:]
    return " > ".join(named) if keys and keys[0].startswith(("origin", "from")) else ", ".join(named) or "all"


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if round(value) else "0"


def _svg(parts: list[str], height: int, alt: str) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(alt, quote=True)}">'
        + "".join(parts)
        + "</svg>"
    )


# Cells of a stop and an hour are too many for a page; they go into a table of their own (--out).
ON_PAGE = tuple(question for question in TREND_QUESTIONS if question != "stop-hours")
LISTED = 20


def write_trend_page(path: str | Path, releases: Sequence[JudgedRelease], *, anyway: bool = False) -> Path:
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
        title="What changed",
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
    for row in table.head(LISTED).iter_rows(named=True):
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
