import numpy as np
import pytest

from wayveil.errors import ParameterError
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.points import read_points
from wayveil.world.geo import haversine
from wayveil.world.grid import Grid


@pytest.mark.parametrize("drivers", ["streets", "wandering"])
def test_simulated_points_become_trips_of_the_study_box(tmp_path, drivers):
    points = simulate_taxis(400, drivers=drivers, seed=3)
    points.write(tmp_path / "taxis.csv")
    trips = read_points(tmp_path / "taxis.csv", Grid.of_metres(STUDY_BOX, 250))
    assert 300 <= len(trips) <= 400
    assert 5 < trips.lengths.mean() < 60
    assert trips.rider is None
    again = simulate_taxis(400, drivers=drivers, seed=3)
    assert np.array_equal(again.lat, points.lat)
    for name in ("taxis.parquet", "taxis.csv.gz"):
        points.write(tmp_path / name)
        same = read_points(tmp_path / name, Grid.of_metres(STUDY_BOX, 250))
        assert same.to_lists() == trips.to_lists()


def test_wandering_drivers_take_longer_ways_than_those_of_streets():
    detour = {}
    for drivers in ("streets", "wandering"):
        p = simulate_taxis(500, drivers=drivers, seed=1)
        step = haversine(p.lat[:-1], p.lon[:-1], p.lat[1:], p.lon[1:])
        step[p.offsets[1:-1] - 1] = 0
        way = np.add.reduceat(step, p.offsets[:-1])
        first, last = p.offsets[:-1], p.offsets[1:] - 1
        straight = haversine(p.lat[first], p.lon[first], p.lat[last], p.lon[last])
        detour[drivers] = np.median(way / np.maximum(straight, 200))
    assert detour["wandering"] > detour["streets"]


def test_drivers_of_the_study_ride_as_far_as_its_table_says(tmp_path):
    """Its table 1: trips of 9.07 cells of 250 m with a deviation of 5.15, 2,851 of the box's cells visited."""
    simulate_taxis(121_622, drivers="study", seed=7).write(tmp_path / "taxis.parquet")
    for metres, mean, deviation, cells in ((250, 9.07, 5.15, 2_851), (500, 7.34, 4.53, 848)):
        trips = read_points(tmp_path / "taxis.parquet", Grid.of_metres(STUDY_BOX, metres))
        assert trips.lengths.mean() == pytest.approx(mean, rel=0.1)
        assert trips.lengths.std() == pytest.approx(deviation, rel=0.1)
        assert len(np.unique(trips.location)) == pytest.approx(cells, rel=0.1)


def test_what_is_no_city_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="streets"):
        simulate_taxis(5, drivers="flying")
    with pytest.raises(ParameterError, match="at least one trip"):
        simulate_taxis(0)
    with pytest.raises(ParameterError, match="format"):
        simulate_taxis(5).write(tmp_path / "taxis.txt")
