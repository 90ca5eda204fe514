"""Points along ways as often as vehicles are seen: between visits to wide cells, in place of visits to narrow ones."""

import numpy as np

from wayveil.trips.tracks import PACE, Tracks, pace_points
from wayveil.trips.trips import Trips
from wayveil.world.grid import METRES_PER_DEGREE, Grid, Layout

RNG = np.random.default_rng


def grid(metres):
    degrees = 20 * metres / METRES_PER_DEGREE
    return Grid(Layout.of_counts(f"0,0,{degrees},{degrees}", 20, 20))


def ways(tracks):
    steps = METRES_PER_DEGREE * np.hypot(np.diff(tracks.lat), np.diff(tracks.lon))
    return [
        steps[first : last - 1] for first, last in zip(tracks.offsets[:-1], tracks.offsets[1:], strict=True)
    ]


def test_wide_cells_keep_their_points_and_get_more_on_the_way():
    world = grid(2_000)
    trips = Trips.of_lists([[0, 21, 42, 63], [5], [], [40, 41, 40]] * 50, world)
    plain = Tracks.spread(trips, seed=1)
    made, paced = Tracks.drive(trips, seed=1)
    own = paced.share == 0
    assert np.array_equal(made.lat[own], plain.lat)
    assert np.array_equal(made.lon[own], plain.lon)
    assert (~own).sum() > 200
    for before, after in zip(ways(plain), ways(made), strict=True):
        assert np.isclose(before.sum(), after.sum())
        assert after.max(initial=0) < 2 * PACE


def test_ways_between_diagonal_neighbours_are_seen_in_the_corners_that_they_clip():
    world = grid(2_000)
    made = Tracks.driven(Trips.of_lists([[0, 21, 42, 63, 84]] * 200, world), seed=1)
    cells = world.cell_of(made.lat, made.lon)
    row, column = world.row[cells], world.column[cells]
    beside = (row != column).mean()
    assert beside > 0.05


def test_narrow_cells_are_seen_in_part():
    world = grid(100)
    made = Tracks.driven(Trips.of_lists([list(range(20)), [3], [3, 4]], world), seed=2)
    counts = np.diff(made.offsets)
    assert 3 <= counts[0] <= 6
    assert counts[1:].tolist() == [1, 2]
    even = ways(made)[0]
    assert even.max() - even.min() < 0.1 * PACE


def test_values_of_visits_are_taken_in_proportion():
    north, east = np.array([0.0, 1_000.0, 1_000.0, 5.0]), np.array([0.0, 0.0, 100.0, 5.0])
    paced = pace_points(north, east, np.array([0, 3, 4]), 250.0, RNG(1), pace=275.0)
    assert paced.visit[0] == 0
    assert paced.visit[paced.offsets[1] - 1] == 2
    time = paced.between(np.array([0, 100, 110, 7]))
    assert (np.diff(time[: paced.offsets[1]]) > 0).all()
    assert time[-1] == 7
    assert np.allclose(paced.between(north)[: paced.offsets[1] - 1], 10 * time[: paced.offsets[1] - 1])
