import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayveil.synthesis.consistency import (
    Consistency,
    _subtract_equally,
    consistent_counts,
    smooth_paths,
)
from wayveil.synthesis.projection import round_keeping_total


@st.composite
def trees(draw):
    """Levels of (parents, noisy counts), every parent index valid."""
    width = draw(st.integers(1, 4))
    parents, counts = [], []
    above = 1
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(0 if parents else 1, width * above))
        parents.append(
            np.sort(draw(st.lists(st.integers(0, above - 1), min_size=size, max_size=size))).astype(int)
        )
        counts.append(np.array(draw(st.lists(st.integers(-5, 30), min_size=size, max_size=size)), np.int64))
        above = size
        if size == 0:
            break
    return parents, counts


@settings(max_examples=200)
@given(trees(), st.booleans(), st.sampled_from(["weighted", "equal"]))
def test_no_parent_has_less_than_its_children_and_nothing_is_negative(tree, smoothing, rule):
    parents, counts = tree
    settled = consistent_counts(parents, counts, Consistency(smoothing, rule))
    for depth, level in enumerate(settled):
        assert (level >= 0).all()
        if depth:
            together = np.bincount(parents[depth], level, len(settled[depth - 1]))
            assert (together <= settled[depth - 1] + 1e-9).all()


def slow_isotonic(values):
    """Non-increasing least squares by the min-max formula."""
    n = len(values)
    return [min(max(np.mean(values[i : j + 1]) for j in range(k, n)) for i in range(k + 1)) for k in range(n)]


@settings(max_examples=200)
@given(trees())
def test_smoothing_is_isotonic_regression_averaged_over_paths(tree):
    parents, counts = tree
    fits = [[[] for _ in level] for level in counts]
    for depth, level in enumerate(counts):
        for node in range(len(level)):
            if depth + 1 < len(counts) and node in parents[depth + 1]:
                continue
            path, at = [], node
            for d in range(depth, -1, -1):
                path.append((d, at))
                at = parents[d][at]
            path.reverse()
            for (d, i), value in zip(path, slow_isotonic([counts[d][i] for d, i in path]), strict=True):
                fits[d][i].append(value)
    expected = [np.array([np.mean(fit) for fit in level]) for level in fits]
    smoothed = smooth_paths(parents, [level.astype(float) for level in counts])
    for got, want in zip(smoothed, expected, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-9)


def test_weighted_keeps_proportions_and_equal_keeps_differences():
    parents, counts = [np.array([0]), np.array([0, 0])], [np.array([6]), np.array([8, 4])]
    assert consistent_counts(parents, counts, Consistency(False, "weighted"))[1].tolist() == [4, 2]
    assert consistent_counts(parents, counts, Consistency(False, "equal"))[1].tolist() == [5, 1]
    assert consistent_counts(parents, counts, Consistency(False, "none"))[1].tolist() == [8, 4]


def test_equal_subtraction_stops_at_zero_and_an_empty_parent_leaves_nothing():
    parents = [np.array([0, 0]), np.array([0, 0, 0, 1])]
    counts = [np.array([10, 0]), np.array([20, 1, 1, 7])]
    assert consistent_counts(parents, counts, Consistency(False, "equal"))[1].tolist() == [10, 0, 0, 0]


@given(st.lists(st.floats(0, 50), max_size=30), st.integers(0, 1000))
def test_rounding_keeps_the_total_and_stays_next_to_each_value(mass, seed):
    mass = np.array(mass)
    whole = round_keeping_total(mass, np.random.default_rng(seed))
    assert abs(whole.sum() - mass.sum()) < 1 + 1e-6
    assert (np.abs(whole - mass) < 1 + 1e-6).all()


def test_rounding_is_unbiased():
    mass = np.array([0.2, 0.7, 1.4, 0.01])
    rng = np.random.default_rng(3)
    mean = np.mean([round_keeping_total(mass, rng) for _ in range(20_000)], axis=0)
    np.testing.assert_allclose(mean, mass, atol=0.02)
    assert pytest.approx(mass.sum(), abs=0.02) == mean.sum()


@given(st.lists(st.floats(0, 100), min_size=1, max_size=9), st.floats(0, 300))
def test_what_is_taken_from_children_is_the_same_for_all_that_keep_anything(counts, above):
    found = _subtract_equally(np.zeros(len(counts), np.int64), np.array(counts), np.array([above]))
    assert found.sum() == pytest.approx(min(sum(counts), above), abs=1e-9)
    taken = (np.array(counts) - found)[found > 1e-9]
    assert np.all(np.abs(taken - taken.mean()) < 1e-9) if len(taken) else min(sum(counts), above) < 1e-6
    # Whoever keeps nothing had no more than what was taken from the others.
    assert np.all(np.array(counts)[found <= 1e-9] <= taken.max(initial=100) + 1e-6)


def test_a_child_on_the_cut_itself_does_not_come_and_go_for_ever():
    # Sevenths: the cut is the smallest child, and rounds to just below it or just above it by who is counted.
    counts = np.array([11, 9, 13, 15, 21]) / 7
    found = _subtract_equally(np.zeros(5, np.int64), counts, np.array([3.428571428571429]))
    np.testing.assert_allclose(found, np.maximum(counts - 9 / 7, 0), atol=1e-12)
