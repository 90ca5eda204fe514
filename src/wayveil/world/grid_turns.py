"""Turns of walks over a grid: by how many eighths of a circle each move differs from the one before it."""

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.world.grid import Grid
from wayveil.world.repeats import classify_lengths

# Straight on, three sharper turns to either side, straight back; and -1 where a move is no move to a neighbour.
TURNS = 5
STRAIGHT_BACK = 4
# Binary digits of the classes of lengths by which turns are told apart.
LENGTH_BITS = 2
# Whether the turn before was straight back too: who steps over a border and back does so again.
TURN_CELLS = (TURNS * 2) << LENGTH_BITS


def find_turns(grid: Grid, location: NDArray[np.int32], moves: Ints) -> Ints:
    """The turn after each move but the last of every walk; `moves` are the positions of the first visits of moves."""
    row, column = grid.row[location].astype(np.int64), grid.column[location].astype(np.int64)
    north, east = row[moves + 1] - row[moves], column[moves + 1] - column[moves]
    near = (np.maximum(np.abs(north), np.abs(east))) == 1
    eighth = _EIGHTHS[np.clip(north, -1, 1) + 1, np.clip(east, -1, 1) + 1]
    follows = np.flatnonzero(moves[1:] == moves[:-1] + 1)
    apart = np.abs((eighth[follows + 1] - eighth[follows] + 4) % 8 - 4)
    return np.where(near[follows] & near[follows + 1], apart, -1)


def turn_cells(grid: Grid, location: NDArray[np.int32], moves: Ints, lengths: Ints) -> Ints:
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
