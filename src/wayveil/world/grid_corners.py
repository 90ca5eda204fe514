"""Corners on a grid: a cell that a way merely clips on its way between two diagonal neighbours."""

import numpy as np
from numba import njit

from wayveil.arrays import Int32s, Ints, Mask
from wayveil.world.grid import Grid


def find_corners(grid: Grid, location: Int32s, offsets: Ints) -> Mask:
    """Which visits are corners: between two visits to cells that touch at a corner only, in a cell beside both.

    Whether a straight way from cell to cell clips the one or the other cell beside the corner is chance, and says
    nothing of where somebody went. Each walk is gone through once, from its first visit on, by itself.
    """
    row, column = grid.row.astype(np.int64), grid.column.astype(np.int64)
    return np.asarray(_find_corners(row, column, location, offsets))


@njit(cache=True, nogil=True)
def _find_corners(row, column, location, offsets):  # type: ignore[no-untyped-def]
    corner = np.zeros(len(location), np.bool_)
    for walk in range(len(offsets) - 1):
        before = offsets[walk]
        for k in range(offsets[walk] + 1, offsets[walk + 1] - 1):
            here, last, after = location[k], location[before], location[k + 1]
            north, east = row[after] - row[last], column[after] - column[last]
            beside = abs(row[here] - row[last]) + abs(column[here] - column[last]) == 1
            if (
                abs(north) == 1
                and abs(east) == 1
                and beside
                and abs(row[after] - row[here]) + abs(column[after] - column[here]) == 1
            ):
                corner[k] = True
            else:
                before = k
    return corner
