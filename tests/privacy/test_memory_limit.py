"""Answers that would not fit into memory are refused before they are paid for, by numbers that are public."""

from fractions import Fraction

import numpy as np
import pytest

from wayveil.counting.local import LocalCounter
from wayveil.errors import RefusedError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import BYTES_PER_KEPT_CELL, Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.survivors import most_survivors, survivors
from wayveil.privacy.units import Trip
from wayveil.trips.trips import Trips
from wayveil.world.world import World

ONE = Contribution(per_trip=1)
NOTHING = np.zeros(0, np.int64)


def gate(memory: int, epsilon: object = 1, seed: int = 0) -> Gate:
    return Gate(Trip(), Budget(epsilon), SeededBits(seed), memory=memory)


def test_the_bound_on_survivors_is_one_from_above() -> None:
    for empty, scale, threshold in [
        (10**6, 20, 40),
        (10**6, 20, 1),
        (10**7, 100, 900),
        (50, 5, 1),
        (10**6, 2, 60),
    ]:
        most = most_survivors(empty, scale, threshold)
        drawn = [len(survivors(empty, scale, threshold, SeededBits(seed))[0]) for seed in range(20)]
        assert max(drawn) <= most
        assert most <= 2 * np.mean(drawn) + 400, "and it is not far off"


@pytest.mark.parametrize("threshold", [1, None])
def test_a_histogram_beyond_the_limit_is_refused_before_the_spend(threshold: int | None) -> None:
    asked = gate(memory=10**6)
    with pytest.raises(RefusedError, match=r"noise alone may keep .* over the limit of 0\.0 GiB"):
        asked.histogram("h", SparseCounts(10**6, NOTHING, NOTHING), ONE, Fraction(1), threshold=threshold)
    assert asked.budget.spent == 0


def test_answers_add_up_to_the_limit() -> None:
    empty = SparseCounts(10_000, NOTHING, NOTHING)
    asked = gate(memory=12_000 * BYTES_PER_KEPT_CELL, epsilon=10)
    for _ in range(2):
        asked.histogram("h", empty, ONE, Fraction(1, 10), threshold=1)
    with pytest.raises(RefusedError):
        asked.histogram("h", empty, ONE, Fraction(1, 10), threshold=1)
    assert asked.budget.spent == Fraction(1, 5)


def test_the_refusal_follows_from_public_numbers_alone() -> None:
    full = SparseCounts(10**6, np.arange(10**6), np.full(10**6, 50))
    for counts in (SparseCounts(10**6, NOTHING, NOTHING), full):
        with pytest.raises(RefusedError, match="noise alone may keep"):
            gate(memory=10**6).histogram("h", counts, ONE, Fraction(1), threshold=1)


def spread_trips(trips: int, stops: int) -> Trips:
    """Trips of four visits to any stop at any time."""
    chance = np.random.default_rng(1)
    world = World([f"{i:04}" for i in range(stops)])
    time = np.sort(chance.integers(0, 86_400, (trips, 4)), axis=1).ravel()
    return Trips(chance.integers(0, stops, 4 * trips).astype(np.int32), np.arange(trips + 1) * 4, world, time)


TREES = [
    SeqPT(height=4, time="480", false_children=1),
    NoisyPrefixTree(height=4, successors="all", false_children=1),
    SafePath(height=3, time="480", location_groups="balanced", false_children=1),
]


@pytest.mark.parametrize("tree", TREES, ids=[tree.name for tree in TREES])
def test_a_tree_stops_with_a_sentence_and_books_the_levels_above(tree) -> None:
    trips = spread_trips(4000, 60)
    levels = tree.measure(LocalCounter(trips), gate(memory=10**9, epsilon=40)).levels
    above = sum(len(level.count) for level in levels[:-1])
    tight = gate(memory=above * BYTES_PER_KEPT_CELL, epsilon=40)
    with pytest.raises(RefusedError, match="noise alone may keep"):
        tree.measure(LocalCounter(trips), tight)
    assert 0 < tight.budget.spent < 40
    sizes = 2
    assert sizes < len(tight.budget.spends) < sizes + len(levels), "what was refused was not bought"


def test_false_children_of_true_nodes_are_foreseen() -> None:
    """Few false roots and many true ones: an estimate from false roots alone is a hundred times too low."""
    trips = spread_trips(40_000, 60)
    tree = SeqPT(height=4, time="60", threshold_scales=4, max_false_nodes=20_000, size_share=0)
    whole = tree.measure(LocalCounter(trips), gate(memory=10**9, epsilon=2))
    assert sum(len(level.count) for level in whole.levels) > 200_000
    asked = gate(memory=16 << 20, epsilon=2)
    with pytest.raises(RefusedError, match="over the limit"):
        tree.measure(LocalCounter(trips), asked)
    assert 0 < asked.budget.spent < 2
    assert asked._kept * BYTES_PER_KEPT_CELL <= 16 << 20


def test_noise_that_would_be_written_out_as_trips_is_refused_for_free() -> None:
    asked = gate(memory=1 << 30, epsilon=Fraction(1, 1000))
    with pytest.raises(RefusedError, match="noise alone would be written out as up to"):
        NoisyPrefixTree(height=12, successors="all").measure(LocalCounter(spread_trips(50, 9000)), asked)
    assert asked.budget.spent == 0
