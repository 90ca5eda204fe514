import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_networks import networks

from wayveil.errors import ParameterError
from wayveil.world.ngrams import NgramUniverse, count_without_returns
from wayveil.world.successors import SparseSuccessors, Successors
from wayveil.world.world import World


def by_hand(world: World, n: int) -> list[tuple[int, ...]]:
    ends = itertools.product(range(world.size), repeat=n)
    return [p for p in ends if all(world.successors.contains(a, b) for a, b in itertools.pairwise(p))]


worlds = st.one_of(
    networks(most=5), st.integers(1, 4).map(lambda size: World.of_symbols([f"{i}" for i in range(size)]))
)


@given(world=worlds, n=st.integers(1, 4))
def test_the_universe_is_all_paths_in_order(world, n):
    expected = by_hand(world, n)
    universe = NgramUniverse(world, n)
    assert universe.size == len(expected)
    listed = [tuple(row) for part in universe.enumerate(chunk=3) for row in part.tolist()]
    assert listed == expected


@given(world=worlds, n=st.integers(1, 4))
def test_rank_and_unrank_undo_each_other_and_strangers_have_no_rank(world, n):
    universe = NgramUniverse(world, n)
    members = by_hand(world, n)
    everything = np.asarray(list(itertools.product(range(-1, world.size + 1), repeat=n)))
    place = {path: at for at, path in enumerate(members)}
    assert universe.rank(everything).tolist() == [place.get(tuple(row), -1) for row in everything.tolist()]
    assert universe.contains(everything).tolist() == [tuple(row) in place for row in everything.tolist()]
    if members:
        numbers = np.arange(universe.size)
        assert np.array_equal(universe.rank(universe.unrank(numbers)), numbers)


def test_a_huge_universe_is_counted_exactly_and_not_numbered():
    universe = NgramUniverse(World.of_symbols([f"{i}" for i in range(1_000)]), 30)
    assert universe.size == 1_000**30
    assert universe.contains([[7] * 30]).tolist() == [True]
    with pytest.raises(ParameterError, match="do not fit 64-bit numbers"):
        universe.rank([[7] * 30])
    with pytest.raises(ParameterError, match="do not fit 64-bit numbers"):
        universe.unrank([0])


def full_graph(size: int) -> SparseSuccessors:
    return SparseSuccessors(np.arange(size + 1) * size, np.tile(np.arange(size), size))


def test_large_numbers_are_exact_up_to_the_last_that_fits():
    # 8 locations, each followed by each: 8^20 = 2^60 walks fit, 8^21 do not.
    universe = NgramUniverse(full_graph(8), 20)
    assert universe.size == 8**20
    numbers = np.asarray([0, 1, 8**19, 8**20 - 1])
    assert universe.rank(universe.unrank(numbers)).tolist() == numbers.tolist()
    assert universe.unrank([8**20 - 1]).tolist() == [[7] * 20]
    too_large = NgramUniverse(full_graph(8), 21)
    assert too_large.size == 8**21
    with pytest.raises(ParameterError, match="use a smaller n"):
        too_large.unrank([0])


def test_questions_that_make_no_sense_are_refused():
    world = World.of_symbols(["a", "b"])
    with pytest.raises(ParameterError, match="at least one location"):
        NgramUniverse(world, 0)
    with pytest.raises(ParameterError, match="rows of 3 locations"):
        NgramUniverse(world, 3).rank([[0, 1]])
    with pytest.raises(ParameterError, match="from 0 to 3"):
        NgramUniverse(world, 2).unrank([4])


def test_moves_of_an_unknown_kind_are_refused():
    class Odd(Successors):
        size = 2
        mean_degree = 1.0
        degree = nth = rank = None

    with pytest.raises(ParameterError, match="plain locations"):
        NgramUniverse(Odd(), 2)


@given(networks(), st.integers(1, 5))
def test_paths_without_returns_are_those_of_a_slow_count(network, n):
    every = [path for chunk in NgramUniverse(network, n).enumerate() for path in chunk.tolist()]
    forward = [path for path in every if all(a != b for a, b in zip(path, path[2:], strict=False))]
    assert count_without_returns(network, n) == len(forward)


def test_paths_without_returns_in_a_list_of_places():
    assert count_without_returns(World(list("abc")), 4) == 3 * 3 * 2 * 2
