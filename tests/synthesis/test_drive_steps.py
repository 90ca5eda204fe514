"""Small steps of drivers over borders: corners, and steps back and forth."""

from itertools import pairwise

import numpy as np
import pytest

from wayveil.mechanisms.weave.drives import _GridArrays, add_corners, step_back
from wayveil.world.grid import Grid, Layout
from wayveil.world.grid_moves import find_corners

GRID = Grid(Layout.of_counts("0,0,1,1", 6, 6))
DIAGONAL = np.array([0, 7, 14, 21, 28], np.int32)


def many(walk, count):
    return np.tile(walk, count), len(walk) * np.arange(count + 1)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_corners_are_seen_as_often_as_asked_for_and_ways_stay_ways(share):
    location, offsets = add_corners(
        _GridArrays.of(GRID), *many(DIAGONAL, 2_000), np.full(2_000, share), np.random.default_rng(1)
    )
    assert np.diff(offsets).mean() == pytest.approx(5 + 4 * share, abs=0.1)
    inside = np.ones(len(location), bool)
    inside[offsets[1:] - 1] = False
    here = np.flatnonzero(inside)
    assert GRID.successors.contains(location[here], location[here + 1]).all()
    # What was added is a corner: cut out again, the walks are what they were.
    kept = ~find_corners(GRID, location, offsets)
    assert np.array_equal(location[kept], many(DIAGONAL, 2_000)[0])
    assert np.mean(~kept) == pytest.approx(4 * share / (5 + 4 * share), abs=0.03)


def test_a_burst_steps_back_at_one_place_and_others_anywhere():
    walk = np.array([0, 1, 2, 3], np.int32)
    back, rng = np.full(500, 3), np.random.default_rng(3)
    for burst in (True, False):
        location, offsets = step_back(*many(walk, 500), back, np.full(500, burst), rng)
        assert (np.diff(offsets) == 4 + 2 * 3).all()
        places = [len({*pairwise(made)}) for made in location.reshape(500, 10).tolist()]
        # Three moves, and one move back for each place where the walk steps back.
        assert (max(places) == 4) is burst
        assert location.reshape(500, 10)[:, [0, -1]].tolist() == [[0, 3]] * 500
