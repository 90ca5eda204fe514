"""Pieces of files of GPS points as columns of numbers: moments, degrees, codes of ids; and what is wrong with rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.sources.categories import distinct_values
from wayveil.trips.findings import EXAMPLES, Findings
from wayveil.trips.ids import coded_ids
from wayveil.trips.times import Form, Times, read_times
from wayveil.trips.visit_order import null_rows

_NUMBERS = ("lat", "lon")
_NO_CELL = "points without a valid H3 cell"
_OCCUPIED = ("1", "true", "t", "yes", "y", "occupied", "m")


@dataclass
class Problems:
    """Rows with a problem, which come piece by piece, and what is said of the first ones."""

    before: int = 0
    found: dict[str, list[NDArray[np.int64]]] = field(default_factory=dict)
    said: dict[tuple[str, int], str] = field(default_factory=dict)

    def rows(self, problem: str, rows: NDArray[np.integer], say: Callable[[int], str]) -> None:
        """Note the rows of a piece, as `Findings.rows` does those of a table."""
        known = self.found.setdefault(problem, [])
        wanted = EXAMPLES - sum(map(len, known))
        self.said |= {(problem, self.before + row): say(row) for row in rows[: max(wanted, 0)].tolist()}
        known.append(self.before + rows.astype(np.int64))

    def report(self, problem: str, findings: Findings) -> None:
        """Report what was noted of one problem."""
        rows = np.concatenate([np.empty(0, np.int64), *self.found.get(problem, [])])
        findings.rows(problem, rows, lambda row: self.said[problem, row])


@dataclass
class Codes:
    """The distinct ids of a column, in the order in which they are met."""

    known: dict[str, int] = field(default_factory=dict)

    def of(self, column: pl.Series) -> NDArray[np.int32]:
        """Return the number of the id of each row, -1 for none."""
        ids, code = distinct_values(coded_ids(column))
        numbers = [self.known.setdefault(each, len(self.known)) for each in ids.to_list()]
        return np.array([*numbers, -1], np.int32)[code]


class PointReader:
    """Reads pieces of a table of points into columns of numbers."""

    def __init__(self, called: Mapping[str, str], ids: Mapping[str, Codes]) -> None:
        self.called, self.ids, self.problems = called, ids, Problems()
        self.form: Form | None = None

    def read(self, table: pl.DataFrame) -> dict[str, NDArray[Any]]:
        """Return the columns of a piece, and which of its points are `usable`."""
        time, usable = self._moments(table)
        lat, lon = _coordinates(table, self.called, self.problems)
        made: dict[str, NDArray[Any]] = {"time": time, "usable": usable, "lat": lat, "lon": lon}
        for name, codes in self.ids.items():
            made[name] = code = codes.of(table[name])
            self.problems.rows(
                f"points without {self.called[name]}",
                np.flatnonzero(code < 0),
                lambda row, name=name: f"has no {self.called[name]}; give it one, or remove the row",  # type: ignore[misc]
            )
        if "flag" in table.columns:
            made["flag"] = _flags(table)
        self.problems.before += table.height
        return made

    def _moments(self, table: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The wall clock of each point, and where it is usable; else the places in the file.

        A zone that changes on the way is taken as it stands.
        """
        usable = np.ones(table.height, bool)
        if "event_time" not in table.columns:
            return self.problems.before + np.arange(table.height), usable
        text = table["event_time"]
        times = replace(read_times(text), given=self.form)
        if self.form is None and times.expected != Form.UNREADABLE:
            self.form = times.expected
        wrong, name = times.wrong_rows(), self.called["event_time"]
        self.problems.rows(
            f"points without a usable {name}", wrong, lambda row: _say_time(times, row, text[row], name)
        )
        usable[wrong] = False
        return times.wall, usable

    def report(self, findings: Findings) -> None:
        """Report the problems of all pieces, in the order in which a table is read."""
        for name in ("event_time", *_NUMBERS):
            if name in self.called:
                self.problems.report(f"points without a usable {self.called[name]}", findings)
        self.problems.report(_NO_CELL, findings)
        for name in self.ids:
            self.problems.report(f"points without {self.called[name]}", findings)


def _coordinates(
    table: pl.DataFrame, called: Mapping[str, str], findings: Problems
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if "h3" in table.columns and "lat" not in table.columns:
        return _of_h3(table["h3"], findings)
    found = []
    for name in _NUMBERS:
        column = table[name]
        text = column.cast(pl.String) if column.dtype == pl.Categorical else column
        number = text.cast(pl.Float64, strict=False)
        findings.rows(
            f"points without a usable {called[name]}",
            null_rows(number),
            lambda row, name=called[name], text=text: _say_number(name, text[row]),  # type: ignore[misc]
        )
        found.append(number.fill_null(float("nan")).to_numpy())
    return found[0], found[1]


def _say_number(name: str, value: object) -> str:
    if value is None or str(value).strip() == "":
        return f"has no {name}; give it one, or remove the row"
    return f"{name} {value!r} is not a number of degrees, like 22.5; correct it, or remove the row"


def _say_time(times: Times, row: int, value: object, name: str) -> str:
    if times.form[row] == Form.MISSING:
        return f"has no {name}; give it one, or remove the row"
    return times.say(row, value).replace("event_time", name)


def _of_h3(column: pl.Series, findings: Problems) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    try:
        import h3
    except ImportError as error:
        raise ParameterError(
            "cells of H3 are read with the package h3, which is not installed: pip install h3, or give lat and lon"
        ) from error
    text = column if column.dtype == pl.Categorical else column.cast(pl.String).cast(pl.Categorical)
    distinct, code = distinct_values(text)
    centre = np.full((len(distinct) + 1, 2), np.nan)
    for place, cell in enumerate(distinct.to_list()):
        if h3.is_valid_cell(cell):
            centre[place] = h3.cell_to_latlng(cell)
    found = centre[code]
    findings.rows(
        _NO_CELL,
        np.flatnonzero(np.isnan(found[:, 0])),
        lambda row: f"h3 {text[row]!r} is not a cell of H3; correct it, or remove the row",
    )
    return found[:, 0].copy(), found[:, 1].copy()


def _flags(table: pl.DataFrame) -> NDArray[np.bool_]:
    """Tell whether each point is occupied: 1, true, yes or a number above 0."""
    column = table["flag"]
    if column.dtype == pl.Boolean or column.dtype.is_numeric():
        return (column.cast(pl.Float64).fill_null(0) > 0).to_numpy()
    distinct, code = distinct_values(
        column if column.dtype == pl.Categorical else column.cast(pl.Categorical)
    )
    number = distinct.cast(pl.Float64, strict=False).fill_null(0) > 0
    occupied = (distinct.str.to_lowercase().is_in(list(_OCCUPIED)) | number).to_numpy()
    return np.append(occupied, False)[code]
