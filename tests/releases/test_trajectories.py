"""Releases as points: the shape of scikit-mobility, marked as what they are."""

import numpy as np
import polars as pl

from wayveil.mechanisms.markov import Markov
from wayveil.releases.exports.trajectories import trajectories
from wayveil.releases.exports.write import export
from wayveil.releases.release import release
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout

GRID = Grid(Layout.of_counts("0,0,1,1", 3, 3))


def test_points_lie_in_their_cells_and_say_how_they_were_placed(tmp_path):
    raw = Trips.of_lists([[0, 1, 2], [3, 4]] * 200, GRID)
    made = release(raw, Markov(), epsilon=2, seed=1)
    table = trajectories(made, seed=4)
    assert table.columns == ["uid", "tid", "datetime", "lat", "lng", "placed"]
    cells = GRID.cell_of(table["lat"].to_numpy(), table["lng"].to_numpy())
    assert np.array_equal(cells, made.trips.location)
    assert table["placed"].unique().to_list() == ["drawn in its cell"]
    assert table["uid"].n_unique() == len(made.trips)
    (path,) = export(made, "trajectories", tmp_path / "points.csv")
    assert pl.read_csv(path).height == made.trips.visits
