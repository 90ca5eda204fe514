"""Lengths, stops and edges against slow definitions and at their perfect and worst values."""

import itertools
from collections import Counter
from math import log2
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.utility import edges as edges_module
from wayveil.utility.edges import EdgeFigures, edge_flows
from wayveil.utility.stop_figures import (
    LengthDivergence,
    StopFigures,
    busiest,
    hit_rate,
    jensen_shannon,
    kendall_tau_b,
    length_histogram,
    stop_counts,
)
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World

ABC = World.of_symbols(list("abcd"))
NOBODY = Trips.of_lists([], ABC)
some_trips = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=15)
histogram = st.lists(st.integers(0, 20), min_size=1, max_size=6)


def values(question, trips):
    return {measure.key: measure.value for measure in question.measure(trips)}


def test_the_divergence_is_in_bits_without_a_root():
    assert jensen_shannon(np.array([3, 1]), np.array([6, 2])) == 0
    assert jensen_shannon(np.array([5, 0]), np.array([0, 7])) == 1
    half = jensen_shannon(np.array([1, 0]), np.array([1, 1]))
    assert half == pytest.approx(0.5 * log2(4 / 3) + 0.5 * (0.5 * log2(0.5 / 0.75) + 0.5 * log2(0.5 / 0.25)))


@settings(max_examples=100, deadline=None)
@given(histogram, histogram)
def test_the_divergence_is_that_of_the_definition(left, right):
    if sum(left) == 0 or sum(right) == 0:
        assert jensen_shannon(np.array(left), np.array(right)) == float(sum(left) != sum(right))
        return
    size = max(len(left), len(right))
    p = [x / sum(left) for x in left] + [0.0] * (size - len(left))
    q = [x / sum(right) for x in right] + [0.0] * (size - len(right))
    m = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    slow = sum(a * log2(a / c) for a, c in zip(p, m, strict=True) if a) / 2
    slow += sum(b * log2(b / c) for b, c in zip(q, m, strict=True) if b) / 2
    assert jensen_shannon(np.array(left), np.array(right)) == pytest.approx(slow, abs=1e-12)


def test_no_trips_at_all_are_not_trips_of_length_zero():
    raw = Trips.of_lists([[], [], [0]], ABC)
    assert length_histogram(raw).tolist() == [2, 1]
    assert values(LengthDivergence(raw), raw)["trip_length_jsd"] == 0
    assert values(LengthDivergence(raw), NOBODY)["trip_length_jsd"] == 1


@settings(max_examples=60, deadline=None)
@given(some_trips)
def test_edge_flows_count_consecutive_visits_within_trips(lists):
    trips = Trips.of_lists(lists, ABC)
    book = Counter((a, b) for trip in lists for a, b in itertools.pairwise(trip))
    flows = edge_flows(trips)
    assert (
        dict(
            zip(
                zip(flows.source.tolist(), flows.target.tolist(), strict=True),
                flows.count.tolist(),
                strict=True,
            )
        )
        == book
    )
    assert np.all(np.diff(flows.keys) > 0)


@settings(max_examples=60, deadline=None)
@given(some_trips)
def test_worlds_too_large_for_a_dense_table_are_counted_alike(lists):
    trips = Trips.of_lists(lists, ABC)
    flows = edge_flows(trips)
    with patch.object(edges_module, "_DENSE_PAIRS", 3):
        grouped = edge_flows(trips)
    assert grouped.keys.tolist() == flows.keys.tolist()
    assert grouped.count.tolist() == flows.count.tolist()


def test_a_large_world_takes_the_grouped_way(monkeypatch):
    monkeypatch.setattr(edges_module, "_DENSE_PAIRS", 3)
    flows = edge_flows(Trips.of_lists([[0, 1, 0], [], [0, 1]], ABC))
    assert flows.at(np.array([1, 4, 7])).tolist() == [2, 1, 0]


def test_edge_error_counts_public_edges_nobody_uses_and_invented_moves():
    chain = World(list("abc"), successors=SparseSuccessors(np.array([0, 1, 2, 2]), np.array([1, 2])))
    raw = Trips.of_lists([[0, 1]] * 10, chain)
    question = EdgeFigures(raw)
    assert values(question, raw)["edge_error"] == 0
    assert values(question, Trips.of_lists([], chain))["edge_error"] == 0.5
    invented = Trips.of_lists([[0, 1]] * 10 + [[2, 0]], chain)
    assert values(question, invented)["edge_error"] == pytest.approx((1 / 0.01) / 2)


def test_the_busiest_never_include_a_stop_without_visits_and_ties_go_the_same_way():
    assert busiest(np.array([0, 5, 5, 0]), 3).tolist() == [1, 2]
    assert hit_rate(np.array([3, 2, 0, 0]), np.array([0, 0, 0, 0]), 2) == 0
    assert hit_rate(np.array([3, 2, 2, 0]), np.array([9, 1, 1, 1]), 2) == 1


def test_tau_does_not_count_ties_as_agreement():
    left, right = np.array([1, 1, 1, 2]), np.array([1, 2, 3, 4])
    concordant, ties = 3, 3
    assert kendall_tau_b(left, right) == pytest.approx(concordant / np.sqrt((6 - ties) * 6))
    assert np.isnan(kendall_tau_b(left, np.zeros(4, int)))


@settings(max_examples=60, deadline=None)
@given(some_trips.filter(lambda lists: any(lists)), some_trips)
def test_stop_error_is_that_of_the_definition(lists, other):
    raw, private = Trips.of_lists(lists, ABC), Trips.of_lists(other, ABC)
    true, seen = (Counter(stop for trip in side for stop in trip) for side in (lists, other))
    slow = np.mean([abs(seen[s] - true[s]) / max(true[s], 0.001 * len(lists)) for s in range(4)])
    assert values(StopFigures(raw), private)["stop_error"] == pytest.approx(slow)
    assert stop_counts(raw).tolist() == [true[s] for s in range(4)]


def test_identical_trips_are_perfect_on_every_stop_figure():
    raw = Trips.of_lists([[0, 1, 2], [0, 1], [0, 3, 3, 3, 3]], ABC)
    found = values(StopFigures(raw, top=2), raw)
    perfect = {"stop_error": 0, "stop_tau_b": pytest.approx(1), "stop_top_2": 1, "stop_ndcg_loss_2": 0}
    assert found == perfect


def test_trips_of_two_worlds_are_not_compared():
    other = Trips.of_lists([[0]], World.of_symbols(list("wxyz")))
    with pytest.raises(ParameterError, match="different worlds"):
        StopFigures(Trips.of_lists([[0]], ABC)).measure(other)
