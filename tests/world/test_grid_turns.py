"""Turns of ways on a grid."""

import numpy as np

from wayveil.counting.counter import count_block, walks_of
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout
from wayveil.world.grid_moves import STRAIGHT_BACK, TURN_CELLS, TURNS, find_turns
from wayveil.world.walk_blocks import Resolution, WalkBlocks
from wayveil.world.zones import Geography

GRID = Grid(Layout.of_counts("0,0,1,1", 5, 5))
LOOK = Resolution(ends=0, hours=0, pairs=0, edges=0, distances=1, growth=50, times=0, bands=0)


def turns(*walks):
    trips = Trips.of_lists([[row * 5 + column for row, column in walk] for walk in walks], GRID)
    seen = walks_of(trips)
    return find_turns(GRID, seen.location, seen.moves).tolist()


def test_turns_are_eighths_of_a_circle_to_either_side():
    assert turns([(0, 0), (0, 1), (0, 2)]) == [0]
    assert turns([(0, 0), (0, 1), (1, 2)], [(4, 0), (4, 1), (3, 2)]) == [1, 1]
    assert turns([(0, 0), (0, 1), (1, 1)]) == [2]
    assert turns([(0, 0), (1, 1), (1, 0)]) == [3]
    assert turns([(0, 0), (0, 1), (0, 0), (0, 1)], [(3, 3)], [(0, 0), (0, 1)]) == [4, 4]


def test_a_jump_has_no_turn():
    assert turns([(0, 0), (0, 3), (0, 4), (0, 3)]) == [-1, 4]


def test_a_trip_adds_at_most_one_over_all_its_turns():
    block = WalkBlocks(Geography(GRID), LOOK).all()["turn"]
    rng = np.random.default_rng(0)
    for length in (1, 2, 3, 9, 40):
        trip = Trips.of_lists([rng.integers(0, 25, length).tolist()], GRID)
        cells, weight = count_block(block, 1 << 20).of(trip)
        assert (np.broadcast_to(weight, cells.shape).sum() if len(cells) else 0) <= 1 << 20
        assert ((cells >= 0) & (cells < TURN_CELLS)).all()


def test_long_ways_have_cells_of_their_own():
    block = WalkBlocks(Geography(GRID), LOOK).all()["turn"]
    back = [[0, 1, 0], [0, 1] * 30]
    cells = block.of(walks_of(Trips.of_lists(back, GRID)))
    assert set(cells % TURNS) == {STRAIGHT_BACK}
    assert cells[0] < cells[-1]


def test_turns_after_a_turn_straight_back_have_cells_of_their_own():
    block = WalkBlocks(Geography(GRID), LOOK).all()["turn"]
    walks = [[0, 1, 0, 1, 2], [0, 1, 2], [0, 1, 0], [0, 1]]
    cells = block.of(walks_of(Trips.of_lists(walks, GRID)))
    after_back = cells // TURNS % 2
    # Back, back, straight on; then walks of one turn each, which know nothing of the walk before.
    assert (cells % TURNS).tolist() == [4, 4, 0, 0, 4]
    assert after_back.tolist() == [0, 1, 1, 0, 0]
