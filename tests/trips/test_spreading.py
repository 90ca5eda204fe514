"""Points of released trips in their cells: near each other where trips are short, straight where they go on."""

import numpy as np

from wayveil.trips.points_in_cells import FALLS, find_fall
from wayveil.trips.tracks import Tracks
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout

GRID = Grid(Layout.of_counts("0,0,0.4,0.4", 20, 20))
SIDE = GRID.layout.lat_step


def ends_of(tracks):
    return (
        np.stack([tracks.lat[at], tracks.lon[at]]) for at in (tracks.offsets[:-1], tracks.offsets[1:] - 1)
    )


def between_cells(rng, reach, count=30_000):
    """True ends of trips that end `exp(-distance / reach)` as often there as here, where they leave their cell."""
    start = rng.uniform(0.1, 0.3, (2, count))
    angle, long = rng.uniform(0, 2 * np.pi, count), rng.gamma(2, reach, count)
    end = start + long * np.stack([np.sin(angle), np.cos(angle)])
    inside = (end > 0).all(axis=0) & (end < 0.4).all(axis=0)
    start, end = start[:, inside], end[:, inside]
    cells = np.stack([GRID.cell_of(*start), GRID.cell_of(*end)], axis=1)
    apart = cells[:, 0] != cells[:, 1]
    return Trips.of_lists(cells[apart].tolist(), GRID), np.hypot(*(end - start))[apart]


def test_ends_are_as_near_as_trips_of_that_length_are():
    for reach in (0.5 * SIDE, SIDE, 3 * SIDE):
        trips, true = between_cells(np.random.default_rng(1), reach)
        begin, end = ends_of(Tracks.spread(trips, seed=2))
        drawn = np.hypot(*(end - begin))
        assert abs(drawn.mean() / true.mean() - 1) < 0.03
        for share in (0.1, 0.5, 0.9):
            assert abs(np.quantile(drawn, share) - np.quantile(true, share)) < 0.08 * SIDE


def test_how_fast_trips_become_rarer_is_read_off_the_trips():
    for reach in (0.5, 1.0, 2.0):
        trips, _ = between_cells(np.random.default_rng(3), reach * SIDE)
        row, column = (part[trips.location].astype(float) for part in (GRID.row, GRID.column))
        assert 0.8 < find_fall(row, column, trips.offsets, 1.0, 1.0) / reach < 1.3


def test_where_nobody_goes_near_weights_hardly_fall():
    far = Trips.of_lists([[0, 399], []], GRID)
    row, column = (part[far.location].astype(float) for part in (GRID.row, GRID.column))
    assert find_fall(row, column, far.offsets, 1.0, 1.0) == FALLS[-1]


def test_stairs_become_straight_and_ways_back_stay_wide():
    stairs = [[20 * (5 + k // 2) + 3 + k for k in range(12)]] * 500
    made = Tracks.spread(Trips.of_lists(stairs, GRID), seed=1)
    assert GRID.cell_of(made.lat, made.lon).tolist() == np.ravel(stairs).tolist()
    lat, lon = made.lat.reshape(500, 12) / SIDE, made.lon.reshape(500, 12) / SIDE
    way = np.hypot(np.diff(lat), np.diff(lon)).sum(axis=1)
    straight = np.hypot(lat[:, -1] - lat[:, 0], lon[:, -1] - lon[:, 0])
    # From centre to centre, stairs are 8 % longer than the line between their ends; with points drawn anew, 15 %.
    assert (way / straight).mean() < 1.07
    back = Trips.of_lists([[210, 211, 210, 211, 210, 211]] * 500, GRID)
    made = Tracks.spread(back, seed=1)
    steps = np.abs(np.diff(made.lon.reshape(500, 6))) / SIDE
    assert 0.7 < steps.mean() < 1.3


def test_one_visit_and_no_visit_have_their_points():
    made = Tracks.spread(Trips.of_lists([[5], [], [5, 6]], GRID), seed=1)
    assert GRID.cell_of(made.lat, made.lon).tolist() == [5, 5, 6]
