"""Weave on a grid: drivers, corners, pairs of ends."""

from fractions import Fraction
from functools import cache

import numpy as np

from wayveil.counting.counter import walks_of
from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.demand import Demand
from wayveil.mechanisms.weave.drives import DRIVE_CHOICES, DriveChoice, DrivenWays
from wayveil.mechanisms.weave.estimates import judge_counts
from wayveil.mechanisms.weave.settings import Generation, Shares
from wayveil.mechanisms.weave.weaving import read_blocks
from wayveil.privacy.units import Trip
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.trips import Trips
from wayveil.utility.stop_figures import jensen_shannon
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import EXTENTS, Tiles, find_corners, find_extents, find_turns
from wayveil.world.zones import Geography, quarter_leaves
from weave_city import QUICK, measured, small_town

WEAVE = Weave(generation=QUICK)


@cache
def driven():
    """Trips of drivers who take no shortest way, over 12 x 12 cells."""
    grid = Grid.parse(f"grid:{STUDY_BOX}@12x12")
    points = simulate_taxis(3_000, drivers="wandering", seed=4)
    return Trips(grid.cell_of(points.lat, points.lon), points.offsets, grid)


@cache
def wandering():
    """The same by the rule of Weave."""
    return WEAVE.rule(driven().world).apply(driven())


@cache
def model():
    return measured(WEAVE, wandering(), epsilon=4)[0]


@cache
def woven():
    return model().generate(3)


def share_of_corners(trips):
    """Visits to corners beside the moves to diagonal neighbours that make them possible."""
    seen = int(find_corners(trips.world, trips.location, trips.offsets).sum())
    moves = walks_of(trips).moves
    row, column = (at[trips.location] for at in (trips.world.row, trips.world.column))
    diagonal = (row[moves] != row[moves + 1]) & (column[moves] != column[moves + 1])
    return seen / max(seen + int(diagonal.sum()), 1)


def test_trips_are_legal_and_have_no_corners():
    made = woven()
    inside = np.ones(made.visits, bool)
    inside[made.offsets[1:] - 1] = False
    here = np.flatnonzero(inside)
    assert made.world.successors.contains(made.location[here], made.location[here + 1]).all()
    assert share_of_corners(made) < 0.02


def test_corners_that_are_kept_are_seen_as_often_as_drivers_are_seen_there():
    keeping = WEAVE.model_copy(update={"corners": "keep"})
    raw = keeping.rule(wandering().world).apply(driven())
    made = measured(keeping, raw, epsilon=4)[0].generate(3)
    shares = [share_of_corners(trips) for trips in (raw, made)]
    assert shares[0] > 0.1
    assert abs(shares[1] - shares[0]) < 0.1


def test_ways_are_as_long_as_drivers_make_them():
    raw, made = (np.bincount(np.minimum(trips.lengths, 40), minlength=41) for trips in (wandering(), woven()))
    assert jensen_shannon(raw, made) < 0.05
    assert abs(woven().lengths.mean() / wandering().lengths.mean() - 1) < 0.1


def test_pairs_of_ends_get_the_largest_part_on_a_grid():
    _, gate = measured(WEAVE, wandering(), epsilon=2, unit=Trip())
    prices = {spend.label: spend.price for spend in gate.budget.spends}
    assert max(prices, key=lambda label: prices[label]) == "trips by pair"
    assert sum(prices.values()) <= 2


def test_leaves_are_quartered_as_far_as_the_noise_allows():
    leaves, depth = model().leaves, Geography(wandering().world).places.depth
    strength = model().trips * model().noisy["pair"].whole / np.sqrt(model().noisy["pair"].variance / 2)
    assert len(leaves) <= strength < len(quarter_leaves(leaves, depth))
    # Four pairs of zones stand side by side wherever a leaf was quartered.
    parents = np.unique(leaves >> 2 * (depth - 1))
    assert len(parents) < len(leaves)


def test_quarters_of_leaves_keep_single_pairs_whole():
    # Depth 1: four pairs of places, as one leaf and as four.
    assert quarter_leaves(np.array([0]), 1).tolist() == [0, 1, 2, 3]
    assert quarter_leaves(np.array([0, 1, 2, 3]), 1).tolist() == [0, 1, 2, 3]
    assert quarter_leaves(np.array([0, 4, 8, 12]), 2).tolist() == list(range(16))


def test_single_cells_are_held_against_cells_of_which_as_much_is_expected():
    grid, rng = Grid.parse(f"grid:{STUDY_BOX}@20x20"), np.random.default_rng(5)
    # The farther east, the emptier.
    ends = rng.integers(0, 20, (30_000, 2)) * 20 + np.minimum(rng.geometric(0.25, (30_000, 2)) - 1, 19)
    trips = WEAVE.rule(grid).apply(Trips.of_lists(ends[ends[:, 0] != ends[:, 1]].tolist(), grid))
    kind = WEAVE.model_copy(update={"shares": Shares(many_trips=10**9)})
    blocks, _, noisy = read_blocks(measured(kind, trips, epsilon=1)[0])
    total, true = float(len(trips)), np.bincount(trips.location[trips.offsets[:-1]], minlength=400)
    found = Demand.estimate(blocks, noisy, total, WEAVE.generation).origin
    silent = {name: block for name, block in noisy.items() if name != "origin"}
    blind = Demand.estimate(blocks, silent, total, WEAVE.generation).origin
    # All cells held against the mean of all.
    alike = judge_counts(noisy["origin"].value, noisy["origin"].scale)[0]
    off = [np.sqrt(np.mean((one - true) ** 2)) for one in (found, blind, alike)]
    assert off[0] < 0.95 * off[1]
    assert off[0] < 0.8 * off[2]


def test_corners_are_cut_on_grids_only_unless_they_are_to_be_kept():
    keeping = WEAVE.model_copy(update={"corners": "keep"})
    assert WEAVE.rule(wandering().world).corners == "cut"
    assert keeping.rule(wandering().world).corners == "keep"
    assert WEAVE.rule(small_town()).corners == "keep"


def test_drivers_go_as_far_aside_as_measured():
    shares = []
    for trips in (wandering(), woven()):
        found = find_extents(trips.world, trips.location, trips.offsets)
        shares.append(np.bincount(found, minlength=EXTENTS) / len(trips))
    assert np.abs(shares[1] - shares[0]).max() < 0.05


def test_drivers_turn_as_often_as_measured():
    """Points near a border step over it and back again; detours alone made hardly any such turn."""
    shares = []
    for trips in (wandering(), woven()):
        seen = walks_of(trips)
        found = find_turns(trips.world, seen.location, seen.moves)
        shares.append(np.bincount(found[found >= 0], minlength=5) / (found >= 0).sum())
    assert shares[0][4] > 0.1
    assert abs(shares[1][4] - shares[0][4]) < 0.05


def test_single_edges_are_asked_for_earlier_than_single_cells():
    """Busy streets show through the noise long before the average edge does; cells of a grid are arbitrary."""
    low = Fraction(3, 10)
    eager = WEAVE.model_copy(update={"faint_on_grid": 0.01})
    asked, usual = (measured(kind, wandering(), epsilon=low)[0].noisy for kind in (eager, WEAVE))
    assert "edge" in asked
    assert "edge" not in usual


def test_edges_weigh_more_where_there_are_many_trips_in_all():
    """With few trips the weight belongs to pairs of zones, however many trips there are per cell."""

    def weight(places, density):
        signal = places * density
        return Shares().weigh_blocks("grid", timed=True, places=places, signal=signal)["edge"]

    assert weight(900, 10) == 15
    assert weight(5_000, 10) == Fraction(100, 3)
    assert weight(5_000, 100) == weight(900, 100) == 35


def test_crossings_weigh_most_where_they_can_be_told_and_are_not_yet_clear():
    def weight(signal):
        return Shares().weigh_blocks("grid", timed=False, places=900, signal=signal)["crossing"]

    clear, full = Shares().many_trips, Shares().on_grid["crossing"]
    assert weight(0) < full / 1_000
    assert weight(clear) == full
    assert weight(clear // 4) == weight(4 * clear) == full / 4


def test_crossings_that_would_be_noise_are_not_asked_for():
    weak, strong = (measured(WEAVE, wandering(), epsilon=epsilon)[0] for epsilon in (Fraction(3, 10), 4))
    assert "crossing" not in weak.noisy
    assert weak.resolution.tiles == 0
    assert "crossing" in strong.noisy
    assert strong.resolution.tiles == 6


def test_ways_cross_from_tile_to_tile_as_measured():
    """Other questions alone leave runs over parts of the city to chance."""
    tiles = Tiles(wandering().world, 6)

    def runs(trips):
        seen = walks_of(trips)
        return np.bincount(tiles.find(seen.location, seen.offsets, seen.moves), minlength=tiles.cells)

    without = WEAVE.model_copy(update={"shares": Shares(many_trips=10**9)})
    raw = runs(wandering())
    off = [
        np.abs(runs(made) - raw).sum() / raw.sum()
        for made in (woven(), measured(without, wandering(), epsilon=4)[0].generate(3))
    ]
    assert off[0] < 0.95 * off[1]


def test_half_of_the_drivers_feel_the_costs_of_the_round_before():
    """Else a street that was made cheaper takes all trips from the one beside it, and gives them back a round later."""
    blocks, _, noisy = read_blocks(model())
    grid, rng = wandering().world, np.random.default_rng(1)
    demand = Demand.estimate(blocks, noisy, float(model().trips), QUICK)
    cheap = np.zeros(len(DrivenWays(demand, grid, QUICK).first_shares))
    cheap[DRIVE_CHOICES.index(DriveChoice(1, 0))] = 1.0  # no detours, along cheap edges
    # Along even rows moves cost little in one round, along odd rows in the next.
    row = grid.row[grid.sources]
    along = row == grid.row[grid.indices]
    even, odd = (np.where(along & (row % 2 == parity), 0.3, 1.0) for parity in (0, 1))

    def share_on_odd_rows(costs):
        ways = DrivenWays(demand, grid, QUICK)
        ways.learnt = costs
        walks = ways.draw(4_000, cheap, rng).walks
        rows = grid.row[walks.location]
        flat = walks.moves[rows[walks.moves] == rows[walks.moves + 1]]
        return float((rows[flat] % 2 == 1).mean())

    alone, mixed = share_on_odd_rows([odd]), share_on_odd_rows([odd, even])
    assert alone > 0.7
    assert 0.35 < mixed < 0.65
    ways, found = DrivenWays(demand, grid, QUICK), model().weave(1).found
    ways.learn(found)
    assert len(ways.learnt) == 1
    first = ways.learnt[0]
    ways.learn(found)
    assert len(ways.learnt) == 2
    assert ways.learnt[1] is first


def test_nobody_follows_cheap_edges_where_single_edges_were_not_asked_for():
    blocks, _, noisy = read_blocks(model())
    grid, rng = wandering().world, np.random.default_rng(1)
    cheap = np.array([choice.via >= 0 for choice in DRIVE_CHOICES])
    for asked in (True, False):
        told = {name: block for name, block in noisy.items() if asked or name != "edge"}
        demand = Demand.estimate(blocks, told, float(model().trips), QUICK)
        ways = DrivenWays(demand, grid, QUICK)
        # Nor does anything learn what edges cost: one round that learns shares is enough.
        assert DrivenWays(demand, grid, Generation()).rounds == (3 if asked else 2)
        drawn = ways.draw(2_000, ways.first_shares, rng)
        assert cheap[drawn.kind].any() == asked
        assert len(drawn.walks) > 1_500
