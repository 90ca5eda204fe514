from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayveil.synthesis.consistency import Consistency, consistent_counts, fill_visits
from wayveil.synthesis.timed_tree import TaxonomyTree, TimedTree
from wayveil.synthesis.tree import TreeLevel, times_within
from wayveil.world.timebins import DAY, TimeBins
from wayveil.world.world import World

WORLD = World(["a", "b"])
HALVES = TimeBins.every(DAY // 2)


def level(parent, symbol, count):
    return TreeLevel(np.array(parent, np.int64), np.array(symbol, np.int32), np.array(count), Fraction(1), 1)


def test_a_pair_comes_out_as_its_stop_at_a_time_in_its_bin():
    tree = TimedTree(WORLD, (level([0, 0], [1, 2], [3, 2]), level([0], [3], [3])), bins=HALVES)
    trips = tree.generate(seed=0)
    assert sorted(trips.to_lists()) == [[0, 1]] * 3 + [[1]] * 2
    for trip, (begin, end) in enumerate(zip(trips.offsets[:-1], trips.offsets[1:], strict=True)):
        bins = HALVES.bin_of(trips.time[begin:end]).tolist()
        assert bins == ([1, 1] if trips.lengths[trip] == 2 else [0])
    assert tree.table()["time_bin"].to_list() == ["12:00-24:00", "00:00-12:00", "12:00-24:00"]


def test_general_nodes_are_scaffolding_and_never_come_out():
    levels = (
        level([0], [0], [9]),  # a group of places
        level([0, 0], [0, 1], [6, 3]),  # places
        level([0, 1], [1, 0], [6, 3]),  # times
    )
    tree = TaxonomyTree(WORLD, levels, Consistency(False), HALVES, location_levels=1, time_levels=0)
    trips = tree.generate(seed=1)
    assert sorted(trips.to_lists()) == [[0]] * 6 + [[1]] * 3
    assert tree.table()["kind"].to_list() == ["location group", "location", "location", "time", "time"]


def test_what_enters_a_visit_leaves_it():
    # Ten trips at the stop, but only seven with a time that was kept: the time's share is scaled up.
    tree = TaxonomyTree(
        WORLD, (level([0], [0], [10]), level([0, 0], [0, 1], [5, 2])), Consistency(False), HALVES
    )
    counts = tree.consistent()
    assert counts[1].tolist() == pytest.approx([10 * 5 / 7, 10 * 2 / 7])
    assert [left.sum() for left in tree.ending()] == pytest.approx([0, 10])


def test_a_visit_that_nobody_completes_holds_nothing():
    levels = (
        level([0], [0], [10]),
        level([0], [0], [10]),  # first visit complete
        level([0], [1], [4]),  # second one begun, no time kept
        level([], [], np.zeros(0, np.int64)),
    )
    tree = TaxonomyTree(WORLD, levels, Consistency(False), HALVES)
    assert tree.consistent()[2].tolist() == [0]
    assert len(tree.generate(seed=0)) == 10
    assert tree.generate(seed=0).to_lists() == [[0]] * 10


@st.composite
def trees(draw):
    parents, counts, above = [], [], 1
    for _ in range(draw(st.integers(1, 6))):
        size = draw(st.integers(0, 3 * above)) if parents else draw(st.integers(1, 3))
        parents.append(
            np.array(draw(st.lists(st.integers(0, max(above - 1, 0)), min_size=size, max_size=size)), int)
        )
        counts.append(np.array(draw(st.lists(st.integers(-3, 30), min_size=size, max_size=size)), np.int64))
        above = size
    return parents, counts


@settings(max_examples=300)
@given(trees(), st.integers(2, 3), st.sampled_from(["weighted", "equal"]), st.booleans())
def test_filled_visits_stay_consistent(tree, width, rule, smoothing):
    parents, noisy = tree
    filled = fill_visits(parents, consistent_counts(parents, noisy, Consistency(smoothing, rule)), width)
    for depth in range(1, len(filled)):
        together = np.zeros(len(filled[depth - 1]))
        np.add.at(together, parents[depth], filled[depth])
        if depth % width:  # inside a visit: all of it goes on
            np.testing.assert_allclose(together, filled[depth - 1], atol=1e-6)
        else:
            assert (together <= filled[depth - 1] + 1e-6).all()
    if len(filled) % width:  # the last visit is incomplete
        assert filled[-1].sum() == 0
    assert all((level >= 0).all() for level in filled)


@given(
    st.lists(st.lists(st.integers(0, 23), min_size=1, max_size=5).map(sorted), min_size=1, max_size=8),
    st.integers(0, 99),
)
def test_moments_lie_in_their_bins_and_in_order(lists, seed):
    bins = TimeBins.hour_of_week()
    flat = np.array([b for trip in lists for b in trip])
    offsets = np.concatenate([[0], np.cumsum([len(trip) for trip in lists])])
    moments = times_within(bins, flat, offsets, np.random.default_rng(seed))
    assert bins.bin_of(moments).tolist() == flat.tolist()
    for begin, end in pairwise(offsets):
        assert (np.diff(moments[begin:end]) >= 0).all()
