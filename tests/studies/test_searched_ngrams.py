"""Variable-length n-grams under the search of the MobiTrie study."""

from fractions import Fraction

import numpy as np
import pytest

from wayveil.counting.local import LocalCounter
from wayveil.lab.studies.mobitrie.searched import SearchedNgrams, kept_keys
from wayveil.mechanisms.mobitrie import MobiTrieSearch
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.trips.trips import Trips
from wayveil.world.world import World


@pytest.fixture(scope="module")
def counter():
    world = World.of_symbols("abcdef")
    rng = np.random.default_rng(1)
    ways = [[0, 1, 2], [0, 1, 2, 3], [4, 5], [3, 2, 1, 0]]
    return LocalCounter(Trips.of_lists([ways[at] for at in rng.integers(0, 4, 4_000)], world))


def searched(counter, quality):
    kind = SearchedNgrams(MobiTrieSearch(quality=quality), VariableNgrams(n_max=4, moves=6))
    gate = Gate(Trip(), Budget(4), SeededBits("search"))
    return kind, gate, kind.measure(counter, gate)


def test_a_search_finds_n_grams_that_are_true_and_costs_what_it_may(counter):
    kind, gate, model = searched(counter, "3/10")
    assert gate.budget.spent == 4
    assert getattr(model, "accepted", True)
    universe, exact = kind.search.count_grams(counter, Gate(Trip(), Budget(1), SeededBits(0)))
    kept, true = kept_keys(model, universe), exact.keys[exact.counts > 0]
    hit = len(np.intersect1d(kept, true))
    assert 2 * hit / (len(kept) + len(true)) > 0.3
    assert len(model.generate(1)) > 3_000
    grams, _ = model.ngrams(3)
    assert (0, 1, 2) in map(tuple, grams.tolist())


def test_a_search_that_never_is_good_enough_says_so():
    """Of moves that are drawn evenly there are too many to be known."""
    world = World.of_symbols([str(at) for at in range(40)])
    lists = np.random.default_rng(2).integers(0, 40, (4_000, 5)).tolist()
    _, gate, model = searched(LocalCounter(Trips.of_lists(lists, world)), Fraction(1))
    assert gate.budget.spent == 4
    assert not model.accepted
    assert len(model.ngrams(3)[0]) == 0
