from itertools import pairwise, product

import numpy as np
import pytest

from wayveil.errors import ParameterError
from wayveil.world.marked_ngrams import MarkedNgrams
from wayveil.world.successors import CompleteSuccessors, SparseSuccessors

SPARSE = SparseSuccessors(np.array([0, 2, 4, 4, 7, 8]), np.array([1, 2, 0, 3, 1, 3, 4, 0]))


def may_follow(universe, x, y):
    if x < universe.locations and y < universe.locations:
        return bool(universe.successors.contains(np.array([x]), np.array([y]))[0])
    if x < universe.locations:
        return y == universe.end
    if x == universe.end - 1:
        return y < universe.locations
    return x < universe.end and y == x + 1


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("successors", [CompleteSuccessors(3), SPARSE], ids=["list", "network"])
def test_ranks_number_all_walks_between_marks_in_order(successors, n):
    universe = MarkedNgrams(successors, n)
    walks = [
        gram
        for gram in product(range(universe.end + 1), repeat=n)
        if all(may_follow(universe, x, y) for x, y in pairwise(gram))
    ]
    assert universe.size == len(walks)
    np.testing.assert_array_equal(universe.rank(np.array(walks)), np.arange(len(walks)))
    np.testing.assert_array_equal(universe.unrank(np.arange(len(walks))), walks)


@pytest.mark.parametrize("successors", [CompleteSuccessors(3), SPARSE], ids=["list", "network"])
def test_what_is_not_a_walk_has_no_rank(successors):
    universe = MarkedNgrams(successors, 3)
    everything = np.array(list(product(range(-1, universe.end + 3), repeat=3)))
    assert np.count_nonzero(universe.rank(everything) >= 0) == universe.size


def test_a_trip_of_one_stop_has_an_ngram_for_every_n():
    for n in range(2, 7):
        universe = MarkedNgrams(CompleteSuccessors(4), n)
        marked = universe.pad([2])
        assert len(marked) >= n
        assert universe.rank(np.array([marked[:n]]))[0] >= 0


def test_a_large_list_is_counted_without_being_listed():
    universe = MarkedNgrams(CompleteSuccessors(13_000), 3)
    assert universe.size == 13_000**3 + 13_000**2 + 13_000 * 13_001
    gram = np.array([[12_999, 7, universe.end]])
    np.testing.assert_array_equal(universe.unrank(universe.rank(gram)), gram)


def test_a_universe_beyond_exact_ranks_is_refused():
    with pytest.raises(ParameterError, match="smaller n"):
        MarkedNgrams(CompleteSuccessors(100_000), 4)
    with pytest.raises(ParameterError, match="2 to"):
        MarkedNgrams(CompleteSuccessors(3), 1)
