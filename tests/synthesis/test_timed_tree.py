from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayveil.synthesis.completing import times_within
from wayveil.synthesis.consistency import Consistency, settle_visits
from wayveil.synthesis.tree import TaxonomyTree, TimedTree, TreeLevel
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
    # Ten trips at the stop, but only seven with a time that was kept: three are nobody's.
    tree = TaxonomyTree(
        WORLD, (level([0], [0], [10]), level([0, 0], [0, 1], [5, 2])), Consistency(False), HALVES
    )
    counts = tree.consistent()
    assert [count.tolist() for count in counts] == [[7], [5, 2]]
    assert [left.sum() for left in tree.ending()] == pytest.approx([0, 7])


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


def test_a_group_never_makes_more_of_the_children_that_are_left():
    """A group of 34,946 whose only child above the threshold had 21 gave 34,946 trips to that child."""
    root = np.zeros(1, np.int64)
    parents, noisy = [root, root], [np.array([34_946]), np.array([21])]
    for rule in ("noise", "weighted", "equal"):
        settled = settle_visits(parents, noisy, [50.0, 5.0], 2, Consistency(False, rule))
        assert [level.tolist() for level in settled] == [[21.0], [21.0]]


def test_a_noisy_group_hardly_cuts_what_it_holds_and_a_sure_one_does():
    root = np.zeros(1, np.int64)
    noisy = [np.array([10]), np.array([40, 60])]
    parents = [root, np.zeros(2, np.int64)]
    sure, unsure = (
        settle_visits(parents, noisy, [scale, 5.0], 2, Consistency(False, "noise"))[0][0]
        for scale in (0.1, 100.0)
    )
    assert sure == pytest.approx(10, abs=0.1)
    assert unsure == pytest.approx(100, abs=1)


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
@given(trees(), st.integers(2, 3), st.sampled_from(["noise", "weighted", "equal"]), st.booleans())
def test_settled_visits_stay_consistent(tree, width, rule, smoothing):
    parents, noisy = tree
    scales = [float(1 + depth) for depth in range(len(noisy))]
    filled = settle_visits(parents, noisy, scales, width, Consistency(smoothing, rule))
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
    if rule == "noise":  # nothing is made more than it was counted
        assert all(
            (level <= np.maximum(n, 0) + 1e-6).all()
            for level, n in list(zip(filled, noisy, strict=True))[width - 1 :: width]
        )


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
