import itertools

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import network_of, networks
from scipy.sparse.csgraph import dijkstra

from wayveil.errors import ParameterError
from wayveil.world.network import Network
from wayveil.world.paths import along_paths, shortest_paths
from wayveil.world.trees import edge_cost, reverse_tree, travel_seconds

COSTS = ["metres", "seconds", "stops"]


def all_pairs(network: Network) -> tuple[np.ndarray, np.ndarray]:
    ends = np.arange(network.size)
    origins, destinations = np.meshgrid(ends, ends, indexing="ij")
    return origins.ravel(), destinations.ravel()


@given(network=networks(), cost=st.sampled_from(COSTS))
def test_distances_are_those_of_scipy(network, cost):
    # scipy is the oracle here; the trees are our own because they must be many, quick, and the same everywhere.
    expected = dijkstra(network.matrix(edge_cost(network, cost)), directed=True)
    trees = reverse_tree(network, np.arange(network.size), cost)
    assert pytest.approx(expected) == trees.distance.T


@given(network=networks(), cost=st.sampled_from(COSTS))
def test_every_path_walks_along_edges_and_is_as_short_as_can_be(network, cost):
    origins, destinations = all_pairs(network)
    paths = shortest_paths(network, origins, destinations, cost)
    weight = edge_cost(network, cost)
    shortest = dijkstra(network.matrix(weight), directed=True)[origins, destinations]
    assert paths.reachable.tolist() == np.isfinite(shortest).tolist()
    took = along_paths(network, paths.location, paths.offsets, weight)
    for i in np.flatnonzero(paths.reachable):
        path = paths.location[paths.offsets[i] : paths.offsets[i + 1]]
        assert (path[0], path[-1]) == (origins[i], destinations[i])
        assert len(set(path.tolist())) == len(path)
        assert took[paths.offsets[i + 1] - 1] == pytest.approx(shortest[i])


@given(network=networks(most=6), cost=st.sampled_from(["seconds", "stops"]))
def test_among_equally_short_paths_the_first_in_order_is_taken(network, cost):
    weight = edge_cost(network, cost)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(network.size))
    graph.add_weighted_edges_from(
        zip(network.sources.tolist(), network.indices.tolist(), weight, strict=True)
    )
    for origin, destination in itertools.product(range(network.size), repeat=2):
        paths = shortest_paths(network, [origin], [destination], cost)
        if paths.reachable[0]:
            ways = networkx.all_shortest_paths(graph, origin, destination, weight="weight")
            assert paths.location.tolist() == min(map(list, ways))
        else:
            assert not networkx.has_path(graph, origin, destination)


@settings(max_examples=20)
@given(networks())
def test_the_number_of_workers_changes_nothing(network):
    origins, destinations = all_pairs(network)
    one, many = (shortest_paths(network, origins, destinations, workers=n) for n in (1, 5))
    assert np.array_equal(one.location, many.location)
    assert np.array_equal(one.offsets, many.offsets)


def test_many_destinations_come_back_in_the_order_of_the_pairs():
    size = 300
    ring = {(i, (i + 1) % size): (1, 1.0) for i in range(size)}
    network = network_of(size, ring)
    rng = np.random.default_rng(5)
    origins, destinations = rng.integers(0, size, (2, 4_000))
    paths = shortest_paths(network, origins, destinations)
    assert np.diff(paths.offsets).tolist() == ((destinations - origins) % size + 1).tolist()
    assert np.array_equal(paths.location[paths.offsets[:-1]], origins)
    assert np.array_equal(paths.location[paths.offsets[1:] - 1], destinations)


def test_places_at_one_point_do_not_trap_a_path():
    edges = dict.fromkeys(itertools.permutations(range(4), 2), (60, 0.0)) | {(3, 4): (60, 900.0)}
    paths = shortest_paths(network_of(5, edges), [0, 1, 2], [4, 4, 4])
    assert [p.tolist() for p in np.split(paths.location, paths.offsets[1:-1])] == [
        [0, 3, 4],
        [1, 3, 4],
        [2, 3, 4],
    ]


def test_travel_time_rows_go_forward():
    network = network_of(3, {(0, 1): (60, 1.0), (1, 2): (30, 1.0), (0, 2): (100, 1.0), (2, 0): (5, 1.0)})
    assert travel_seconds(network, [0, 2]).tolist() == [[0, 60, 90], [5, 65, 0]]
    assert travel_seconds(network_of(2, {(0, 1): (9, 1.0)}), 1).tolist() == [[np.inf, 0]]


def test_no_pairs_no_paths():
    paths = shortest_paths(network_of(2, {}), [], [])
    assert len(paths.location) == 0
    assert paths.offsets.tolist() == [0]


def test_sums_along_paths_start_anew_with_each_path():
    network = network_of(3, {(0, 1): (60, 10.0), (1, 2): (30, 5.0)})
    location, offsets = [0, 1, 2, 2, 1, 2], [0, 3, 3, 4, 6]
    assert along_paths(network, location, offsets, network.seconds).tolist() == [0, 60, 90, 0, 0, 30]
    assert along_paths(network, [], [0], network.metres).tolist() == []
    with pytest.raises(ParameterError, match="no edge from s001 to s000"):
        along_paths(network, [0, 1, 0], [0, 3], network.seconds)


def test_requests_that_make_no_sense_are_refused():
    network = network_of(2, {})
    with pytest.raises(ParameterError, match="not by 'fun'"):
        reverse_tree(network, [0], "fun")
    with pytest.raises(ParameterError, match="from 0 to 1"):
        reverse_tree(network, [2])
    with pytest.raises(ParameterError, match="from 0 to 1"):
        shortest_paths(network, [0], [-1])
    with pytest.raises(ParameterError, match="as many origins"):
        shortest_paths(network, [0, 1], [1])
