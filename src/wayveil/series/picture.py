"""The year as a picture: a cell for every period, and a bar for what its data has cost."""

from html import escape

from wayveil.errors import decimal
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
