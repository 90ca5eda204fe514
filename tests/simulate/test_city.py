"""Simulated riders follow the study's law, take shortest ways, and are the same for the same seed."""

from datetime import date
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from wayveil.errors import ParameterError
from wayveil.simulate import city
from wayveil.simulate.city import destination_weights, eligible_stops, simulate_city
from wayveil.world.geo import haversine
from wayveil.world.network import Edges, Network, Places, Platforms, Routes


def network_of(moves: list[tuple[int, int]], lat: np.ndarray, lon: np.ndarray) -> Network:
    """A network with these directed edges, each at 10 metres per second, stops named s00, s01, ..."""
    moves = sorted(moves)
    source, target = (np.array(ends) for ends in zip(*moves, strict=True))
    metres = haversine(lat[source], lon[source], lat[target], lon[target])
    count, size = len(moves), len(lat)
    ids = np.array([f"s{i:02}" for i in range(size)])
    return Network(
        Places(ids, ids, lat, lon),
        Edges(
            np.searchsorted(source, np.arange(size + 1)),
            target.astype(np.int32),
            np.maximum(1, metres / 10).astype(np.int32),
            metres,
            np.zeros(count, bool),
            np.ones(count, np.int64),
            np.zeros(count + 1, np.int64),
            np.empty(0, np.int32),
        ),
        Routes(np.empty(0, str), np.empty(0, str), np.empty(0, np.int32)),
        Platforms(ids, np.arange(size, dtype=np.int32)),
        name="toy",
    )


def grid(side: int) -> Network:
    """Streets north-south and east-west, both ways, with jittered crossings so that no two ways are equally long."""
    rng = np.random.default_rng(0)
    at = np.arange(side * side)
    lat = 50 + (at // side) * 0.01 + rng.uniform(0, 0.003, len(at))
    lon = 8 + (at % side) * 0.01 + rng.uniform(0, 0.003, len(at))
    right = [(i, i + 1) for i in at.tolist() if (i + 1) % side]
    up = [(i, i + side) for i in at.tolist() if i + side < len(at)]
    return network_of([*right, *up, *((b, a) for a, b in right + up)], lat, lon)


GRID = grid(7)


def test_every_trip_is_as_short_as_that_of_a_star():
    trips = simulate_city(GRID, 60, seed=3, times=False).trips
    graph = nx.DiGraph()
    for a, b, metres in zip(GRID.sources.tolist(), GRID.indices.tolist(), GRID.metres.tolist(), strict=True):
        graph.add_edge(a, b, weight=metres)
    for trip in trips.to_lists():
        best = nx.astar_path_length(
            graph,
            trip[0],
            trip[-1],
            heuristic=lambda a, b: float(haversine(GRID.lat[a], GRID.lon[a], GRID.lat[b], GRID.lon[b])),
        )
        ours = sum(graph.edges[a, b]["weight"] for a, b in pairwise(trip))
        assert ours == pytest.approx(best, rel=1e-12)


def test_fewest_stops_is_another_way_than_fewest_metres():
    # s00 - s01 - s02 - s03 in a line, and a detour from end to end over the far s04.
    lat, lon = np.array([50.0, 50.0, 50.0, 50.0, 50.1]), np.array([8.0, 8.01, 8.02, 8.03, 8.015])
    roads = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)]
    network = network_of([*roads, *((b, a) for a, b in roads)], lat, lon)

    def ways(cost: str) -> set[tuple[int, ...]]:
        trips = simulate_city(network, 200, seed=1, cost=cost, hotspots=["s03"]).trips
        return {tuple(trip) for trip in trips.to_lists() if (trip[0], trip[-1]) == (0, 3)}

    assert ways("metres") == ways("seconds") == {(0, 1, 2, 3)}
    assert ways("stops") == {(0, 4, 3)}


def test_starts_are_uniform_and_ends_follow_the_weights():
    simulated = simulate_city(GRID, 40_000, seed=5, hotspots=["s03", "s24"], times=False)
    trips, stops = simulated.trips, np.arange(GRID.size, dtype=np.int32)
    assert simulated.hotspots.tolist() == [3, 24]
    starts = np.bincount(trips.origins(), minlength=GRID.size)
    assert stats.chisquare(starts).pvalue > 1e-6
    weight = destination_weights(stops, simulated.hotspots)
    assert sorted(set(weight)) == [1, GRID.size - 2 + 1]
    share = weight / weight.sum()
    # Of the uniform starts, each draws its end among the other stops.
    expected = share * sum((1 / GRID.size) / (1 - share[o]) * (stops != o) for o in range(GRID.size))
    ends = np.bincount(trips.destinations(), minlength=GRID.size)
    assert stats.chisquare(ends, expected * len(trips)).pvalue > 1e-6
    flat = np.full(GRID.size, len(trips) / GRID.size)
    assert stats.chisquare(ends, flat).pvalue < 1e-12


def test_nobody_travels_to_where_they_are():
    trips = simulate_city(GRID, 3_000, seed=2, hotspots=1).trips
    assert trips.lengths.min() >= 2
    assert (trips.origins() != trips.destinations()).all()
    assert GRID.successors.contains(trips.location[:-1], trips.location[1:])[
        np.diff(trips.trip_of_visit()) == 0
    ].all()


def test_a_city_has_fifteen_to_thirty_hotspots_and_a_village_fewer():
    numbers = {len(simulate_city(grid(9), 1, seed=seed).hotspots) for seed in range(60)}
    assert min(numbers) == 15
    assert max(numbers) == 30
    assert len(simulate_city(grid(2), 1, seed=0).hotspots) == 2
    assert len(simulate_city(GRID, 1, seed=0, hotspots=0).hotspots) == 0


def test_the_same_seed_gives_the_same_riders_and_another_seed_others():
    one, same, other = (simulate_city(GRID, 50, seed=seed, trips_per_rider=3).trips for seed in (1, 1, 2))
    assert one.to_lists() == same.to_lists()
    assert np.array_equal(one.time, same.time)
    assert one.to_lists() != other.to_lists()


def test_times_are_departure_plus_travel_seconds(monkeypatch):
    whole = simulate_city(GRID, 90, seed=4, times=date(2021, 4, 20)).trips
    monkeypatch.setattr(city, "_TRIPS_AT_ONCE", 7)
    in_blocks = simulate_city(GRID, 90, seed=4, times=date(2021, 4, 20)).trips
    assert np.array_equal(whole.time, in_blocks.time)
    midnight = (date(2021, 4, 20) - date(1970, 1, 1)).days * 86_400
    assert (whole.time >= midnight).all()
    inside = np.diff(whole.trip_of_visit()) == 0
    edge = GRID.edge_index(whole.location[:-1], whole.location[1:])
    assert np.array_equal(np.diff(whole.time)[inside], GRID.seconds[edge[inside]])
    first = whole.time[whole.offsets[:-1]] - midnight
    assert first.max() < 86_400


def test_people_leave_in_two_peaks():
    start = simulate_city(GRID, 20_000, seed=6).trips
    hour = np.bincount(start.time[start.offsets[:-1]] // 3_600, minlength=24)
    assert 6 <= hour[:12].argmax() <= 8
    assert 15 <= 12 + hour[12:].argmax() <= 18
    assert hour[11] < 0.7 * hour.max()
    assert hour[2] < 0.05 * hour.max()


def test_several_trips_go_out_and_come_home_one_after_the_other():
    trips = simulate_city(GRID, 200, seed=7, trips_per_rider=5).trips
    assert np.array_equal(trips.rider, np.repeat(np.arange(200), 5))
    origin, destination = (ends.reshape(200, 5) for ends in (trips.origins(), trips.destinations()))
    assert np.array_equal(origin[:, 1:], destination[:, :-1])
    assert (origin[:, ::2] == origin[:, :1]).all()
    start = trips.time[trips.offsets[:-1]].reshape(200, 5)
    end = trips.time[trips.offsets[1:] - 1].reshape(200, 5)
    assert (start[:, 1:] >= end[:, :-1] + 300).all()


def test_origins_and_destinations_lie_in_the_box_and_reach_each_other():
    # s49 is a dead end: it can be reached, but nothing leaves it.
    lat, lon = np.append(GRID.lat, 50.001), np.append(GRID.lon, 8.001)
    moves = [*zip(GRID.sources.tolist(), GRID.indices.tolist(), strict=True), (0, 49)]
    network = network_of(moves, lat, lon)
    assert 49 not in eligible_stops(network)
    box = (49.9, 7.9, 50.025, 8.5)
    stops = eligible_stops(network, box)
    assert (network.lat[stops] <= 50.025).all()
    trips = simulate_city(network, 500, seed=8, bbox=box).trips
    assert np.isin(trips.origins(), stops).all()
    assert np.isin(trips.destinations(), stops).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"riders": 0}, "at least one rider"),
        ({"trips_per_rider": 0}, "at least one rider and one trip"),
        ({"hotspots": 50}, "cannot choose 50 hotspots among 49"),
        ({"hotspots": ["s03", "moon"]}, "hotspot 'moon'"),
        ({"hotspots": "moon"}, "hotspot 'moon'"),
        ({"bbox": (0.0, 0.0, 1.0, 1.0)}, "no two stops in the bounding box"),
        ({"cost": "beauty"}, "beauty"),
    ],
)
def test_a_simulation_that_cannot_be_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        simulate_city(GRID, **({"riders": 3, "seed": 1} | options))
