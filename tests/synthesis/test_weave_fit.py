"""The fit of weights: its products, its optimum, and the descent that finds it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from wayveil.counting.local import LocalCounter
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.mechanisms.weave.weight_fit import Features, fit_weights, minimise, number_walks
from wayveil.trips.trips import Trips
from wayveil.world.walk_blocks import Resolution, WalkBlocks, Walks
from wayveil.world.zones import Geography

LOOK = Resolution(ends=2, hours=1, pairs=1, edges=2, distances=2, growth=50, times=4, bands=2, triples=1)


def features_of(count=80, seed=0):
    network = small_network(2)
    rng = np.random.default_rng(seed)
    walks = []
    for _ in range(count):
        walk = [int(rng.integers(0, 12))]
        while rng.random() < 0.7:
            walk.append(6 * (walk[-1] // 6) + (walk[-1] % 6 + int(rng.integers(1, 3))) % 6)
        walks.append(walk)
    offsets = np.concatenate([[0], np.cumsum([len(walk) for walk in walks])])
    flat = np.array([stop for walk in walks for stop in walk], np.int32)
    blocks = WalkBlocks(Geography(network), LOOK, np.array([0, 64, 128, 192])).all()
    walks = Walks(flat, offsets, rng.integers(0, 4, count))
    return blocks, walks, Features(blocks, walks)


def dense(blocks, walks):
    """The whole matrix, trip by trip."""
    rows = np.zeros((len(walks), sum(block.cells for block in blocks.values())))
    first = 0
    for block in blocks.values():
        cells = block.of(walks)
        if block.parts is None:
            rows[np.arange(len(walks)), first + cells] += 1
        else:
            parts = block.parts(walks)
            owner = np.repeat(np.arange(len(walks)), parts)
            np.add.at(rows, (owner, first + cells), 1 / parts[owner])
        first += block.cells
    return rows


def test_products_are_those_of_the_whole_matrix():
    blocks, walks, features = features_of()
    rows = dense(blocks, walks)
    rng = np.random.default_rng(1)
    x, weight = rng.standard_normal(features.cells), rng.random(features.size)
    with ThreadPoolExecutor(2) as pool:
        assert np.allclose(features.score_trips(x, pool), rows[features.trip] @ x, atol=1e-5)
        assert np.allclose(features.add_up(weight[features.trip], pool), weight @ rows, atol=1e-5)


@pytest.mark.parametrize("euclidean", [0, 1])
def test_the_fit_sees_trips_as_they_are_counted(euclidean):
    """Walks that repeat edges, so that weights in L1 and in L2 differ in every way they can."""
    network, whole = small_network(2), 1 << 20
    lists = [[0, 1, 2, 3, 4, 5, 0, 1, 2], [6, 7, 8, 10], [3], [0, 1, 3, 5, 1, 3]]
    look = replace(LOOK, euclidean=euclidean, times=0)
    blocks = WalkBlocks(Geography(network), look, np.array([0, 64, 128, 192])).all()
    trips = Trips.of_lists(lists, network)
    features = Features(blocks, Walks(trips.location, trips.offsets))
    with ThreadPoolExecutor(2) as pool:
        fitted = features.add_up(np.ones(len(lists)), pool)
    for name, block in blocks.items():
        exact = LocalCounter(trips).block(block, whole)
        counted = np.zeros(block.cells)
        counted[exact.keys] = exact.counts / whole
        assert np.allclose(fitted[features.place[name]], counted, atol=1e-5)


def test_at_the_optimum_the_misfit_is_the_variance_times_the_dual():
    blocks, walks, features = features_of()
    rows = dense(blocks, walks)
    rng = np.random.default_rng(2)
    wanted = rng.random(features.size) @ rows + rng.standard_normal(features.cells)
    variance = np.full(features.cells, 0.5)
    found = fit_weights(features, wanted, lambda _: variance, 40.0, iterations=500, tolerance=1e-9)
    assert abs(found.weight.sum() - 40) < 1e-6
    reached = rows.sum(axis=0) > 0
    assert np.allclose((found.weight @ rows)[reached], (wanted - variance * found.dual)[reached], atol=0.02)
    assert np.all(found.dual[~reached] == 0)
    assert 1 <= found.effective <= features.size


def test_with_nothing_to_explain_the_weights_are_even_whatever_the_kinds():
    _, _, features = features_of()
    kind = np.random.default_rng(3).integers(0, 3, features.size)
    nothing, variance = np.zeros(features.cells), np.full(features.cells, 1e9)
    found = fit_weights(features, nothing, lambda _: variance, 10.0, kind=kind, freedom=8.0, iterations=100)
    assert np.allclose(found.weight, 10 / features.size, rtol=1e-3)


def test_shares_of_kinds_change_before_the_trips_of_a_kind_do():
    """One kind alone explains what is wanted: the freer the shares are, the more weight it gets, at less misfit."""
    blocks, walks, features = features_of()
    rows, kind = dense(blocks, walks), np.arange(features.size) % 2
    wanted = 40 * rows[kind == 1].mean(axis=0)
    variance = np.full(features.cells, 20.0)
    share, misfit, uneven = [], [], []
    for freedom in (1.0, 3.0, 10.0):
        found = fit_weights(
            features,
            wanted,
            lambda _: variance,
            40.0,
            kind=kind,
            freedom=freedom,
            iterations=500,
            tolerance=1e-9,
        )
        share.append(found.weight[kind == 1].sum() / 40)
        misfit.append(np.sum((found.fitted - wanted) ** 2))
        uneven.append(np.std(found.weight[kind == 1]) / np.mean(found.weight[kind == 1]))
        assert abs(found.weight.sum() - 40) < 1e-6
    assert share == sorted(share)
    assert share[2] > share[0] + 0.1
    assert misfit == sorted(misfit, reverse=True)
    assert uneven[2] < uneven[0]


def test_each_sweep_expects_the_shares_that_the_one_before_found():
    """Trips of one kind explain what is wanted: sweep by sweep the other is given up, at no cost."""
    blocks, walks, features = features_of()
    kind = np.arange(features.size) % 2
    wanted, variance = 40 * dense(blocks, walks)[kind == 1].mean(axis=0), np.full(features.cells, 20.0)
    share, dual = [], []
    for sweeps in (1, 2, 4):
        found = fit_weights(
            features, wanted, lambda _: variance, 40.0, kind=kind, freedom=3.0, sweeps=sweeps, iterations=500
        )
        assert abs(found.weight.sum() - 40) < 1e-6
        share.append(found.weight[kind == 1].sum() / 40)
        dual.append(np.abs(found.dual).sum())
    assert share == sorted(share)
    assert share[2] > (share[0] + 1) / 2
    assert dual[2] < dual[0]


def test_a_fit_that_starts_at_its_end_stays_there():
    blocks, walks, features = features_of()
    wanted = np.random.default_rng(4).random(features.size) @ dense(blocks, walks)
    variance = np.full(features.cells, 0.1)
    one = fit_weights(features, wanted, lambda _: variance, 40.0, iterations=300, tolerance=1e-6)
    two = fit_weights(
        features, wanted, lambda _: variance, 40.0, start=one.dual, iterations=300, tolerance=1e-6
    )
    assert two.steps < one.steps / 2
    assert np.allclose(one.weight, two.weight, rtol=0.05, atol=1e-3)


def test_the_descent_finds_what_another_solver_finds():
    rng = np.random.default_rng(5)
    matrix = rng.standard_normal((30, 30))
    matrix = matrix @ matrix.T + np.eye(30)
    target = rng.standard_normal(30)

    def function(x):
        return float(
            0.5 * x @ matrix @ x - target @ x + np.log(np.exp(x).sum())
        ), matrix @ x - target + np.exp(x) / np.exp(x).sum()

    found, steps = minimise(function, np.zeros(30), 500, 1e-15)
    expected = minimize(function, np.zeros(30), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    assert np.allclose(found, expected, atol=1e-4)
    assert 0 < steps < 500


def test_a_minimum_is_not_left_again():
    point, steps = minimise(lambda x: (float(x @ x), 2 * x), np.zeros(3), 10, 1e-9)
    assert steps == 0
    assert np.array_equal(point, np.zeros(3))


def test_a_start_that_puts_all_weight_on_few_trips_does_not_stop_the_fit():
    _, _, features = features_of()
    rng = np.random.default_rng(3)
    total = 400.0
    with ThreadPoolExecutor(2) as pool:
        wanted = features.add_up(rng.random(features.size) * 2 * total / features.size, pool)
    variance = np.full(features.cells, 4.0)
    cold = fit_weights(features, wanted, lambda _: variance, total, iterations=100, tolerance=1e-6)
    far = np.where(np.arange(features.cells) % 7 == 0, 60.0, 0.0)
    warm = fit_weights(features, wanted, lambda _: variance, total, iterations=100, tolerance=1e-6, start=far)
    assert warm.steps > 0
    assert np.allclose(warm.weight, cold.weight, atol=0.01 * total / features.size)


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=30))
def test_walks_share_a_number_if_and_only_if_they_are_the_same(lists):
    offsets = np.concatenate([[0], np.cumsum([len(walk) for walk in lists])])
    number = number_walks(Walks(np.array([stop for walk in lists for stop in walk], np.int32), offsets))
    for one, first in zip(number, lists, strict=True):
        assert [first == other for other in lists] == (number == one).tolist()


def test_trips_that_walk_alike_at_different_times_are_looked_up_once():
    blocks, walks, _ = features_of()
    twice = Walks(
        np.concatenate([walks.location, walks.location]),
        np.concatenate([walks.offsets, walks.offsets[-1] + walks.offsets[1:]]),
        np.concatenate([walks.bins, (walks.bins + 1) % 4]),
    )
    features = Features(blocks, twice)
    assert len(features.bounds) - 1 <= len(walks) < features.size
    rows, x = dense(blocks, twice), np.random.default_rng(6).standard_normal(features.cells)
    with ThreadPoolExecutor(2) as pool:
        assert np.allclose(features.score_trips(x, pool), rows[features.trip] @ x)
