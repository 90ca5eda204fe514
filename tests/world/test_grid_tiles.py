"""Crossings from tile to tile of a grid, two in a row."""

import numpy as np
import pytest

from wayveil.counting.counter import count_block, walks_of
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout
from wayveil.world.grid_moves import BEFORE, WAYS, Tiles
from wayveil.world.walk_blocks import Resolution, WalkBlocks
from wayveil.world.zones import Geography

GRID = Grid(Layout.of_counts("0,0,1,1", 12, 18))
LOOK = Resolution(ends=0, hours=0, pairs=0, edges=0, distances=3, growth=50, times=0, bands=0, tiles=6)


def trips_over(grid, *walks):
    columns = grid.layout.columns
    return Trips.of_lists([[row * columns + column for row, column in walk] for walk in walks], grid)


def crossings(*walks, across=6):
    """Of each walk: the tile left (row, column), the way there and the way before, as steps north and east."""
    trips, tiles = trips_over(GRID, *walks), Tiles(GRID, across)
    seen = walks_of(trips)
    count = tiles.count(seen.location, seen.offsets, seen.moves)
    cells = tiles.find(seen.location, seen.offsets, seen.moves)
    assert len(cells) == count.sum()
    steps = [(north, east) for north in (-1, 0, 1) for east in (-1, 0, 1) if north or east] + [None]
    named = [
        (*divmod(cell // BEFORE // WAYS, tiles.columns), steps[cell // BEFORE % WAYS], steps[cell % BEFORE])
        for cell in cells.tolist()
    ]
    return [[named.pop(0) for _ in range(each)] for each in count.tolist()]


def test_a_walk_inside_one_tile_crosses_nothing():
    assert crossings([(0, 0), (1, 1), (0, 2)], [(5, 5)]) == [[], []]


def test_crossings_know_the_one_before():
    east, west, north = (0, 1), (0, -1), (1, 0)
    there_and_back = [(0, 2), (0, 3), (0, 2), (0, 3), (1, 4), (2, 4)]
    assert crossings(there_and_back, [(0, 3), (0, 2)]) == [
        [(0, 0, east, None), (0, 1, west, east), (0, 0, east, west), (0, 1, north, east)],
        [(0, 1, west, None)],
    ]


def test_a_diagonal_step_into_another_row_and_column_is_one_crossing():
    assert crossings([(1, 2), (2, 3)]) == [[(0, 0, (1, 1), None)]]


def test_a_jump_beyond_the_tiles_around_has_no_cell():
    trips, tiles = trips_over(GRID, [(0, 0), (0, 17), (0, 14)]), Tiles(GRID, 6)
    seen = walks_of(trips)
    assert tiles.find(seen.location, seen.offsets, seen.moves)[0] == -1
    assert tiles.count(seen.location, seen.offsets, seen.moves).tolist() == [2]


def test_a_grid_of_few_cells_has_a_tile_for_each():
    tiles = Tiles(Grid(Layout.of_counts("0,0,1,1", 2, 3)), 6)
    assert tiles.cells == 6 * WAYS * BEFORE
    assert len({*zip(tiles.row.tolist(), tiles.column.tolist(), strict=True)}) == 6


@pytest.mark.parametrize("euclidean", [0, 1])
def test_a_trip_adds_at_most_one_in_all(euclidean):
    look = Resolution(**{**vars(LOOK), "euclidean": euclidean})
    block = WalkBlocks(Geography(GRID), look).all()["crossing"]
    rng = np.random.default_rng(3)
    longest = 0.0
    for _ in range(30):
        trips = Trips.of_lists([rng.integers(0, GRID.size, rng.integers(1, 40)).tolist()], GRID)
        cells, weights = count_block(block, 1 << 20).of(trips)
        table = np.zeros(block.cells)
        inside = np.asarray(cells) >= 0
        np.add.at(table, np.asarray(cells)[inside], np.broadcast_to(weights, len(cells))[inside])
        longest = max(longest, float(np.linalg.norm(table, 2 if euclidean else 1)))
    assert 0 < longest <= 1 << 20


def test_without_tiles_nothing_is_looked_at():
    look = Resolution(**{**vars(LOOK), "tiles": 0})
    assert "crossing" not in WalkBlocks(Geography(GRID), look).all()
