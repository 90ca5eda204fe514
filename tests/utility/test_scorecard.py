"""The scorecard: references beside every figure, intervals over repetitions, text and JSON."""

import json

import numpy as np
import pytest

from bare_release import bare_release
from ring_networks import ring_of_stops
from wayveil.errors import ParameterError
from wayveil.synthesis.public_knowledge import empty, floor, random_routes, random_walks
from wayveil.trips.trips import Trips
from wayveil.utility.figures import ceiling
from wayveil.utility.scorecard import mean_and_interval, score
from wayveil.world.network import Edges, Network, Places, Platforms, Routes
from wayveil.world.paths import Paths
from wayveil.world.successors import SparseSuccessors
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

WORLD = World.of_symbols([f"s{i:02d}" for i in range(30)])


def skewed_trips(count: int, seed: int, world: World = WORLD, **columns) -> Trips:
    rng = np.random.default_rng(seed)
    lists = [np.minimum(rng.geometric(0.15, rng.integers(2, 9)), world.size) - 1 for _ in range(count)]
    return Trips.of_lists([trip.tolist() for trip in lists], world, **columns)


@pytest.fixture(scope="module")
def raw():
    return skewed_trips(400, 1)


@pytest.fixture(scope="module")
def card(raw):
    return score(raw, [skewed_trips(400, seed) for seed in (2, 3, 4)], queries=2_000, seed=5)


def test_every_figure_stands_between_its_references(card):
    for figure in card:
        if figure.better == "lower" and "uniform" not in figure.key:
            assert figure.ceiling <= figure.floor
    error = card["count_query_error/non-empty"]
    assert error.ceiling < error.value < error.floor
    assert error.empty == pytest.approx(1, abs=0.01)
    with pytest.raises(KeyError):
        card["no such figure"]


def test_both_workloads_appear_mixed_and_per_length(card):
    keys = [figure.key for figure in card]
    for workload in ("non-empty", "uniform"):
        key = f"count_query_error/{workload}"
        assert {key, f"{key}/1", f"{key}/2", f"{key}/3", f"{key}/4"} <= set(keys)


def test_repetitions_give_an_interval_and_one_release_gives_none(raw, card):
    figure = card["count_query_error/non-empty"]
    assert figure.low < figure.value < figure.high
    alone = score(raw, skewed_trips(400, 2), queries=500)
    assert alone["stop_error"].low is None
    mean, low, high = mean_and_interval([1.0, 2.0, 3.0])
    assert (mean, low, high) == (2, pytest.approx(2 - 2.4841, abs=1e-3), pytest.approx(2 + 2.4841, abs=1e-3))


def test_a_release_object_is_scored_by_its_trips(raw):
    card = score(raw, bare_release(raw), queries=500)
    assert card["count_query_error/non-empty"].value == 0
    assert card["stop_top_20"].value == 1


def test_a_release_that_keeps_first_visits_alone_has_every_boarding_of_trips_and_lacks_those_of_taps(raw):
    errors = [
        score(raw, bare_release(raw.cut(1), taps=taps), suite="full", queries=50)["operations/stop"]
        for taps in (False, True)
    ]
    assert errors[0].value == 0 < errors[1].value
    assert "tap-ins" in errors[1].label


def test_the_same_seed_gives_the_same_card(raw):
    twice = [score(raw, skewed_trips(300, 2), queries=500, seed=9) for _ in range(2)]
    assert twice[0].to_json() == twice[1].to_json()


def test_text_and_json_say_that_they_are_not_for_publication(card):
    assert "Not for publication" in str(card)
    assert "error, non-empty queries of length 2" in str(card)
    stored = json.loads(card.to_json())
    assert "Not for publication" in stored["notice"]
    empty_tau = next(f for f in stored["figures"] if f["key"] == "stop_tau_b")["empty"]
    assert empty_tau is None
    assert card.table().height == len(card.figures)


def test_no_release_is_refused(raw):
    with pytest.raises(ParameterError, match="no release"):
        score(raw, [])


def test_a_ceiling_draws_from_the_raw_trips_and_nothing_else(raw):
    again = ceiling(raw, 1)
    assert len(again) == len(raw)
    assert {tuple(t) for t in again.to_lists()} <= {tuple(t) for t in raw.to_lists()}


def test_a_floor_walks_only_legal_moves_and_ends_at_dead_ends():
    chain = World(
        list("abcd"), successors=SparseSuccessors(np.array([0, 2, 3, 4, 4]), np.array([1, 2, 2, 3]))
    )
    walks = random_walks(chain, 500, np.random.default_rng(0))
    assert len(walks) == 500
    assert walks.lengths.min() >= 1
    for trip in walks.to_lists():
        assert np.all(chain.successors.contains(np.array(trip[:-1], int), np.array(trip[1:], int)))
    assert len(np.unique(walks.origins())) == 4


def test_the_floor_of_a_network_is_made_of_shortest_routes_between_any_stops():
    city = small_network()
    trips = floor(city, 400, 1, bins=TimeBins.hour_of_day())
    assert len(trips) == 400
    shortest = {(0, 2): [0, 1, 2], (0, 1): [0, 1], (1, 2): [1, 2], (0, 0): [0], (1, 1): [1], (2, 2): [2]}
    shortest[3, 3] = [3]
    walked = {(trip[0], trip[-1]): trip for trip in trips.to_lists()}
    assert walked == shortest
    first = trips.to_lists().index([0, 1, 2])
    assert np.diff(trips.time[trips.offsets[first] : trips.offsets[first + 1]]).tolist() == [60, 90]


def test_the_routes_of_a_floor_may_lead_to_a_few_stops_only():
    ring = ring_of_stops(30, seconds=60)
    few = floor(ring, 3_000, 1, ends=4)
    assert len(np.unique(few.destinations())) == 4
    assert len(np.unique(few.origins())) == 30
    all_of_them = floor(ring, 3_000, 1, ends=30)
    assert all_of_them.to_lists() == floor(ring, 3_000, 1).to_lists()


def test_a_network_without_any_route_has_a_floor_of_single_stops(monkeypatch):
    city = small_network()
    monkeypatch.setattr(
        "wayveil.synthesis.public_knowledge.shortest_paths",
        lambda net, o, d: Paths(o[:0], np.zeros(6, np.int64)),
    )
    assert len(random_routes(city, 5, np.random.default_rng(0))) == 5


def small_network() -> Network:
    """Three stops in a row, each leading to the next, and one that nothing leads to or from."""
    ids = np.array(list("abcd"))
    edges = Edges(
        indptr=np.array([0, 2, 3, 3, 3]),
        indices=np.array([1, 2, 2], np.int32),
        seconds=np.array([60, 999, 90], np.int32),
        metres=np.array([100.0, 900.0, 100.0]),
        walk=np.zeros(3, bool),
        runs=np.ones(3, np.int64),
        route_indptr=np.zeros(4, np.int64),
        route=np.empty(0, np.int32),
    )
    none = np.empty(0, np.str_)
    places = Places(ids, ids, np.arange(4) / 100, np.arange(4) / 100)
    return Network(
        places, edges, Routes(none, none, np.empty(0, np.int32)), Platforms(ids, np.arange(4, dtype=np.int32))
    )


def test_timed_floors_and_empty_releases_fit_timed_queries():
    hours = TimeBins.hour_of_day()
    raw = skewed_trips(200, 1)
    rng = np.random.default_rng(0)
    start = np.repeat(rng.integers(6, 10, 200) * 3600, raw.lengths)
    raw = Trips(raw.location, raw.offsets, WORLD, start)
    card = score(raw, raw, queries=500, bins=hours)
    error = card["count_query_error/non-empty"]
    assert (error.value, error.empty) == (0, 1)
    assert error.floor > 0.8
    within = floor(WORLD, 100, 1, bins=TimeBins([50, 60], period=None))
    first = within.time[within.offsets[:-1]]
    assert first.min() >= 50
    assert first.max() < 60
    assert empty(WORLD).time is None
