"""Trips for people: a line for the terminal, a small table for a notebook. Raw trips stay as sensitive as they are."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from wayveil.trips.history import History

if TYPE_CHECKING:
    from wayveil.trips.trips import Trips

ROWS = 5
STOPS = 6


def counted(number: int, word: str) -> str:
    """A number with its noun: 1 trip, 2,000 trips."""
    return f"{number:,} {word}{'s' * (number != 1)}"


def trips_line(trips: "Trips") -> str:
    """How many trips of what kind, and the marks they carry."""
    columns = [
        name for name, values in (("times", trips.time), ("riders", trips.rider)) if values is not None
    ]
    return (
        f"{counted(len(trips), 'trip')}, {counted(trips.visits, 'visit')} over "
        f"{counted(trips.world.size, 'location')}, {described(columns, trips.history)}"
    )


def described(columns: Sequence[str], history: History) -> str:
    """What there is beside places, and the marks."""
    what = f"with {' and '.join(columns)}" if columns else "places only"
    return what + (f" [{', '.join(history.words)}]" if history.words else "")


def trips_html(trips: "Trips") -> str:
    """The line, and the first few trips."""
    first = trips.take(np.arange(min(ROWS, len(trips))))
    header = ["trip", "visits", *(["begins"] if trips.time is not None else []), "stops"]
    rows = []
    for number in range(len(first)):
        start, end = int(first.offsets[number]), int(first.offsets[number + 1])
        stops = [str(trips.world.ids[place]) for place in first.location[start : min(end, start + STOPS)]]
        more = " → …" if end - start > STOPS else ""
        begins = []
        if first.time is not None:
            begins = [
                str(np.datetime64(int(first.time[start]), "s")).replace("T", " ") if end > start else ""
            ]
        rows.append([str(number + 1), f"{end - start:,}", *begins, " → ".join(stops) + more])
    return html_table(trips_line(trips), header, rows, len(trips) - len(first))


def html_table(line: str, header: Sequence[str], rows: Iterable[Sequence[str]], more: int) -> str:
    """A small table without script; nothing in it can be taken for markup."""

    def cells(kind: str, values: Sequence[str]) -> str:
        style = "text-align:left;padding:2px 10px 2px 0"
        return (
            "<tr>"
            + "".join(f'<{kind} style="{style}">{escape(value)}</{kind}>' for value in values)
            + "</tr>"
        )

    body = "".join(cells("td", row) for row in rows)
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    return f"<div><p>{escape(line)}</p><table>{cells('th', header)}{body}</table>{rest}</div>"
