from fractions import Fraction
from math import ceil, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_noise import random_worlds
from slow_prefix_tree import paths_of, settle_weighted, slow_tree

from wayveil.counting.local import LocalCounter
from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts
from wayveil.privacy.units import Rider, Trip
from wayveil.trips.trips import Trips
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World


def plain_world(size):
    return World([chr(ord("a") + i) for i in range(size)])


def ring_world(size):
    rows = [sorted({(a + 1) % size, (a + 2) % size}) for a in range(size)]
    indptr = np.cumsum([0, *(len(row) for row in rows)])
    return World(
        [chr(ord("a") + i) for i in range(size)], successors=SparseSuccessors(indptr, np.concatenate(rows))
    )


def measure(mechanism, trips, epsilon=1, unit=None, bits=None):
    gate = Gate(unit or Trip(), Budget(epsilon), bits or SeededBits(0))
    return mechanism.measure(LocalCounter(gate.bound(trips)), gate), gate


class FixedNoise(Gate):
    """A gate whose noise is a function of the node's path, so that a slow tree can draw the same."""

    def __init__(self, *arguments, noise):
        super().__init__(*arguments, SeededBits(0))
        self.noise, self.paths, self.frontier = noise, [()], None

    def answer(self, question, exact):
        dense = np.zeros(exact.universe, np.int64)
        dense[exact.keys] = exact.counts
        every = [(*path, s) for path in self.paths for s in self.successors(path)]
        assert len(every) == exact.universe
        noisy = dense + np.array([self.noise(path) for path in every], np.int64)
        kept = np.flatnonzero(noisy >= question.threshold)
        self.paths = [every[k] for k in kept]
        return NoisyCounts(question, kept, noisy[kept])


@pytest.mark.reference
@random_worlds(400)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=20),
    st.integers(1, 4),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_the_tree_is_that_of_a_slow_object_tree_with_the_same_noise(lists, height, network, salt):
    from slow_prefix_tree import successors_of

    world = ring_world(4) if network else plain_world(4)

    def noise(path):
        return int(np.random.default_rng([salt, *path, len(path)]).integers(-3, 4))

    settled = {"smoothing": False, "consistency": "weighted", "false_children": 0.5}
    mechanism = NoisyPrefixTree(height=height, size_share=0, **settled)
    gate = FixedNoise(Trip(), Budget(2), noise=noise)
    gate.successors = lambda path: successors_of(world, path)
    tree = mechanism.measure(LocalCounter(Trips.of_lists(lists, world)), gate)
    scale = Fraction(height, 2)

    def threshold(depth, nodes, candidates):
        return max(1, ceil(float(scale) * log(max(candidates / max(nodes, 1) / (2 * 0.5), 1.0))))

    slow = slow_tree(lists, world, height, noise, threshold)
    rows = tree.table()
    names = {row["node"]: row for row in rows.to_dicts()}

    def path_of(row):
        own = (int(world.index_of([row["stop_id"]])[0]),)
        return own if row["parent"] == 0 else (*path_of(names[row["parent"]]), *own)

    assert {path_of(row): row["noisy_count"] for row in names.values()} == paths_of(slow)
    settled = {path_of(row): row["consistent_count"] for row in names.values()}
    expected = settle_weighted(slow)
    assert settled == pytest.approx(expected)
    assert gate.budget.spent == 2


@given(st.integers(1, 30), st.fractions(Fraction(1, 50), 8), st.booleans())
def test_the_spends_add_up_to_epsilon_exactly(height, epsilon, private_height):
    trips = Trips.of_lists([[0, 1], [1]], plain_world(2))
    _, gate = measure(NoisyPrefixTree(height=height, private_height=private_height), trips, epsilon)
    assert gate.budget.spent == epsilon == gate.budget.total


def test_the_scale_follows_from_height_epsilon_and_the_riders_trips():
    trips = Trips.of_lists([[0, 1], [1]], plain_world(2), rider=np.array([5, 5]))
    tree, gate = measure(NoisyPrefixTree(height=4, size_share=0), trips, Fraction(1, 2), Rider(max_trips=3))
    assert {level.scale for level in tree.levels} == {Fraction(3 * 4 * 2)}
    assert {spend.sensitivity for spend in gate.budget.spends} == {3}


def test_with_much_data_the_private_trips_are_the_prefixes_of_the_raw_ones():
    rng = np.random.default_rng(1)
    world = plain_world(6)
    lists = [
        rng.choice(6, size=rng.integers(1, 5), p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05]).tolist()
        for _ in range(40_000)
    ]
    raw = Trips.of_lists(lists, world)
    # Where nobody bought how long trips are, none goes on beyond the height.
    tree, _ = measure(NoisyPrefixTree(height=3, size_share=0), raw, 4)
    private = tree.generate(seed=0)
    assert abs(len(private) - len(raw)) < 60
    assert private.lengths.max() <= 3
    for length in (1, 2, 3):
        share_raw = np.mean(raw.cut(3).lengths == length)
        assert np.mean(private.lengths == length) == pytest.approx(share_raw, abs=0.02)
    starts = np.bincount(private.origins(), minlength=6) / len(private)
    np.testing.assert_allclose(starts, np.bincount(raw.origins(), minlength=6) / len(raw), atol=0.01)


def test_only_moves_of_the_network_are_released():
    world = ring_world(8)
    rng = np.random.default_rng(2)
    raw = Trips.of_lists([[int(s), int(s + 1) % 8, int(s + 3) % 8] for s in rng.integers(0, 8, 3000)], world)
    tree, _ = measure(NoisyPrefixTree(height=3), raw, 1)
    private = tree.generate(seed=1)
    inner = np.setdiff1d(np.arange(private.visits), private.offsets[:-1])
    assert len(inner) > 1000
    assert world.successors.contains(private.location[inner - 1], private.location[inner]).all()


def test_an_explosive_threshold_is_refused_before_anything_is_paid():
    trips = Trips.of_lists([[0, 1, 2]] * 5, World([f"{i:04}" for i in range(500)]))
    gate = Gate(Trip(), Budget(1), SeededBits(0))
    with pytest.raises(ParameterError, match="false children"):
        NoisyPrefixTree.published(when_explosive="refuse").measure(LocalCounter(trips), gate)
    assert gate.budget.spent == 0


def test_an_explosive_threshold_can_be_raised_instead():
    trips = Trips.of_lists([[0, 1, 2]] * 500, World([f"{i:04}" for i in range(500)]))
    tree, _ = measure(NoisyPrefixTree.published(height=3), trips, 4)
    assert tree.nodes < 30
    explosive, _ = measure(NoisyPrefixTree.published(height=3, when_explosive="allow"), trips, 4)
    assert explosive.nodes > 20 * tree.nodes


def test_the_private_height_is_near_the_quantile_of_the_lengths():
    lists = [[0] * length for length in (2, 3, 4) for _ in range(3000)]
    mechanism = NoisyPrefixTree(height=12, private_height=True, height_quantile=Fraction(1, 2))
    tree, gate = measure(mechanism, Trips.of_lists(lists, plain_world(2)), 2)
    assert len(tree.levels) == 3
    labels = [spend.label for spend in gate.budget.spends]
    assert labels[:3] == ["height of the tree", "number of trips", "number of visits"]


def test_a_network_is_asked_for_by_name_only_where_there_is_one():
    with pytest.raises(ParameterError, match="plain list"):
        measure(NoisyPrefixTree(successors="network"), Trips.of_lists([[0]], plain_world(2)))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"height": 0}, "height"), ({"false_children": 0}, "false_children"), ({"depth": 3}, "depth")],
)
def test_meaningless_parameters_are_refused_by_name(wrong, named):
    with pytest.raises(ParameterError, match=named):
        NoisyPrefixTree(**wrong)


def test_a_spent_budget_grows_nothing():
    gate = Gate(Trip(), Budget(1), SeededBits(0))
    trips = Trips.of_lists([[0]], plain_world(2))
    NoisyPrefixTree(height=1).measure(LocalCounter(trips), gate)
    with pytest.raises((BudgetExceededError, ParameterError)):
        NoisyPrefixTree(height=1).measure(LocalCounter(trips), gate)
