"""Releases as points: the shape of scikit-mobility, marked as what they are."""

from types import SimpleNamespace

import numpy as np
import polars as pl

from wayveil.exports.write import export, trajectories
from wayveil.mechanisms.markov import Markov
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout

GRID = Grid(Layout.of_counts("0,0,1,1", 3, 3))


def test_points_lie_in_their_cells_and_say_how_they_were_placed(tmp_path):
    raw = Trips.of_lists([[0, 1, 2], [3, 4]] * 200, GRID)
    made = release(raw, Markov(), epsilon=2, seed=1)
    table = trajectories(made, seed=4)
    assert table.columns == ["uid", "tid", "datetime", "lat", "lng", "placed"]
    drawn = table.filter(pl.col("placed") == "drawn in its cell")
    cells = GRID.cell_of(drawn["lat"].to_numpy(), drawn["lng"].to_numpy())
    assert np.array_equal(cells, made.trips.location)
    others = set(table["placed"]) - {"drawn in its cell"}
    assert others == {"on the way to the next cell"}
    assert table["uid"].n_unique() == len(made.trips)
    (path,) = export(made, "trajectories", tmp_path / "points.csv")
    assert pl.read_csv(path).height > made.trips.visits


def test_points_on_the_way_have_times_between_those_of_their_visits():
    trips = Trips.of_lists([[0, 1, 2], [3, 4]], GRID, time=np.array([600, 1200, 1800, 60, 660]))
    table = trajectories(SimpleNamespace(trips=trips), seed=4)
    for trip, (first, last) in zip(table.partition_by("tid"), (("10", "30"), ("01", "11")), strict=True):
        assert trip["datetime"].is_sorted()
        assert trip["datetime"].n_unique() > 20
        assert trip["datetime"][0].endswith(f"{first}:00")
        assert trip["datetime"][-1].endswith(f"{last}:00")
