"""The index page of a series: all releases, the year as a picture, and for the privacy officer what it costs."""

from html import escape
from pathlib import Path
from typing import Any

from markupsafe import Markup

from wayveil.errors import decimal
from wayveil.files import write_whole
from wayveil.plan.plan import Plan
from wayveil.released.datasheet_page import templates
from wayveil.report.chart import write_page
from wayveil.series.accounting import costs_by_unit, noise_by_accounting, releases_in_a_period
from wayveil.series.folder import EXPORTS, RELEASE, REPORT, SeriesFolder, record_of
from wayveil.series.status import State, Status, Year

COLOURS: dict[State, str] = {
    "published": "#2a6f97",
    "unfinished": "#e9c46a",
    "lost": "#c1121f",
    "gap": "#ffffff",
    "next": "#a9d6e5",
    "to come": "#eef2f5",
}
CELL, GAP, LEFT, TOP, ROW, WIDTH = 15, 3, 70, 30, 92, 1060
IN_A_LINE = (WIDTH - LEFT) // (CELL + GAP)


def year_svg(status: Status) -> str:
    """The picture, for a page or a file of its own. Every cell says its period when it is pointed at."""
    parts, top = [], TOP
    for year in status.years:
        lines = -(-len(year.periods) // IN_A_LINE)
        parts.append(_year(year, top))
        top += ROW + (lines - 1) * (CELL + GAP)
    parts.append(_legend(top))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 30}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="#1d2b36">'
    )
    title = f"<title>{escape(status.name)}: what is published and what it has cost</title>"
    return f"{head}{title}{''.join(parts)}</svg>\n"


def _year(year: Year, top: int) -> str:
    cells = []
    for at, period in enumerate(year.periods):
        line, column = divmod(at, IN_A_LINE)
        x, y = LEFT + column * (CELL + GAP), top + line * (CELL + GAP)
        dashed = ' stroke-dasharray="2 2"' if period.state == "gap" else ""
        cells.append(
            f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="2" fill="{COLOURS[period.state]}" '
            f'stroke="#7d8f9b" stroke-width="0.7"{dashed}><title>{period.label}: {period.state}</title></rect>'
        )
    under = top + -(-len(year.periods) // IN_A_LINE) * (CELL + GAP) + 8
    width = min(len(year.periods), IN_A_LINE) * (CELL + GAP) - GAP
    allowed, spent = year.amount("allowed"), year.amount("spent")
    share = float(spent / allowed) if allowed else 1.0
    words = f"{year.currency} {decimal(spent)} of {decimal(allowed)} spent, {decimal(year.amount('remaining'))} left"
    return (
        f'<text x="{LEFT - 12}" y="{top + 12}" text-anchor="end" font-weight="600">{escape(year.label)}</text>'
        + "".join(cells)
        + f'<rect x="{LEFT}" y="{under}" width="{width}" height="9" rx="2" fill="#eef2f5" stroke="#7d8f9b" '
        f'stroke-width="0.7"/><rect x="{LEFT}" y="{under}" width="{width * min(share, 1.0):.1f}" height="9" rx="2" '
        f'fill="#2a6f97"/><text x="{LEFT}" y="{under + 25}">{escape(words)}</text>'
    )


def _legend(top: int) -> str:
    parts, x = [], LEFT
    for state, colour in COLOURS.items():
        dashed = ' stroke-dasharray="2 2"' if state == "gap" else ""
        parts.append(
            f'<rect x="{x}" y="{top}" width="{CELL}" height="{CELL}" rx="2" fill="{colour}" stroke="#7d8f9b" '
            f'stroke-width="0.7"{dashed}/><text x="{x + CELL + 5}" y="{top + 12}">{state}</text>'
        )
        x += CELL + 24 + 7 * len(state)
    return "".join(parts)


INDEX, PICTURE = "index.html", "year.svg"


def write_index(plan: Plan, folder: SeriesFolder, status: Status) -> Path:
    """Write the index and the picture into the public folder; each appears whole. Nothing on it comes from raw rows."""
    picture = year_svg(status)
    write_whole(folder.public / PICTURE, picture)
    html = (
        templates("wayveil.series")
        .get_template("index.html.j2")
        .render(
            plan=plan,
            words=[line for line in status.words() if not line.startswith("  ")],
            status=status,
            picture=Markup(picture),  # made of escaped parts
            releases=[_row(folder, label) for label in reversed(folder.labels())],
            number=releases_in_a_period(plan),
            costs=costs_by_unit(plan),
            noise=noise_by_accounting(plan),
            decimal=decimal,
            digits=lambda value: f"{float(value):,.4g}",
        )
    )
    return write_page(folder.public / INDEX, html)


def index_is_current(folder: SeriesFolder) -> bool:
    """Tell whether the index lists every published period; a run may have died right before it was written."""
    index = folder.public / INDEX
    text = index.read_text(encoding="utf-8") if index.is_file() else ""
    return bool(text) and all(f"<td>{label}</td>" in text for label in folder.labels())


def _row(folder: SeriesFolder, label: str) -> dict[str, Any]:
    home = folder.published(label)
    record = record_of(home)
    exports = sorted(path.name for path in (home / EXPORTS).glob("*")) if (home / EXPORTS).is_dir() else []
    # Whoever reads the page has no command line before them.
    left_out = {kind: why.partition(" To see the numbers")[0] for kind, why in record["left_out"].items()}
    return {
        **record,
        "left_out": left_out,
        "report": f"{label}/{REPORT}" if (home / REPORT).is_file() else None,
        "datasheet": f"{label}/{RELEASE}/datasheet.html",
        "files": [(name, f"{label}/{EXPORTS}/{name}") for name in exports],
    }
