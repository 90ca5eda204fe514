"""Walks over a grid: moves, turns, corners, how far they go aside, crossings, and where a destination lies."""

from functools import cached_property

import numpy as np
from numba import njit

from wayveil.arrays import Int32s, Ints, Mask
from wayveil.world.grid import Grid
from wayveil.world.repeats import classify_lengths
from wayveil.world.zones import Zones

# South-west first, row by row, as cells are numbered: (rows north, columns east).
DIRECTIONS = np.array([(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)])
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
    def neighbours(self) -> Int32s:
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
        """Tell whether no cell is masked, so that moves to a place are the larger of rows and columns to go."""
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
        """Return how far it is to a destination, in six classes."""
        return np.maximum(np.searchsorted(DISTANCES, self.moves_to(here, to), side="right") - 1, 0)


# Straight on, three sharper turns to either side, straight back; and -1 where a move is no move to a neighbour.
TURNS = 5
STRAIGHT_BACK = 4
# Binary digits of the classes of lengths by which turns are told apart.
LENGTH_BITS = 2
# Whether the turn before was straight back too: who steps over a border and back does so again.
TURN_CELLS = (TURNS * 2) << LENGTH_BITS


def find_turns(grid: Grid, location: Int32s, moves: Ints) -> Ints:
    """The turn after each move but the last of every walk; `moves` are the positions of the first visits of moves."""
    row, column = grid.row[location].astype(np.int64), grid.column[location].astype(np.int64)
    north, east = row[moves + 1] - row[moves], column[moves + 1] - column[moves]
    near = (np.maximum(np.abs(north), np.abs(east))) == 1
    eighth = _EIGHTHS[np.clip(north, -1, 1) + 1, np.clip(east, -1, 1) + 1]
    follows = np.flatnonzero(moves[1:] == moves[:-1] + 1)
    apart = np.abs((eighth[follows + 1] - eighth[follows] + 4) % 8 - 4)
    return np.where(near[follows] & near[follows + 1], apart, -1)


def turn_cells(grid: Grid, location: Int32s, moves: Ints, lengths: Ints) -> Ints:
    """The cell of each turn: class of the walk's length, whether the turn before was straight back, and the turn."""
    turns = find_turns(grid, location, moves)
    count = np.maximum(lengths - 2, 0)
    class_ = np.repeat(classify_lengths(lengths, LENGTH_BITS), count)
    after_back = np.zeros(len(turns), np.int64)
    after_back[1:] = turns[:-1] == STRAIGHT_BACK
    after_back[(np.cumsum(count) - count)[count > 0]] = 0
    return np.where(turns >= 0, (class_ * 2 + after_back) * TURNS + turns, -1)


# Eighths of a circle from east, by rows north and columns east, each + 1.
_EIGHTHS = np.array([[5, 6, 7], [4, 0, 0], [3, 2, 1]], np.int64)


# Lower ends, in sides of a cell, of all bins but the first, which holds walks that never leave the box of their ends.
FARTHER = np.array([0.2, 1.2, 2.2, 4.2, 8.2])
EXTENTS = len(FARTHER) + 1


def find_extents(grid: Grid, location: Int32s, offsets: Ints) -> Ints:
    """The bin of each walk: the diagonal of its box less that of the box of its ends."""
    row, column = grid.row[location].astype(np.int64), grid.column[location].astype(np.int64)
    first, last = offsets[:-1], offsets[1:] - 1
    whole = np.hypot(
        *(np.maximum.reduceat(at, first) - np.minimum.reduceat(at, first) for at in (row, column))
    )
    ends = np.hypot(*(at[last] - at[first] for at in (row, column)))
    return np.searchsorted(FARTHER, whole - ends, side="right").astype(np.int64)


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


# A crossing goes to one of eight neighbours; the one before it came from any of them, or there was none.
WAYS = 8
BEFORE = WAYS + 1


class Tiles:
    """Tiles of a grid: `across` rows and columns, fewer on a grid that has fewer of cells, each of many cells.

    A walk makes many moves and few crossings from tile to tile, so that each of these shows with much more weight. Two
    in a row tell who goes on, who turns, and who steps over a border and back.
    """

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
