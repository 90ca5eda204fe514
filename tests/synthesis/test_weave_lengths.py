"""Woven trips are as long as those that were measured."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.drives import _GridArrays, _pick_points, _wander, _Ways
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.lengths import LengthLaw, read_lengths
from wayveil.mechanisms.weave.settings import Generation
from wayveil.simulate.feed import write_city
from wayveil.simulate.habit import simulate_habit
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.gtfs import read_gtfs
from wayveil.world.walk_blocks import Walks, join_lengths, length_edges
from weave_city import QUICK, measured

WEAVE = Weave(generation=QUICK)


@cache
def sessions():
    grid = Grid.parse(f"grid:{STUDY_BOX}@12x12")
    points = simulate_taxis(4_000, drivers="sessions", seed=4)
    return WEAVE.rule(grid).apply(Trips(grid.cell_of(points.lat, points.lon), points.offsets, grid))


def test_long_sessions_come_out_as_long_as_they_are():
    raw = sessions().lengths
    made = measured(WEAVE, sessions(), epsilon=4)[0].generate(3).lengths
    assert abs(made.sum() / raw.sum() - 1) < 0.05
    assert abs(np.quantile(made, 0.99) / np.quantile(raw, 0.99) - 1) < 0.2


@pytest.mark.parametrize("seed", range(4))
def test_a_tail_below_the_noise_is_read_as_it_goes_on(seed):
    edges, rng = length_edges(18), np.random.default_rng(seed)
    raw = 1 + rng.lognormal(2.5, 0.8, 7_000).astype(np.int64)
    true = np.bincount(np.searchsorted(edges, raw, side="right") - 1, minlength=len(edges))
    noisy = np.concatenate([true, np.zeros(3 * len(edges))])
    noisy = CellEstimates(noisy + rng.laplace(0, 16, len(noisy)), 16 * 2**0.5)
    found = read_lengths({"length": noisy}, edges, len(raw), Generation())["length"]
    drawn = LengthLaw(edges, found.value).draw(100_000, rng)[1]
    assert abs(drawn.mean() / raw.mean() - 1) < 0.1


def test_lengths_of_all_trips_in_wide_bins_tell_how_long_the_longest_are():
    edges, rng = length_edges(25), np.random.default_rng(6)
    raw = 1 + rng.lognormal(2.9, 0.75, 7_000).astype(np.int64)
    bin_, far = np.searchsorted(edges, raw, side="right") - 1, rng.integers(0, 4, len(raw))
    true = np.bincount(far * len(edges) + bin_, minlength=4 * len(edges))
    every = np.bincount(join_lengths(edges)[bin_], minlength=join_lengths(edges)[-1] + 1)

    def read_tail(wide):
        blocks = {"length": CellEstimates(true + rng.laplace(0, 30, len(true)), 30 * 2**0.5)}
        if wide:
            blocks["length in all"] = CellEstimates(every + rng.laplace(0, 9, len(every)), 9 * 2**0.5)
        law = LengthLaw(edges, read_lengths(blocks, edges, len(raw), Generation())["length"].value)
        longest = law.length[np.searchsorted(np.cumsum(law.mass.sum(axis=0)) / law.mass.sum(), 0.99)]
        return abs(longest / np.quantile(raw, 0.99) - 1), abs(law.visits / raw.sum() - 1)

    off, narrow = (np.mean([read_tail(wide) for _ in range(20)], axis=0) for wide in (True, False))
    assert (off < (0.12, 0.03)).all()
    assert (off < narrow / 1.5).all()


def test_long_trips_of_a_wide_bin_are_rarer_than_short_ones():
    edges, rng = length_edges(25), np.random.default_rng(2)
    raw = 1 + rng.binomial(60, 0.25, 100_000)
    table = np.bincount(np.searchsorted(edges, raw, side="right") - 1, minlength=len(edges))
    far = np.zeros(100_000, np.int64)
    drawn = LengthLaw(edges, table.astype(np.float64)).draw_given(far, far + 1, rng)
    assert np.array_equal(np.quantile(drawn, (0.5, 0.95, 0.99)), np.quantile(raw, (0.5, 0.95, 0.99)))
    longer = LengthLaw(edges, table.astype(np.float64)).draw_given(far, far + 20, rng)
    assert abs(longer.mean() / raw[raw >= 20].mean() - 1) < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_lengths_of_ways_to_and_fro_jump_as_counted(seed):
    edges, rng = length_edges(18), np.random.default_rng(seed)
    true = np.zeros((2, len(edges)))
    true[0, [2, 4]], true[1, [1, 3, 5]] = (20_000, 6_000), (9_000, 4_000, 2_000)
    noisy = CellEstimates(true.ravel() + rng.laplace(0, 12, true.size), 12 * 2**0.5)
    read = read_lengths({"length": noisy}, edges, true.sum(), Generation(), on_list=True)
    found = read["length"].value.reshape(2, -1)
    assert np.abs(found - true).sum() < 0.03 * true.sum()


def test_ways_have_as_many_visits_as_asked_for_and_end_where_they_should():
    grid, rng = sessions().world, np.random.default_rng(1)
    origin, destination = rng.integers(0, grid.size, (2, 2_000))
    north, east = (np.abs(at[origin] - at[destination]).astype(np.int64) for at in (grid.row, grid.column))
    fewest = np.maximum(north, east) + 1
    # Who ends where he began makes no single move.
    wanted = fewest + np.where(fewest == 1, 2, 1) * rng.integers(0, 60, len(fewest)) * 2
    for wavering in (0.1, 1.0):
        ways = _Ways(origin, destination, wanted, np.full(len(origin), wavering))
        location, offsets = _wander(_GridArrays.of(grid), ways, rng)
        assert (np.diff(offsets) == wanted).all()
        assert (location[offsets[1:] - 1] == destination).all()


@cache
def line_riders(metres):
    """Riders who board lines, over a network that also offers walks."""
    with TemporaryDirectory() as folder:
        feed = write_city(Path(folder) / "town.zip", 3, stops=60, lines=5)
        ridden = simulate_habit(read_gtfs(feed), 8_000, seed=2)
        offered = read_gtfs(feed, walk_radius_metres=metres)
    return Trips(ridden.location, ridden.offsets, offered)


def test_walks_that_nobody_takes_are_not_made():
    raw = line_riders(900.0)
    made = measured(WEAVE, raw, epsilon=4)[0].generate(1)

    def walked(trips):
        inside = np.ones(trips.visits, bool)
        inside[trips.offsets[1:] - 1] = False
        at = np.flatnonzero(inside)
        return raw.world.walk[raw.world.edge_index(trips.location[at], trips.location[at + 1])].mean()

    assert raw.world.walk.any()
    assert walked(made) < walked(raw) + 0.02
    assert abs(made.visits / raw.visits - 1) < 0.05


def test_routes_keep_their_ends_where_no_way_between_them_was_found():
    walks = Walks(np.array([4, 5, 6], np.int32), np.array([0, 3, 3]))
    ways = _Ways(np.array([4, 7]), np.array([6, 7]), np.array([3, 2]), np.ones(2))
    points, first = _pick_points(walks, ways, np.arange(2), np.ones(2, np.int64))
    assert points.tolist() == [4, 5, 6, 7, 7]
    assert first.tolist() == [0, 3, 5]
