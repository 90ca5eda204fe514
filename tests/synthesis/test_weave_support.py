"""Supports: legal, and as short as their costs say; and what the fit learns about riders from them."""

from itertools import pairwise

import numpy as np
import pytest

from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.demand import Demand
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.routes import (
    LINES,
    METRES,
    ROUTE_CHOICES,
    SECONDS,
    Costs,
    RouteChoice,
    RoutedWays,
    find_routes,
)
from wayveil.mechanisms.weave.weaving import add_times, read_blocks
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.public_knowledge import floor
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import CountQueryError
from wayveil.world.paths import along_paths, shortest_paths
from wayveil.world.walk_blocks import Resolution, WalkBlocks
from wayveil.world.world import World
from wayveil.world.zones import Geography
from weave_city import QUICK, measured, small_town, town_trips


@pytest.fixture(scope="module")
def model():
    return measured(Weave(weakest=0, generation=QUICK), town_trips(2_000))[0]


@pytest.mark.parametrize("way", [METRES, SECONDS])
def test_without_perturbation_routes_are_the_shortest(way):
    network = small_town()
    costs = Costs(network, QUICK)
    rng = np.random.default_rng(1)
    origin, destination = rng.integers(0, network.size, (2, 200))
    destination.sort()
    cost = costs.draw(RouteChoice(way, False), np.full(network.edges, 0.7), rng)
    location, lengths = find_routes(costs.graph(way), cost, origin, destination)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    weight, name = (network.metres, "metres") if way == METRES else (network.seconds, "seconds")
    best = shortest_paths(network, origin, destination, name)
    found = along_paths(network, location, offsets, weight)[offsets[1:] - 1]
    assert np.allclose(found, along_paths(network, best.location, best.offsets, weight)[best.offsets[1:] - 1])


@pytest.mark.parametrize("way", [METRES, LINES])
def test_a_tree_that_stops_early_gives_the_routes_of_a_whole_one(way):
    network = small_town()
    costs, rng = Costs(network, QUICK), np.random.default_rng(2)
    graph, cost = costs.graph(way), costs.draw(RouteChoice(way, True), np.ones(network.edges), rng)
    everywhere = np.arange(network.size)
    for destination in (0, network.size // 2):
        # Asked for all origins, a tree has to grow whole; asked for one, it stops there.
        location, lengths = find_routes(graph, cost, everywhere, np.full(network.size, destination))
        whole = np.split(location, np.cumsum(lengths)[:-1])
        for origin in everywhere:
            alone, length = find_routes(graph, cost, np.array([origin]), np.array([destination]))
            assert np.array_equal(alone, whole[origin])
            assert length[0] == lengths[origin] > 0


def test_with_lines_people_change_less_than_on_the_shortest_way():
    network = small_town()
    costs = Costs(network, QUICK)
    rng = np.random.default_rng(1)
    origin, destination = rng.integers(0, network.size, (2, 300))
    destination.sort()
    used = {}
    for way in (SECONDS, LINES):
        cost = costs.draw(RouteChoice(way, False), np.ones(network.edges), rng)
        location, lengths = find_routes(costs.graph(way), cost, origin, destination)
        assert np.all(lengths > 0)
        used[way] = _fewest_lines(network, location, np.concatenate([[0], np.cumsum(lengths)]))
    assert used[LINES] <= used[SECONDS]


def _fewest_lines(network, location, offsets):
    """Rides that all trips together need at least: a new one where no line of the last goes on."""
    rides = 0
    for first, last in pairwise(offsets.tolist()):
        now = set()
        for at in range(first, last - 1):
            edge = network.edge_index(location[at : at + 1], location[at + 1 : at + 2])[0]
            assert edge >= 0
            lines = set(network.routes_of(edge).tolist())
            now &= lines
            if not now and lines:
                rides += 1
                now = lines
    return rides


def test_a_support_has_all_kinds_of_routes_and_only_legal_ones(model):
    blocks, _, noisy = read_blocks(model)
    demand = Demand.estimate(blocks, noisy, float(model.trips), QUICK)
    network, rng = small_town(), np.random.default_rng(2)
    ways = RoutedWays(demand, network, QUICK)
    support = ways.draw(3_000, ways.first_shares, rng)
    walks = support.walks
    assert set(np.unique(support.kind)) == {at for at, how in enumerate(ROUTE_CHOICES) if how.walks}
    assert np.all(network.edge_index(walks.location[walks.moves], walks.location[walks.moves + 1]) >= 0)
    assert len(walks.bins) == len(walks) == len(support.kind)
    via = np.array([kind.via for kind in ROUTE_CHOICES])[support.kind]
    direct = shortest_paths(network, walks.origin, walks.destination)
    longer = walks.lengths - np.diff(direct.offsets)
    assert longer[via].mean() > longer[~via].mean()


def test_the_fit_finds_out_how_riders_choose_their_routes(model):
    shortest = model.weave(1).diagnostics
    habit, _ = measured(
        Weave(weakest=0, generation=QUICK), simulate_habit(small_town(), 2_000, seed=1), epsilon=10
    )
    lines = habit.weave(1).diagnostics
    by_metres, with_lines = ([kind.way == way for kind in ROUTE_CHOICES] for way in (METRES, LINES))
    assert np.sum(np.array(shortest.kinds)[by_metres]) > np.sum(np.array(lines.kinds)[by_metres])
    assert np.sum(np.array(lines.kinds)[with_lines]) > np.sum(np.array(shortest.kinds)[with_lines])
    assert 0 <= shortest.unexplained < 0.05
    assert set(shortest.misfit) == set(model.noisy)
    assert all(0 < value < 3 for value in shortest.misfit.values())


def test_private_data_bring_more_than_public_knowledge_and_more_than_a_chain():
    raw = town_trips(3_000)
    private = measured(Weave(generation=QUICK), raw, 1)[0].generate(1)
    chain = measured(Markov(), raw, 1)[0].generate(1)
    question = CountQueryError(raw, queries=1_000)
    error = [question.measure(trips)[0].value for trips in (private, chain, floor(raw.world, len(raw), 1))]
    assert error[0] < 0.7 * min(error[1:])


def ends_of(places, bits, fine, coarse, total):
    """Estimated trips at places of one line, from their noisy counts and those of zones."""
    look = Resolution(ends=bits, hours=0, pairs=0, edges=0, distances=1, growth=100, times=0, bands=0)
    blocks = WalkBlocks(Geography(World([f"p{i:04d}" for i in range(places)])), look)
    noisy = {"origin": fine, "destination": fine, "origin zone": coarse, "destination zone": coarse}
    known = {name: cells for name, cells in noisy.items() if cells is not None}
    return Demand.estimate(blocks, known, total, QUICK).origin


def test_masses_of_places_keep_their_total_and_follow_what_stands_out():
    rng = np.random.default_rng(1)
    true = np.full(64, 10.0)
    true[5] = 500.0
    fine = CellEstimates(true + rng.laplace(0, 10, 64), 10 * 2**0.5)
    coarse = CellEstimates(true.reshape(8, 8).sum(axis=1) + rng.laplace(0, 5, 8), 5 * 2**0.5)
    mass = ends_of(64, 3, fine, coarse, true.sum())
    assert abs(mass.sum() - true.sum()) < 1e-6 * true.sum()
    assert mass.min() > 0
    assert abs(mass[5] - 500) < 80
    assert np.abs(np.delete(mass - true, 5)).mean() < np.abs(np.delete(fine.value - true, 5)).mean()


def test_noise_alone_makes_no_place_stand_out():
    rng = np.random.default_rng(2)
    for _ in range(5):
        fine = CellEstimates(2.5 + rng.laplace(0, 200, 4_000), 200 * np.sqrt(2))
        mass = ends_of(4_000, 2, fine, CellEstimates(np.full(4, 2_500.0), 10.0), 10_000.0)
        # A few tall peaks of noise would otherwise take most of the ten thousand trips.
        assert np.sort(mass)[-5:].sum() < 0.5 * 10_000
        assert np.median(mass) > 0.5


def test_places_share_their_zone_evenly_where_only_zones_were_asked_for():
    mass = ends_of(5, 1, None, CellEstimates(np.array([60.0, 30.0]), 1e-3), 90.0)
    assert np.allclose(mass, 0.98 * np.array([20, 20, 20, 15, 15]) + 0.02 * 18)


def test_zones_that_only_noise_makes_differ_are_alike():
    rng = np.random.default_rng(3)
    for true, share in ((np.full(64, 100.0), 0.5), (100.0 * (1 + np.arange(64) % 8), 1.1)):
        noisy = CellEstimates(true + rng.laplace(0, 40, 64), 40 * 2**0.5)
        zones = ends_of(512, 6, None, noisy, true.sum()).reshape(64, 8).sum(axis=1)
        assert np.abs(zones - true).mean() < share * np.abs(noisy.value - true).mean()


def test_times_follow_the_timetable_from_a_departure_inside_the_bin():
    network = small_town()
    trips = Trips(*_one_path(network), network)
    rng = np.random.default_rng(1)
    timed = add_times(trips, np.array([8]), 24, 120, rng)
    assert 8 * 3600 <= timed.time[0] < 9 * 3600
    assert np.array_equal(
        timed.time - timed.time[0], along_paths(network, trips.location, trips.offsets, network.seconds)
    )
    week = add_times(trips, np.array([30]), 168, 120, rng)
    assert week.time[0] // 86_400 == 5  # the Tuesday after the first Monday of the timeline


def _one_path(network):
    paths = shortest_paths(network, [0], [network.size - 1])
    return paths.location, paths.offsets


def test_no_seed_moves_a_figure_of_a_release(model):
    one, two = model.generate(1), model.generate(2)

    def name_trips(trips):
        hours = trips.time[trips.offsets[:-1]] // 3600
        ways = np.split(trips.location, trips.offsets[1:-1])
        return sorted((int(hour), *map(int, way)) for hour, way in zip(hours, ways, strict=True))

    assert name_trips(one) == name_trips(two)
    assert not np.array_equal(one.location, two.location)
    # So many as asked for are drawn, and so are the supports of replicas.
    assert name_trips(model.generate(1, trips=50)) != name_trips(model.generate(2, trips=50))
    assert name_trips(model.replicate(one, 1).trips) != name_trips(model.replicate(one, 2).trips)


def test_released_trips_add_up_as_fitted_whatever_the_seed(model):
    woven = model.weave(1)
    wanted = woven.found.fit.fitted[woven.found.features.place["hour"]]
    for seed in range(3):
        made = woven.sample(model.trips, np.random.default_rng(seed))
        hours = np.bincount(made.time[made.offsets[:-1]] // 3600 % 24, minlength=24)
        assert len(made) == model.trips
        # Drawn one by one, hours would be off by the square root of their trips.
        assert np.mean(np.abs(hours - wanted)) < 0.3 * np.mean(np.sqrt(wanted))
