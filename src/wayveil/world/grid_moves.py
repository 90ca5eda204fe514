"""Walks over a grid: moves as directions, turns, how far they go aside, and where a destination lies."""

from functools import cached_property

import numpy as np

from wayveil.arrays import Int32s, Ints
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
