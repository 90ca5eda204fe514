import numpy as np
import pytest

from wayveil.errors import ParameterError
from wayveil.world.grid import Grid, Layout
from wayveil.world.trees import travel_seconds


def test_a_grid_covers_its_box_and_moves_at_its_speed():
    grid = Grid(Layout.of_steps("-34.70,-58.50,-34.60,-58.38", 0.02, 0.02), metres_per_second=10)
    assert grid.size == 5 * 6
    assert grid.ids[0] == "r0000c0000"
    assert np.diff(grid.indptr).min() == 3
    assert np.diff(grid.indptr).max() == 8
    north = travel_seconds(grid, [0])[0][6]
    assert north == pytest.approx(0.02 * 111_195 / 10, rel=0.01)


def test_a_grid_of_too_many_cells_is_refused():
    with pytest.raises(ParameterError, match="cells"):
        Layout.of_steps("-35,-59,-34,-58", 0.0001, 0.0001)
