"""Count queries against a by-the-book version, and the traps of this figure."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.utility import postings as postings_module
from wayveil.utility.count_queries import (
    CountQueryError,
    distinct_places,
    nonempty_workload,
    relative_errors,
    uniform_workload,
)
from wayveil.utility.postings import Items, Postings
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

ABC = World.of_symbols(list("abcd"))


def contains_in_order(trip: list[int], query: list[int]) -> bool:
    rest = iter(trip)
    return all(item in rest for item in query)


def answers(trips: Trips, queries: list[list[int]], *, unordered: bool = False, items: Items | None = None):
    width = max(len(query) for query in queries)
    rows = np.array([query + [-1] * (width - len(query)) for query in queries], np.int64)
    lengths = np.array([len(query) for query in queries], np.int64)
    found = Postings.of(trips, items or Items(trips.world))
    return found.trips_containing(rows, lengths, unordered=unordered).tolist()


some_trips = st.lists(st.lists(st.integers(0, 3), max_size=7), max_size=12)
some_queries = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=10)


@settings(max_examples=150, deadline=None)
@given(some_trips, some_queries)
def test_ordered_answers_are_those_of_the_definition(lists, queries):
    by_the_book = [sum(contains_in_order(trip, query) for trip in lists) for query in queries]
    assert answers(Trips.of_lists(lists, ABC), queries) == by_the_book


@settings(max_examples=100, deadline=None)
@given(some_trips, some_queries)
def test_unordered_answers_are_those_of_set_inclusion(lists, queries):
    by_the_book = [sum(set(query) <= set(trip) for trip in lists) for query in queries]
    assert answers(Trips.of_lists(lists, ABC), queries, unordered=True) == by_the_book


def test_a_query_for_the_same_stop_twice_needs_two_visits():
    trips = Trips.of_lists([[0], [0, 1], [0, 1, 0], [0, 0], [1, 1, 1]], ABC)
    assert answers(trips, [[0], [0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0]]) == [4, 2, 0, 1, 1]


def test_a_repeated_stop_in_a_trip_counts_the_trip_once_and_matches_nothing_else():
    trips = Trips.of_lists([[2, 2, 2, 2], [2, 3, 2]], ABC)
    assert answers(trips, [[2], [2, 3], [3, 2], [0, 2], [2, 0]]) == [2, 1, 1, 0, 0]


def test_order_matters_across_trip_borders():
    trips = Trips.of_lists([[1], [0, 1], [1, 0], [0]], ABC)
    assert answers(trips, [[0, 1], [1, 0]]) == [1, 1]


def test_keys_that_do_not_fit_four_bytes_give_the_same_answers(monkeypatch):
    rng = np.random.default_rng(1)
    trips = Trips.of_lists([rng.integers(0, 4, rng.integers(0, 9)).tolist() for _ in range(300)], ABC)
    queries = [rng.integers(0, 4, rng.integers(1, 5)).tolist() for _ in range(100)]
    small = Postings.of(trips, Items(ABC))
    wide = Postings(small.keys.astype(np.int64), small.starts, small.shift)
    assert small.keys.dtype == np.int32
    rows = np.array([query + [-1] * (4 - len(query)) for query in queries])
    lengths = np.array([len(query) for query in queries])
    monkeypatch.setattr(postings_module, "_QUERIES_PER_STEP", 7)
    assert np.array_equal(wide.trips_containing(rows, lengths), answers(trips, queries))


def test_a_stop_matches_only_within_its_time_bin():
    hours = TimeBins.hour_of_day()
    items = Items(ABC, hours)
    time = np.array([8, 9, 8, 8, 20], np.int64) * 3600
    trips = Trips.of_lists([[0, 1], [0, 1], [0]], ABC, time=time)
    at = lambda stop, hour: stop * 24 + hour  # noqa: E731
    assert answers(
        trips, [[at(0, 8), at(1, 9)], [at(0, 8), at(1, 8)], [at(0, 8)], [at(1, 9), at(0, 8)]], items=items
    ) == [1, 1, 2, 0]


def test_visits_outside_all_bins_are_not_asked_for_and_not_found():
    bins = TimeBins([0, 100], period=None)
    trips = Trips.of_lists([[0, 1, 2], [3]], ABC, time=np.array([10, 200, 20, 500]))
    items = Items(ABC, bins)
    work = nonempty_workload(trips, items, 200, 4, np.random.default_rng(0))
    assert work.lengths.max() == 2
    assert set(np.unique(work.items)) == {-1, 0, 2}


def test_bins_without_times_are_refused_in_a_sentence():
    with pytest.raises(ParameterError, match="carry no times"):
        CountQueryError(Trips.of_lists([[0]], ABC), bins=TimeBins.hour_of_day())


def test_bins_that_no_visit_falls_into_are_refused():
    trips = Trips.of_lists([[0]], ABC, time=np.array([500]))
    with pytest.raises(ParameterError, match="falls into"):
        CountQueryError(trips, bins=TimeBins([0, 100], period=None))


@settings(max_examples=40, deadline=None)
@given(some_trips.filter(lambda lists: any(lists)), st.integers(0, 1000))
def test_every_query_drawn_from_raw_trips_is_true_somewhere(lists, seed):
    trips = Trips.of_lists(lists, ABC)
    question = CountQueryError(trips, queries=50, seed=seed)
    assert question.workloads[0].name == "non-empty"
    assert question.true[0].min() >= 1


def test_lengths_are_uniform_and_choices_of_visits_are_uniform():
    rng = np.random.default_rng(3)
    work = uniform_workload(Items(ABC), 40_000, 4, rng)
    assert np.abs(np.bincount(work.lengths)[1:] / 10_000 - 1).max() < 0.05
    assert np.abs(np.bincount(work.items[work.items >= 0]) / (work.lengths.sum() / 4) - 1).max() < 0.05
    places = distinct_places(np.full(60_000, 5), 3, rng)
    subsets, counts = np.unique(places, axis=0, return_counts=True)
    assert len(subsets) == 10
    assert np.all(np.diff(subsets, axis=1) > 0)
    assert np.abs(counts / 6_000 - 1).max() < 0.06


def test_the_relative_error_divides_by_the_truth_or_the_sanity_bound():
    assert relative_errors(np.array([0, 5, 50]), np.array([4, 0, 25]), 10).tolist() == [0.4, 0.5, 0.5]


def test_the_error_is_the_mean_over_the_definition_on_both_workloads_and_per_length():
    rng = np.random.default_rng(5)
    make = lambda n: Trips.of_lists([rng.integers(0, 4, 5).tolist() for _ in range(n)], ABC)  # noqa: E731
    raw, private = make(40), make(30)
    question = CountQueryError(raw, queries=300, max_length=3, seed=7)
    values = {measure.key: measure.value for measure in question.measure(private)}
    assert len(values) == 8
    for work in question.workloads:
        errors = []
        for row, length in zip(work.items.tolist(), work.lengths, strict=True):
            true, seen = (
                sum(contains_in_order(t, row[:length]) for t in side.to_lists()) for side in (raw, private)
            )
            errors.append(abs(seen - true) / max(true, 0.001 * 40))
        assert values[f"count_query_error/{work.name}"] == pytest.approx(np.mean(errors))
        exact = np.array(errors)[work.lengths == 2].mean()
        assert values[f"count_query_error/{work.name}/2"] == pytest.approx(exact)
        assert question.errors_at(private, 2)[work.name] == values[f"count_query_error/{work.name}/2"]
    assert question.errors_at(private, 4) == {}


def test_identical_trips_have_no_error_and_an_empty_release_errs_fully_on_frequent_queries():
    raw = Trips.of_lists([[0, 1, 2]] * 50, ABC)
    question = CountQueryError(raw, queries=100)
    assert all(measure.value == 0 for measure in question.measure(raw))
    nothing = {m.key: m.value for m in question.measure(raw.take(np.array([], np.int64)))}
    assert nothing["count_query_error/non-empty"] == 1


def test_nothing_to_compare_with_is_refused():
    with pytest.raises(ParameterError, match="no raw trip"):
        CountQueryError(Trips.of_lists([[], []], ABC))
    with pytest.raises(ParameterError, match="at least one query"):
        CountQueryError(Trips.of_lists([[0]], ABC), queries=0)
