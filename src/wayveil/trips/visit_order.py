"""Which rows of a table of visits make up which trip, in which order."""

from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.trips.findings import Findings

Scalar = TypeVar("Scalar", bound=np.generic)


class VisitOrder:
    """Trips in the order in which the table first names them, and inside a trip the visits by `seq`.

    Without `seq` the visits keep the order of the table. Most files are in order already, and then
    nothing is sorted.
    """

    def __init__(self, table: pl.DataFrame, findings: Findings) -> None:
        trip = table["trip_id"]
        findings.rows("visits without trip_id", null_rows(trip), lambda row: "has no trip_id")
        run_trip, run_length = runs_of(trip)
        lengths = np.bincount(run_trip, run_length).astype(np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(lengths)])
        together = len(lengths) == len(run_trip)
        seq = _sequence_numbers(table["seq"], findings) if "seq" in table.columns else None
        self._rows: NDArray[np.int64] | None = None
        if not together or (seq is not None and self.within_trips(seq[1:] <= seq[:-1]).any()):
            keys = {"trip": np.repeat(run_trip, run_length)} | ({} if seq is None else {"seq": seq})
            by = pl.arg_sort_by(list(keys), maintain_order=True)
            self._rows = pl.DataFrame(keys).select(by).to_series().to_numpy().astype(np.int64)
        if seq is not None:
            ordered = self.sorted(seq)
            findings.rows(
                "visits with the same trip_id and seq as another",
                self.rows_where(self.within_trips(ordered[1:] == ordered[:-1])),
                lambda row: f"trip {str(trip[row])!r} already has a visit with seq {seq[row]}",
            )

    def sorted(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """One value per row of the table, put into the order of trips and visits."""
        return values if self._rows is None else values[self._rows]

    def first_rows(self) -> NDArray[np.int64]:
        """The row of the table behind the first visit of every trip."""
        first = self.offsets[:-1]
        return first if self._rows is None else self._rows[first]

    def rows_where(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The rows of the table, ascending, behind the ordered visits where the mask is true."""
        found = np.flatnonzero(mask)
        return found if self._rows is None else np.sort(self._rows[found])

    def within_trips(self, pairs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A mask over neighbours (i - 1, i) as a mask over visits, false at the first visit of every trip."""
        mask = np.concatenate([[False], pairs])
        mask[self.offsets[:-1]] = False
        return mask


def null_rows(column: pl.Series) -> NDArray[np.int64]:
    """The rows (0-based) without a value."""
    return np.flatnonzero(column.is_null().to_numpy()) if column.null_count() else np.empty(0, np.int64)


def runs_of(trip: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Stretches of rows of one trip: the number of the trip (0 = the first one named) and their rows."""
    if not trip.dtype.is_integer():
        text = trip if trip.dtype == pl.Categorical else trip.cast(pl.String).cast(pl.Categorical)
        trip = text.to_physical().cast(pl.Int64)
    code = trip.fill_null(-1).to_numpy()
    starts = np.concatenate([[0], np.flatnonzero(code[1:] != code[:-1]) + 1])
    _, first, inverse = np.unique(code[starts], return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse], np.diff(np.append(starts, len(code)))


def _sequence_numbers(column: pl.Series, findings: Findings) -> NDArray[np.int64]:
    """`seq` as integers; it must increase within a trip, but need not be consecutive."""
    findings.rows("visits without seq", null_rows(column), lambda row: "has no seq")
    text = column.cast(pl.String) if column.dtype == pl.Categorical else column
    number = text.cast(pl.Int64, strict=False)
    unreadable = np.flatnonzero((number.is_null() & column.is_not_null()).to_numpy())
    findings.rows(
        "visits with an unreadable seq",
        unreadable,
        lambda row: f"seq {str(column[row])!r} is not a whole number",
    )
    return number.fill_null(-1).to_numpy()
