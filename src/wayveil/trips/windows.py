"""Contiguous n-grams of trips: every run of n stops in a row, counted by occurrence or once per trip."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from wayveil.trips.trips import Trips

# Numbers of windows have 63 bits.
MOST_CODES = (1 << 63) - 1
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
    size, possible = trips.world.size, trips.world.size**n
    code = _codes(trips.location, starts, n, size)
    if once_per_trip:
        first = _first_in_trip(code, starts, trips.offsets)
        code, starts = code[first], starts[first]
    if possible > MOST_CODES:
        _, at, count = np.unique(code, return_index=True, return_counts=True)
        return GramCounts(trips.location[starts[at, None] + np.arange(n)], count)
    if possible <= max(MOST_DENSE, len(code)):
        count = np.bincount(code)
        found = np.flatnonzero(count)
        count = count[found]
    else:
        found, count = np.unique(code, return_counts=True)
    grams = np.empty((len(found), n), np.int32)
    for step in reversed(range(n)):
        found, grams[:, step] = np.divmod(found, size)
    return GramCounts(grams, count)


def _codes(location: NDArray[np.int32], starts: NDArray[np.int64], n: int, size: int) -> NDArray[np.int64]:
    """A number for each window, in the order of windows: its locations as digits.

    Where they would not fit, windows are numbered by their first locations before the next one is added.
    """
    code, possible = np.zeros(len(starts), np.int64), 1
    for step in range(n):
        if possible * size > MOST_CODES:
            code = np.unique(code, return_inverse=True)[1]
            possible = int(code.max(initial=0)) + 1
        code *= size
        code += location[starts + step]
        possible *= size
    return code


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
