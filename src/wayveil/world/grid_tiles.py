"""Tiles of a grid: a few rows and columns, each of many cells; and how walks cross from tile to tile.

A walk makes many moves and few crossings, so that each of these shows with much more weight. Two in a row tell who
goes on, who turns, and who steps over a border and back.
"""

import numpy as np

from wayveil.arrays import Int32s, Ints
from wayveil.world.grid import Grid

# A crossing goes to one of eight neighbours; the one before it came from any of them, or there was none.
WAYS = 8
BEFORE = WAYS + 1


class Tiles:
    """`across` rows and columns of tiles, fewer on a grid that has fewer of cells."""

    def __init__(self, grid: Grid, across: int) -> None:
        rows, columns = min(across, grid.layout.rows), min(across, grid.layout.columns)
        self.row = grid.row.astype(np.int64) * rows // grid.layout.rows
        self.column = grid.column.astype(np.int64) * columns // grid.layout.columns
        self.columns = columns
        self.cells = rows * columns * WAYS * BEFORE

    def count(self, location: Int32s, offsets: Ints, moves: Ints) -> Ints:
        """Return how often each walk crosses; `moves` are the positions of the first visits of moves."""
        crosses = np.zeros(len(location) + 1, np.int64)
        crosses[1:][self._crossings(location, moves)] = 1
        return np.diff(np.cumsum(crosses)[offsets])

    def find(self, location: Int32s, offsets: Ints, moves: Ints) -> Ints:
        """The cell of each crossing: the tile that is left, the way, and the way of the crossing before.

        -1 where a move goes beyond the tiles around.
        """
        at = self._crossings(location, moves)
        one, other = location[at], location[at + 1]
        north, east = self.row[other] - self.row[one], self.column[other] - self.column[one]
        near = np.maximum(np.abs(north), np.abs(east)) == 1
        way = _WAYS[np.clip(north, -1, 1) + 1, np.clip(east, -1, 1) + 1]
        before = np.full(len(at), WAYS, np.int64)
        before[1:] = way[:-1]
        count = self.count(location, offsets, moves)
        before[(np.cumsum(count) - count)[count > 0]] = WAYS
        cell = ((self.row[one] * self.columns + self.column[one]) * WAYS + way) * BEFORE + before
        return np.where(near, cell, -1)

    def _crossings(self, location: Int32s, moves: Ints) -> Ints:
        """The moves that lead into another tile."""
        one, other = location[moves], location[moves + 1]
        return moves[(self.row[one] != self.row[other]) | (self.column[one] != self.column[other])]


# Eight ways by rows north and columns east, each + 1.
_WAYS = np.array([[0, 1, 2], [3, 0, 4], [5, 6, 7]], np.int64)
