"""Raw rows for people: a line for the terminal, a small table for a notebook. They stay as sensitive as they are."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import polars as pl

from wayveil.sources.frames import to_arrow, to_pandas
from wayveil.trips.history import History

ROWS = 5
STOPS = 6


class ShownRows:
    """Rows that come out as frames and say what they are; `Trips` and `Taps` are such."""

    def to_polars(self) -> pl.DataFrame:
        """The rows as a frame that reads back."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return the same rows as a pandas frame, where pandas is installed."""
        return to_pandas(self.to_polars())

    def to_arrow(self) -> Any:
        """Return the same rows as an Arrow table, where pyarrow is installed."""
        return to_arrow(self.to_polars())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._line()}>"

    def _line(self) -> str:
        raise NotImplementedError


def counted(number: int, word: str) -> str:
    """A number with its noun: 1 trip, 2,000 trips."""
    return f"{number:,} {word}{'s' * (number != 1)}"


def described(columns: Sequence[str], history: History) -> str:
    """Return what there is beside places, and the marks."""
    what = f"with {' and '.join(columns)}" if columns else "places only"
    return what + (f" [{', '.join(history.words)}]" if history.words else "")


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
