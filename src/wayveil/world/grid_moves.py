"""Moves on a grid as directions, and where a destination lies as seen from a cell. All of it is public."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wayveil.world.grid import Grid
from wayveil.world.zones import Zones

Ints = NDArray[np.int64]

# South-west first, row by row, as cells are numbered: (rows north, columns east).
DIRECTIONS = np.array([(n, e) for n in (-1, 0, 1) for e in (-1, 0, 1) if (n, e) != (0, 0)], np.int64)
MOVES = len(DIRECTIONS)
SECTORS = 16
# First distances (in moves) of the classes in which a destination can lie.
DISTANCES = np.array([1, 2, 3, 5, 9, 17], np.int64)


class GridMoves:
    """The eight moves of a grid, its zones, and the view of a destination from a cell."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.row, self.column = grid.row.astype(np.int64), grid.column.astype(np.int64)

    @cached_property
    def neighbours(self) -> NDArray[np.int32]:
        """The cell that each move leads to, -1 for none: one row per cell."""
        found = np.full((self.grid.size, MOVES), -1, np.int32)
        source, target = self.grid.sources, self.grid.indices
        found[source, self.move(source.astype(np.int64), target.astype(np.int64))] = target
        return found

    @cached_property
    def zones(self) -> Zones:
        return Zones.of_points(self.column.astype(np.float64), self.row.astype(np.float64))

    @cached_property
    def whole(self) -> bool:
        """Whether no cell is masked, so that moves to a place are the larger of rows and columns to go."""
        return self.grid.size == self.grid.layout.rows * self.grid.layout.columns

    def move(self, here: Ints, then: Ints) -> Ints:
        """Which move leads from one cell to a neighbour; -1 where none does."""
        north, east = self.row[then] - self.row[here], self.column[then] - self.column[here]
        code = (north + 1) * 3 + east + 1
        near = (np.abs(north) <= 1) & (np.abs(east) <= 1) & (code != 4)
        return np.where(near, code - (code > 4), -1)

    def towards(self, here: Ints, to: Ints) -> tuple[Ints, Ints]:
        """Rows north and columns east from here to a destination."""
        return self.row[to] - self.row[here], self.column[to] - self.column[here]

    def moves_to(self, here: Ints, to: Ints) -> Ints:
        """The fewest moves to a destination on an unmasked grid."""
        north, east = self.towards(here, to)
        return np.maximum(np.abs(north), np.abs(east))

    def sector(self, here: Ints, to: Ints) -> Ints:
        """In which of sixteen sectors a destination lies; its own cell is in the first."""
        north, east = self.towards(here, to)
        turn = np.arctan2(north, east) / (2 * np.pi) * SECTORS
        return np.floor(turn + 0.5).astype(np.int64) % SECTORS

    def distance_class(self, here: Ints, to: Ints) -> Ints:
        """How far it is to a destination, in six classes."""
        return np.maximum(np.searchsorted(DISTANCES, self.moves_to(here, to), side="right") - 1, 0)
