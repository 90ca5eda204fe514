"""The private partition: its lemma on every small tree, its law, and its edges."""

from fractions import Fraction
from itertools import product
from math import exp, log, log1p

import numpy as np
import pytest

from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.privtree import COST, FANOUT, Leaves, decay, decisions, depth_of, partition
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.units import Rider, Trip

ONE = Contribution(per_trip=1)


def log_chances(values, scale):
    """log P(split) and log P(no split) of a node: P(value + noise > 0) for discrete Laplace noise."""
    beyond = -np.maximum(np.maximum(values, 1 - values), 1) / scale - log1p(
        exp(-1 / scale)
    )  # the rarer of the two
    rest = np.log1p(-np.exp(beyond))
    return np.where(values <= 0, beyond, rest), np.where(values <= 0, rest, beyond)


def chance_of(counts, leaves, scale):
    values, split = decisions(np.arange(len(counts)), np.asarray(counts), leaves)
    yes, no = log_chances(values, float(scale))
    return float(np.where(split, yes, no).sum())


def all_partitions(depth, step):
    """Every partition that a tree of this depth can give."""

    def below(level, index):
        yield [(level, index)]
        if level < depth:
            parts = [list(below(level + 1, FANOUT * index + child)) for child in range(FANOUT)]
            for choice in product(*parts):
                yield [leaf for part in choice for leaf in part]

    for leaves in below(0, 0):
        level, index = np.array(leaves, np.int64).T
        order = np.argsort(index << 2 * (depth - level))
        yield Leaves(depth, step, level[order], index[order])


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)])
@pytest.mark.parametrize("most", [1, 2])
def test_no_small_tree_tells_neighbours_apart_by_more_than_epsilon(epsilon, most):
    scale = COST * most / epsilon
    step = decay(scale, most)
    partitions = list(all_partitions(2, step))
    assert len(partitions) == 1 + 2**FANOUT  # the root alone, or each child split or not
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(40):
        counts = rng.integers(0, rng.choice([1, 3, 3 * step]) + 1, 16) * (rng.random(16) < rng.random())
        added = np.bincount(rng.integers(0, rng.choice([1, 4, 16]), most), minlength=16)
        for leaves in partitions:
            ratio = chance_of(counts + added, leaves, scale) - chance_of(counts, leaves, scale)
            worst = max(worst, abs(ratio))
    assert 0.1 * epsilon < worst <= epsilon


@pytest.mark.parametrize("most", [1, 3])
def test_the_way_to_one_crowded_cell_costs_no_more_than_epsilon_at_any_depth_or_count(most):
    """The worst case of the proof: one cell under a chain of splits, for all counts around every threshold."""
    depth = 6
    for epsilon in (Fraction(1, 2), Fraction(2), Fraction(7, 2)):
        scale = COST * most / epsilon
        step = decay(scale, most)
        for level in range(depth + 1):
            index = [np.zeros(1, np.int64)] + [np.arange(1, FANOUT)] * level
            levels = [np.full(1, level)] + [np.full(FANOUT - 1, up) for up in range(level, 0, -1)]
            leaves = Leaves(depth, step, np.concatenate(levels), np.concatenate(index))
            assert leaves.sizes.sum() == FANOUT**depth
            for count in range(0, (depth + 2) * step, max(1, step // 7)):
                alone = np.zeros(FANOUT**depth, np.int64)
                alone[0] = count
                more = alone.copy()
                more[0] += most
                ratio = chance_of(more, leaves, scale) - chance_of(alone, leaves, scale)
                assert abs(ratio) <= float(epsilon) + 1e-9


def test_without_the_decay_the_lemma_fails():
    """The check has power: a tree that is not biased against depth leaks more than epsilon."""
    scale, depth = COST, 8
    index = [np.zeros(1, np.int64)] + [np.arange(1, FANOUT)] * depth
    levels = [np.full(1, depth)] + [np.full(FANOUT - 1, up) for up in range(depth, 0, -1)]
    leaves = Leaves(depth, 0, np.concatenate(levels), np.concatenate(index))
    one = np.zeros(FANOUT**depth, np.int64)
    one[0] = 1
    assert chance_of(one, leaves, scale) - chance_of(0 * one, leaves, scale) > 1


def test_the_law_of_partitions_is_the_claimed_one():
    counts = np.array([9, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0])
    exact = SparseCounts.dense(counts)
    bits, seen, runs = SeededBits(3), {}, 4_000
    for _ in range(runs):
        leaves = Gate(Trip(), Budget(2), bits).tree("tree", exact, ONE, Fraction(2))
        seen[tuple(leaves.starts)] = seen.get(tuple(leaves.starts), 0) + 1
    scale = COST / 2
    total = 0.0
    for leaves in all_partitions(2, decay(scale, 1)):
        expected = runs * exp(chance_of(counts, leaves, scale))
        found = seen.pop(tuple(leaves.starts), 0)
        total += expected
        assert abs(found - expected) <= 5 * expected**0.5 + 2
    assert not seen
    assert total == pytest.approx(runs)


def test_a_unit_of_several_trips_gets_noise_for_all_of_them():
    exact = SparseCounts.dense(np.zeros(16, np.int64))
    gate = Gate(Rider(max_trips=3), Budget(1), SeededBits(1))
    gate.tree("tree", exact, ONE, Fraction(1))
    spend = gate.budget.spends[0]
    assert (spend.scale, spend.sensitivity, spend.kind) == (7, 3, "tree")
    with pytest.raises(BudgetExceededError):
        gate.tree("again", exact, ONE, Fraction(1, 10))


def test_under_zcdp_a_tree_costs_half_its_epsilon_squared():
    gate = Gate(Trip(), Budget(Fraction(1, 2), currency="rho"), SeededBits(1))
    assert gate.tree_scale(ONE, Fraction(1, 2)) == COST


def test_the_decay_is_never_below_its_two_bounds():
    for scale in (Fraction(1, 3), Fraction(7, 3), Fraction(1000, 7)):
        for most in (1, 5):
            assert decay(scale, most) >= max(float(scale) * log(FANOUT), most)


def test_leaves_are_a_partition_and_find_their_cells():
    keys = np.arange(64)
    leaves = partition(keys, np.full(64, 100), 3, 5, lambda level, nodes, values: nodes % 3 == 0)
    assert leaves.sizes.sum() == 64
    assert np.array_equal(leaves.starts, np.concatenate([[0], np.cumsum(leaves.sizes)[:-1]]))
    of = leaves.of(keys)
    assert np.all(leaves.starts[of] <= keys)
    assert np.all(keys < leaves.starts[of] + leaves.sizes[of])


def test_a_tree_of_one_cell_asks_nothing():
    leaves = Gate(Trip(), Budget(1), SeededBits(1)).tree(
        "tree", SparseCounts.dense(np.array([5])), ONE, Fraction(1)
    )
    assert leaves.starts.tolist() == [0]


def test_cells_must_be_a_power_of_four():
    assert [depth_of(size) for size in (1, 4, 16, 4**11)] == [0, 1, 2, 11]
    for size in (2, 8, 12):
        with pytest.raises(ParameterError, match="4\\^depth"):
            depth_of(size)
