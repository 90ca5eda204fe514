"""Look of objects in a notebook: the report's own pieces, inline, without script.

Every `_repr_html_` of the house calls `wayveil.display`, which finds the picture for the kind of thing here. So the
rooms below need not know how a page is drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import singledispatch
from html import escape
from typing import Any

import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.answers import Answer
from wayveil.errors import ParameterError
from wayveil.privacy.ledger import Ledger
from wayveil.released.datasheet_page import promise, spends, words
from wayveil.released.released_trips import Datasheet
from wayveil.report.chart import Chart
from wayveil.report.maps import flow_maps
from wayveil.report.svg_map import Canvas, network_group
from wayveil.utility.scorecard import Scorecard, decimal, interval
from wayveil.world.network import Network

_ROWS = 12


@singledispatch
def display(thing: object) -> str:
    """The HTML of a thing that has none of its own: its text.

    >>> "<svg" in wv.display(city)
    True
    """
    return f"<pre>{escape(repr(thing))}</pre>"


@display.register
def _(thing: JudgedRelease) -> str:
    facts = {
        "trips": f"{len(thing.trips):,}",
        "visits": f"{thing.trips.visits:,} ({'taps' if thing.visits_are_taps else 'stops called at'})",
        "mechanism": thing.datasheet["mechanism"]["name"],
    }
    picture = draw_map(thing)._repr_svg_() if isinstance(thing.world, Network) else ""
    return _head(thing.datasheet) + _facts(facts) + f'<div style="max-width:42em">{picture}</div>'


@display.register
def _(thing: Datasheet) -> str:
    paid = spends(thing)
    table = "" if paid is None else _table(paid.titles, paid.rows[:_ROWS], len(paid.rows))
    return _head(thing) + table


@display.register
def _(thing: Scorecard) -> str:
    heads = ("", "release", "95 % interval", "ceiling", "floor", "empty")
    rows = [
        (
            figure.label,
            decimal(figure.value),
            interval(figure),
            *(decimal(value) for value in (figure.ceiling, figure.floor, figure.empty)),
        )
        for figure in thing
    ]
    return _table(heads, rows, len(rows)) + f"<p><em>{escape(thing.notice)}</em></p>"


@display.register
def _(thing: Answer) -> str:
    return thing.table._repr_html_() + f"<p><em>{escape(thing.note)}</em></p>"


@display.register
def _(thing: Network) -> str:
    canvas = Canvas.of(thing)
    svg = f'<svg viewBox="0 0 1000 {canvas.height:.0f}">{network_group(thing, canvas)}</svg>'
    places = pl.DataFrame({"stop_id": thing.ids.tolist(), "lat": thing.lat, "lon": thing.lon})
    picture = Chart("network", svg, places, thing.name, plain=True)._repr_svg_()
    return _facts(thing.describe()) + f'<div style="max-width:42em">{picture}</div>'


@display.register
def _(thing: Ledger) -> str:
    rows = [asdict(summary) for summary in thing.summary()]
    if not rows:
        return "<p>Nothing is booked in this ledger yet.</p>"
    cells = [["" if value is None else plain_text(value) for value in row.values()] for row in rows]
    return _table([words(name) for name in rows[0]], cells[:_ROWS], len(rows))


def draw_map(release: JudgedRelease) -> Chart:
    """The flows of a release on its network.

    >>> wv.draw_map(made).svg.startswith("<svg")
    True
    """
    maps = flow_maps(_network(release), release.trips)
    return maps.pictures[0][1]


def _network(release: JudgedRelease) -> Network:
    if not isinstance(release.world, Network):
        raise ParameterError("a map needs coordinates; this world is a plain list of locations")
    return release.world


def plain_text(value: object) -> str:
    """Fractions as decimals, all else as it is."""
    return f"{float(value):g}" if isinstance(value, Fraction) else str(value)


def _head(sheet: Mapping[str, Any]) -> str:
    said = promise(sheet)
    colour = "inherit" if said.holds else "#b00020"
    return (
        f'<p style="color:{colour}"><strong>{escape(said.sentence)}</strong></p><p>{escape(said.meaning)}</p>'
    )


def _facts(facts: Mapping[str, object]) -> str:
    return _table(("", ""), [(words(name), str(value)) for name, value in facts.items()], len(facts))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], total: int) -> str:
    """A plain table; says how many rows are not shown."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    head = f"<thead>{line(heads, 'th')}</thead>" if any(heads) else ""
    more = f"<p>{total - len(rows):,} more rows</p>" if total > len(rows) else ""
    return f"<table>{head}<tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>{more}"
