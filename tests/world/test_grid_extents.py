"""How far walks over a grid go aside."""

import numpy as np

from wayveil.counting.counter import count_block, walks_of
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout
from wayveil.world.grid_moves import EXTENTS, find_extents
from wayveil.world.walk_blocks import Resolution, WalkBlocks
from wayveil.world.zones import Geography

GRID = Grid(Layout.of_counts("0,0,1,1", 20, 20))
LOOK = Resolution(ends=0, hours=0, pairs=0, edges=0, distances=3, growth=50, times=0, bands=0)


def extents(*walks):
    trips = Trips.of_lists([[row * 20 + column for row, column in walk] for walk in walks], GRID)
    return find_extents(GRID, trips.location, trips.offsets).tolist()


def test_a_walk_inside_the_box_of_its_ends_goes_nowhere_aside():
    assert extents([(0, 0), (0, 1), (1, 1), (2, 2)], [(3, 3)], [(0, 5), (0, 6), (0, 5), (0, 6)]) == [0, 0, 0]


def test_the_wider_the_bow_the_higher_the_bin():
    bows = [[(0, 5), (up, 5), (0, 6)] for up in (1, 2, 4, 8, 15)]
    assert extents(*bows) == sorted(extents(*bows))
    assert extents(bows[0], bows[-1]) == [1, EXTENTS - 1]


def test_a_trip_is_in_one_cell_of_its_distance():
    block = WalkBlocks(Geography(GRID), LOOK).all()["extent"]
    rng = np.random.default_rng(0)
    trips = Trips.of_lists([rng.integers(0, 400, rng.integers(1, 9)).tolist() for _ in range(50)], GRID)
    cells, _ = count_block(block, 1).of(trips)
    assert len(cells) == 50
    assert ((cells >= 0) & (cells < block.cells)).all()
    distance = WalkBlocks(Geography(GRID), LOOK).distance(walks_of(trips))
    assert (np.asarray(cells) // EXTENTS).tolist() == distance.tolist()
