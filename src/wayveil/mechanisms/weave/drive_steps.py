"""Small steps of drivers over the borders of cells: corners that are clipped, and steps back and forth.

A way between two diagonal neighbours clips a third cell, on the one or the other side by chance; whether a point is
seen there depends on how often points are taken. And points near a border make a way that steps over it and back again,
often several times in a row. Which share of corners is seen is learnt from the fit.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.world.grid import Grid
from wayveil.world.grid_corners import find_corners
from wayveil.world.walk_blocks import LONGEST, Walks


def draw_clips(share: float | None, count: int, sure: float, rng: np.random.Generator) -> Floats:
    """The share of its corners that each trip is seen at: anything at first; later near the learnt `share`, as if that
    had been seen at `sure` corners.
    """
    if share is None:
        return rng.random(count)
    if share in (0, 1):
        return np.full(count, float(share))
    return rng.beta(sure * share, sure * (1 - share), count)


def find_corner_share(grid: Grid, walks: Walks, weight: Floats) -> float:
    """The share of moves to diagonal neighbours that were seen at a corner, by weighted walks."""
    corner = find_corners(grid, walks.location, walks.offsets)
    row, column = grid.row[walks.location], grid.column[walks.location]
    moves = walks.moves
    diagonal = (row[moves] != row[moves + 1]) & (column[moves] != column[moves + 1])
    each = np.repeat(weight, walks.lengths)
    seen = float(each[corner].sum())
    return seen / max(seen + float(each[moves][diagonal].sum()), 1e-12)


def add_corners(
    grid: Grid, location: NDArray[np.int32], offsets: Ints, clips: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.int32], Ints]:
    """Walks that are seen at some corners of their diagonal moves, on either side."""
    layout = grid.layout
    cells = np.full((layout.rows, layout.columns), -1, np.int32)
    cells[grid.row, grid.column] = np.arange(grid.size)
    row, column = grid.row.astype(np.int64), grid.column.astype(np.int64)
    made, ends = _add_corners(row, column, cells, location, offsets, clips, rng)
    return made, ends


@njit(cache=True)
def _add_corners(row, column, cells, location, offsets, clips, rng):  # type: ignore[no-untyped-def]
    out, ends = np.empty(2 * len(location), np.int32), np.zeros(len(offsets), np.int64)
    n = 0
    for walk in range(len(offsets) - 1):
        for k in range(offsets[walk], offsets[walk + 1]):
            here = location[k]
            out[n] = here
            n += 1
            if k + 1 == offsets[walk + 1]:
                continue
            there = location[k + 1]
            north, east = row[there] - row[here], column[there] - column[here]
            if abs(north) == 1 and abs(east) == 1 and rng.random() < clips[walk]:
                corner = cells[row[there], column[here]]
                if rng.random() < 0.5:
                    corner = cells[row[here], column[there]]
                if corner >= 0:
                    out[n] = corner
                    n += 1
        ends[walk + 1] = n
    return out[:n].copy(), ends


@njit(cache=True)
def step_back(location, offsets, back, burst, rng):  # type: ignore[no-untyped-def]
    """Ways that make some of their moves once more, having stepped back: A B becomes A B A B. In a burst, all of these
    are at one move.
    """
    longer = np.zeros(len(offsets), np.int64)
    for i in range(len(back)):
        moves = offsets[i + 1] - offsets[i] - 1
        longer[i + 1] = longer[i] + moves + 1 + (2 * back[i] if moves > 0 else 0)
    out = np.empty(longer[-1], np.int32)
    again = np.zeros(LONGEST, np.int64)
    for i in range(len(back)):
        n, first, moves = longer[i], offsets[i], offsets[i + 1] - offsets[i] - 1
        again[:moves] = 0
        if moves > 0 and burst[i]:
            again[rng.integers(0, moves)] = back[i]
        elif moves > 0:
            for _ in range(back[i]):
                again[rng.integers(0, moves)] += 1
        out[n] = location[first]
        n += 1
        for k in range(moves):
            for _ in range(again[k]):
                out[n], out[n + 1] = location[first + k + 1], location[first + k]
                n += 2
            out[n] = location[first + k + 1]
            n += 1
    return out, longer
