"""Likeliest ways cost what a general shortest-path routine finds, and use hops that exist."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from wayveil.synthesis.hops.published import PublishedModel, SourceNet, StudyHopCosts, StudyHopNet
from wayveil.synthesis.hops.walking import HOURS, cost_of, likeliest_ways
from wayveil.world.grid import Grid, Layout
from wayveil.world.grid_moves import GridMoves

MASK = np.random.default_rng(3).random((9, 12)) < 0.75
MASKED = Grid(Layout.of_counts("0,0,0.1,0.2", 9, 12), mask=MASK)


def random_costs(places, seed):
    """Chances of hops by destination and hour."""
    rng = np.random.default_rng(seed)
    made = {}

    def costs(to, when):
        if (to, when) not in made:
            chance = np.where(places >= 0, rng.random(places.shape) ** 4, 0)
            made[to, when] = cost_of(chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300))
        return made[to, when]

    return costs


def least_cost(places, cost, origin, to):
    """The same by scipy."""
    source, hop = np.nonzero(places >= 0)
    graph = csr_array((cost[source, hop], (source, places[source, hop])), shape=(len(places),) * 2)
    return dijkstra(graph, indices=origin)[to]


@pytest.mark.parametrize("kind", ["neighbours", "cells around"])
def test_ways_cost_what_a_general_routine_finds(kind):
    cells = np.arange(MASKED.size)
    places = (
        GridMoves(MASKED).neighbours
        if kind == "neighbours"
        else StudyHopNet(MASKED, 0.1).places(cells).astype(np.int32)
    )
    rng, costs = np.random.default_rng(5), random_costs(places, 6)
    origin, destination = rng.integers(0, MASKED.size, 200), rng.integers(0, 6, 200)
    hour = rng.integers(0, 2, 200)
    location, offsets = likeliest_ways(places, costs, origin, destination, hour)
    assert len(np.unique(destination * HOURS + hour)) < 20, "several trips share a graph"
    for trip in range(200):
        way, cost = location[offsets[trip] : offsets[trip + 1]], costs(destination[trip], hour[trip])
        least = least_cost(places, cost, origin[trip], destination[trip])
        assert way[0] == origin[trip]
        if not np.isfinite(least):
            assert len(way) == 1
            continue
        assert way[-1] == destination[trip]
        spent = sum(
            cost[one, np.flatnonzero(places[one] == other)[0]] for one, other in pairwise(way.tolist())
        )
        assert spent == pytest.approx(least, rel=1e-5, abs=1e-6)


def test_no_trip_has_no_way():
    places = GridMoves(MASKED).neighbours
    none = np.empty(0, np.int64)
    location, offsets = likeliest_ways(places, random_costs(places, 1), none, none, none)
    assert len(location) == 0
    assert offsets.tolist() == [0]


def test_costs_of_the_study_are_its_chances():
    net = StudyHopNet(MASKED, 0.1)
    rng = np.random.default_rng(2)
    net.weights = [weight + rng.normal(0, 0.3, weight.shape).astype(np.float32) for weight in net.weights]
    cells, to, when = np.arange(MASKED.size), 7, 13
    places, chance = net.hops(cells, np.full(len(cells), to), np.full(len(cells), when))
    costs = StudyHopCosts(net)
    assert np.array_equal(costs.places, places)
    there = places >= 0
    assert np.allclose(costs(to, when)[there], cost_of(chance)[there], rtol=1e-3, atol=1e-4)


def test_a_cell_without_neighbours_stays_alone():
    mask = np.zeros((1, 20), bool)
    mask[0, [0, 1, 19]] = True
    grid = Grid(Layout.of_counts("0,0,0.01,0.2", 1, 20), mask=mask)
    weights = SourceNet(grid, 0.1).weights, StudyHopNet(grid, 0.1).weights
    made = PublishedModel(grid, 50.0, tuple(weights[0]), tuple(weights[1]), timed=False).draw(50, seed=1)
    alone = made.location[made.offsets[:-1]] == 2
    assert 0 < alone.sum() < 50
    assert (made.lengths[alone] == 1).all()
    assert made.lengths.max() == 2
