"""Contiguous n-grams of trips: every run of n stops in a row, counted by occurrence or once per trip."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from wayveil.trips.trips import Trips

_BITS = 63
# So many different windows are counted in one pass, however few occur.
MOST_DENSE = 1 << 22
# Windows of a trip up to so many are held against each other; more are sorted.
SHORT = 100


@dataclass(frozen=True, eq=False)
class GramCounts:
    """Distinct n-grams as rows, in lexicographic order, with a count above 0 each."""

    grams: NDArray[np.int32]
    count: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.count)


def window_starts(trips: Trips, n: int) -> NDArray[np.int64]:
    """The positions (in `trips.location`) at which a window of n visits within one trip begins."""
    if trips.visits < n:
        return np.empty(0, np.int64)
    fits = np.ones(trips.visits, bool)
    for back in range(1, n):
        ends = trips.offsets[1:] - back
        fits[ends[ends >= trips.offsets[:-1]]] = False
    return np.flatnonzero(fits)


def gram_counts(
    trips: Trips, n: int, *, once_per_trip: bool = False, starts: NDArray[np.int64] | None = None
) -> GramCounts:
    """Count the windows of n visits: all of them, or at most one of a kind per trip.

    `starts` restricts the windows that are looked at, for callers that know which ones cannot matter.
    """
    starts = window_starts(trips, n) if starts is None else starts
    columns = pack(trips.location, starts, n, trips.world.size)
    if len(columns) == 1 and len(starts):
        return _count_packed(trips, starts, n, next(iter(columns.values())), once_per_trip)
    table = pl.DataFrame(columns)
    if once_per_trip:
        table = _once_per_trip(trips, starts, table)
    names = list(columns)
    table = table.group_by(names).agg(pl.len().cast(pl.Int64).alias("count")).sort(names)
    grams = unpack([table[name].to_numpy() for name in names], n, trips.world.size)
    return GramCounts(grams, table["count"].to_numpy())


def _count_packed(
    trips: Trips, starts: NDArray[np.int64], n: int, code: NDArray[np.int64], once_per_trip: bool
) -> GramCounts:
    """Count windows that are one number each: without a table, and where they are few without sorting."""
    if once_per_trip:
        code = code[_first_in_trip(code, starts, trips.offsets)]
    possible = trips.world.size**n
    if possible <= max(MOST_DENSE, len(code)):
        count = np.bincount(code)
        found = np.flatnonzero(count)
        return GramCounts(unpack([found], n, trips.world.size), count[found])
    found, count = np.unique(code, return_counts=True)
    return GramCounts(unpack([found], n, trips.world.size), count)


@njit(cache=True)
def _first_in_trip(
    code: NDArray[np.int64], starts: NDArray[np.int64], offsets: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which windows (ascending by start) are the first of their kind in their trip."""
    first = np.ones(len(code), np.bool_)
    begin, trip = 0, 0
    while begin < len(code):
        while offsets[trip + 1] <= starts[begin]:
            trip += 1
        end = begin
        while end < len(code) and starts[end] < offsets[trip + 1]:
            end += 1
        if end - begin <= SHORT:
            for window in range(begin + 1, end):
                for before in range(begin, window):
                    if code[before] == code[window]:
                        first[window] = False
                        break
        else:
            order = np.argsort(code[begin:end], kind="mergesort")
            for place in range(1, len(order)):
                if code[begin + order[place]] == code[begin + order[place - 1]]:
                    first[begin + order[place]] = False
        begin = end
    return first


def _once_per_trip(trips: Trips, starts: NDArray[np.int64], table: pl.DataFrame) -> pl.DataFrame:
    """Drop repeats within a trip. Only a trip that comes back to a stop can repeat a window, so that only the
    windows of such trips are sorted out.
    """
    returning = returns_to_a_stop(trips.location, trips.offsets, trips.world.size)
    trip = np.searchsorted(trips.offsets, starts, side="right") - 1
    suspect = returning[trip]
    if not suspect.any():
        return table
    names = table.columns
    repeated = table.with_columns(pl.Series("trip", trip)).filter(pl.Series(suspect)).unique().select(names)
    return pl.concat([table.filter(pl.Series(~suspect)), repeated])


def symbols_per_column(size: int) -> int:
    """Return how many locations of a world fit one 63-bit number."""
    return max(1, _BITS // max(size - 1, 1).bit_length())


def pack(
    location: NDArray[np.int32], starts: NDArray[np.int64], n: int, size: int
) -> dict[str, NDArray[np.int64]]:
    """Windows as one 64-bit number, or as several where the locations do not fit; their order is kept."""
    width, columns = symbols_per_column(size), {}
    for first in range(0, n, width):
        number = np.zeros(len(starts), np.int64)
        for step in range(first, min(first + width, n)):
            number *= size
            number += location[starts + step]
        columns[f"part{first}"] = number
    return columns


def unpack(columns: list[NDArray[np.int64]], n: int, size: int) -> NDArray[np.int32]:
    """The locations behind packed windows, one row each."""
    width = symbols_per_column(size)
    grams = np.empty((len(columns[0]), n), np.int32)
    for column, first in zip(columns, range(0, n, width), strict=True):
        number = column
        for step in reversed(range(first, min(first + width, n))):
            number, grams[:, step] = np.divmod(number, size)
    return grams


def match_grams(known: GramCounts, asked: NDArray[np.int32]) -> NDArray[np.int64]:
    """The counts of the asked n-grams, in their order; zero for those that are not known."""
    names = [f"at{i}" for i in range(asked.shape[1])]
    shape = dict.fromkeys(names, pl.Int32)
    table = pl.DataFrame(known.grams, schema=shape, orient="row").with_columns(count=pl.Series(known.count))
    wanted = pl.DataFrame(asked.astype(np.int32), schema=shape, orient="row")
    found = wanted.join(table, on=names, how="left", maintain_order="left")
    return found["count"].fill_null(0).to_numpy().astype(np.int64)


def align(left: GramCounts, right: GramCounts) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """All n-grams of either side, and their counts as two columns."""
    n = left.grams.shape[1]
    names = [f"at{i}" for i in range(n)]

    def table(side: GramCounts, name: str) -> pl.DataFrame:
        return pl.DataFrame(dict(zip(names, side.grams.T, strict=True)) | {name: side.count})

    joined = table(left, "left").join(table(right, "right"), on=names, how="full", coalesce=True).sort(names)
    counts = joined.select(pl.col("left", "right").fill_null(0)).to_numpy().astype(np.int64)
    return joined.select(names).to_numpy().astype(np.int32).reshape(-1, n), counts.reshape(-1, 2)


@njit(cache=True)
def returns_to_a_stop(
    location: NDArray[np.int32], offsets: NDArray[np.int64], size: int
) -> NDArray[np.bool_]:
    """Which trips visit some stop more than once."""
    seen = np.full(size, -1, np.int64)
    out = np.zeros(len(offsets) - 1, np.bool_)
    for trip in range(len(out)):
        for visit in range(offsets[trip], offsets[trip + 1]):
            if seen[location[visit]] == trip:
                out[trip] = True
                break
            seen[location[visit]] = trip
    return out
