"""How far walks over a grid go aside: by how much the box around a walk is wider than the box around its ends."""

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.world.grid import Grid

# Lower ends, in sides of a cell, of all bins but the first, which holds walks that never leave the box of their ends.
FARTHER = np.array([0.2, 1.2, 2.2, 4.2, 8.2])
EXTENTS = len(FARTHER) + 1


def find_extents(grid: Grid, location: NDArray[np.int32], offsets: Ints) -> Ints:
    """The bin of each walk: the diagonal of its box less that of the box of its ends."""
    row, column = grid.row[location].astype(np.int64), grid.column[location].astype(np.int64)
    first, last = offsets[:-1], offsets[1:] - 1
    whole = np.hypot(
        *(np.maximum.reduceat(at, first) - np.minimum.reduceat(at, first) for at in (row, column))
    )
    ends = np.hypot(*(at[last] - at[first] for at in (row, column)))
    return np.searchsorted(FARTHER, whole - ends, side="right").astype(np.int64)
