"""N-grams, fitness, subsequences and frequent patterns against slow versions by the book."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prefixspan import PrefixSpan
from utility_worlds import ABCD, some_trip_lists, trip_lists, values

from wayveil.errors import ParameterError
from wayveil.trips import windows
from wayveil.trips.trips import Trips
from wayveil.trips.windows import gram_counts, window_starts
from wayveil.utility.ngram_figures import NgramFigures, SubsequenceError, window_workload
from wayveil.utility.patterns import FrequentPatterns, supports, top_contiguous_patterns
from wayveil.utility.prefixspan import WindowTrie, top_gapped_patterns
from wayveil.utility.suite import ReplayFitness
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World

NOBODY = Trips.of_lists([], ABCD)


def grams_of(trip, n):
    return [tuple(trip[i : i + n]) for i in range(len(trip) - n + 1)]


def as_counter(counts):
    return Counter(dict(zip(map(tuple, counts.grams.tolist()), counts.count.tolist(), strict=True)))


@given(trip_lists, st.integers(1, 5))
def test_windows_are_the_runs_within_one_trip(lists, n):
    trips = Trips.of_lists(lists, ABCD)
    starts = window_starts(trips, n)
    assert [tuple(trips.location[s : s + n].tolist()) for s in starts] == [
        g for trip in lists for g in grams_of(trip, n)
    ]
    assert as_counter(gram_counts(trips, n)) == Counter(g for trip in lists for g in grams_of(trip, n))
    once = Counter(g for trip in lists for g in set(grams_of(trip, n)))
    assert as_counter(gram_counts(trips, n, once_per_trip=True)) == once


def test_grams_that_do_not_fit_one_number_are_counted_in_several(monkeypatch):
    trips = Trips.of_lists([[0, 1, 2, 3, 0], [3, 2, 1, 0, 3], [0, 1, 2, 3, 0]], ABCD)
    whole = gram_counts(trips, 5)
    monkeypatch.setattr(windows, "MOST_CODES", 15)
    parts = gram_counts(trips, 5)
    assert parts.grams.tolist() == whole.grams.tolist() == [[0, 1, 2, 3, 0], [3, 2, 1, 0, 3]]
    assert parts.count.tolist() == [2, 1]


@given(some_trip_lists, trip_lists)
def test_ngram_figures_are_those_of_the_definition(lists, other):
    found = values(NgramFigures(Trips.of_lists(lists, ABCD)), Trips.of_lists(other, ABCD))
    real, made = ({g for trip in side for g in grams_of(trip, 3)} for side in (lists, other))
    universe = set(product(range(4), repeat=3))
    tp, fp, fn = len(real & made), len(made - real), len(real - made)
    tn = len(universe - real - made)
    assert found["ngram_3/f1/accuracy"] == (tp + tn) / 64
    assert found["ngram_3/f1/precision"] == (tp / (tp + fp) if made else 1)
    assert found["ngram_3/f1/recall"] == (tp / (tp + fn) if real else 1)
    assert found["ngram_3/f1/fnr"] == 1 - found["ngram_3/f1/recall"]
    assert found["ngram_3/f1/jaccard"] == (tp / (tp + fp + fn) if real | made else 1)
    assert found["ngram_3/f1"] == (2 * tp / (2 * tp + fp + fn) if real | made else 1)
    for n in (2, 3):
        p, q = (Counter(g for trip in side for g in grams_of(trip, n)) for side in (lists, other))
        if not p or not q:
            assert found[f"ngram_tv_{n}"] == float(bool(p) != bool(q))
            continue
        slow = sum(abs(p[g] / p.total() - q[g] / q.total()) for g in p | q) / 2
        assert found[f"ngram_tv_{n}"] == pytest.approx(slow)


def test_released_ngrams_that_the_world_does_not_have_are_false_positives():
    chain = World(list("abc"), successors=SparseSuccessors(np.array([0, 1, 2, 2]), np.array([1, 2])))
    raw = Trips.of_lists([[0, 1, 2]], chain)
    found = values(NgramFigures(raw), Trips.of_lists([[0, 1, 2], [2, 1, 0]], chain))
    assert found["ngram_3/f1/precision"] == 0.5
    assert found["ngram_3/f1/accuracy"] == 0.5


def test_presence_alone_can_be_gamed_and_total_variation_cannot():
    raw = Trips.of_lists([[0, 1]] * 98 + [[0, 2], [0, 3]], ABCD)
    once_each = Trips.of_lists([[0, 1], [0, 2], [0, 3]], ABCD)
    found = values(NgramFigures(raw, n=2), once_each)
    assert found["ngram_2/f1"] == 1
    assert found["ngram_tv_2"] == pytest.approx(0.98 - 1 / 3)


@given(some_trip_lists, trip_lists)
def test_fitness_is_the_mean_share_of_moves_that_the_release_makes_too(lists, other):
    found = values(ReplayFitness(Trips.of_lists(lists, ABCD)), Trips.of_lists(other, ABCD))
    known = {g for trip in other for g in grams_of(trip, 2)}
    shares = [np.mean([move in known for move in grams_of(trip, 2)]) for trip in lists if len(trip) > 1]
    assert found["fitness/moves"] == pytest.approx(np.mean(shares) if shares else 1)
    assert found["fitness/trips"] == pytest.approx(np.mean([s == 1 for s in shares]) if shares else 1)


def has_run(trip, query):
    return any(trip[i : i + len(query)] == query for i in range(len(trip) - len(query) + 1))


@given(trip_lists, st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=12))
def test_a_trie_of_windows_counts_trips_that_have_each_run(lists, queries):
    width = max(map(len, queries))
    rows = np.array([query + [-1] * (width - len(query)) for query in queries], np.int64)
    trie = WindowTrie.of(rows, np.array([len(query) for query in queries]))
    found = trie.trips_containing(Trips.of_lists(lists, ABCD)).tolist()
    assert found == [sum(has_run(trip, query) for trip in lists) for query in queries]


def test_a_run_that_a_trip_repeats_counts_once_and_an_empty_query_is_in_every_trip():
    trips = Trips.of_lists([[0, 1, 0, 1], [1, 0]], ABCD)
    trie = WindowTrie.of(np.array([[0, 1], [-1, -1]]), np.array([2, 0]))
    assert trie.trips_containing(trips).tolist() == [1, 2]


@settings(max_examples=40)
@given(some_trip_lists, trip_lists)
def test_subsequence_error_is_that_of_the_definition(lists, other):
    question = SubsequenceError(Trips.of_lists(lists, ABCD), queries=20, max_lengths=(2, 4))
    found = values(question, Trips.of_lists(other, ABCD))
    for longest, work in question.works:
        errors = []
        for row, length in zip(work.items.tolist(), work.lengths.tolist(), strict=True):
            true, private = (sum(has_run(t, row[:length]) for t in side) for side in (lists, other))
            if work.name == "non-empty":
                assert true >= 1
            errors.append(abs(private - true) / max(true, 0.001 * len(lists)))
        assert found[f"subsequence_error/{work.name}/{longest}"] == pytest.approx(np.mean(errors))


def test_occurrences_are_counted_however_often_a_trip_has_them():
    trips = Trips.of_lists([[0, 1, 0, 1, 0], [1]], ABCD)
    trie = WindowTrie.of(np.array([[0, 1, -1], [0, -1, -1], [0, 1, 0]]), np.array([2, 1, 3]))
    assert trie.occurrences(trips).tolist() == [2, 3, 2]
    assert trie.trips_containing(trips).tolist() == [1, 1, 1]
    once, always = (
        SubsequenceError(trips, queries=50, max_lengths=(3,), occurrences=often) for often in (False, True)
    )
    assert all((a <= b).all() for a, b in zip(once.true, always.true, strict=True))
    assert max(answers.max() for answers in always.true) == 3


def test_queries_are_no_longer_than_the_longest_trip():
    work = window_workload(Trips.of_lists([[0, 1, 2], [3]], ABCD), 200, 20, np.random.default_rng(0))
    assert work.lengths.max() == 3
    assert (work.items[work.lengths == 3][:, :3] == [0, 1, 2]).all()
    with pytest.raises(ParameterError, match="at least one query"):
        SubsequenceError(Trips.of_lists([[0]], ABCD), queries=0)


def slow_ranking(lists, count, *, gapped):
    support = Counter()
    for trip in lists:
        seen = set()
        for length in range(2, 6):
            if gapped:
                seen |= {tuple(trip[i] for i in places) for places in combinations(range(len(trip)), length)}
            else:
                seen |= set(grams_of(trip, length))
        support.update(seen)
    return sorted(support.items(), key=lambda one: (-one[1], len(one[0]), one[0]))[:count]


@given(trip_lists, st.integers(1, 25))
def test_contiguous_patterns_are_ranked_as_the_definition_ranks_them(lists, count):
    trips = Trips.of_lists(lists, ABCD)
    assert top_contiguous_patterns(trips, count) == slow_ranking(lists, count, gapped=False)


@given(trip_lists, st.integers(1, 25))
def test_gapped_patterns_are_ranked_as_the_definition_ranks_them(lists, count):
    trips = Trips.of_lists(lists, ABCD)
    assert top_gapped_patterns(trips, count) == slow_ranking(lists, count, gapped=True)


@given(trip_lists.filter(any), st.integers(1, 12))
def test_gapped_patterns_are_those_of_the_prefixspan_package(lists, count):
    package = PrefixSpan(lists)
    package.minlen, package.maxlen = 2, 4
    theirs = {tuple(pattern): support for support, pattern in package.frequent(1)}
    ours = top_gapped_patterns(Trips.of_lists(lists, ABCD), count, max_length=4)
    assert [support for _, support in ours] == sorted(theirs.values(), reverse=True)[:count]
    assert all(theirs[pattern] == support for pattern, support in ours)


def test_what_the_caller_knows_does_not_change_the_answer():
    rng = np.random.default_rng(3)
    world = World.of_symbols([f"{i:02d}" for i in range(30)])
    lists = [np.minimum(rng.geometric(0.15, 8), 30).tolist() for _ in range(300)]
    trips = Trips.of_lists([[stop - 1 for stop in trip] for trip in lists], world)
    blind = top_gapped_patterns(trips, 50)
    assert top_gapped_patterns(trips, 50, at_least=blind[-1][1]) == blind
    assert FrequentPatterns(trips, tops=(50,)).gapped(trips) == blind


@settings(max_examples=40)
@given(some_trip_lists, trip_lists)
def test_pattern_figures_are_those_of_the_definition(lists, other):
    found = values(FrequentPatterns(Trips.of_lists(lists, ABCD), tops=(3, 10)), Trips.of_lists(other, ABCD))
    for kind in ("contiguous", "gapped"):
        everywhere = dict(slow_ranking(other, 10**6, gapped=kind == "gapped"))
        for top in (3, 10):
            true = dict(slow_ranking(lists, top, gapped=kind == "gapped"))
            named = dict(slow_ranking(other, top, gapped=kind == "gapped"))
            both = len(true.keys() & named.keys())
            key = f"patterns/{kind}/{top}"
            assert found[f"{key}/found"] == (both / len(true) if true else 0)
            assert found[f"{key}/f1"] == (2 * both / (len(true) + len(named)) if true or named else 0)
            errors = [abs(everywhere.get(p, 0) - s) / s for p, s in true.items()]
            assert found[f"{key}/support_error"] == pytest.approx(np.mean(errors) if errors else 0)


def test_identical_trips_are_perfect_and_nothing_is_worst_on_every_sequence_figure():
    rng = np.random.default_rng(1)
    raw = Trips.of_lists([rng.integers(0, 4, 6).tolist() for _ in range(50)], ABCD)
    for question in (
        NgramFigures(raw),
        ReplayFitness(raw),
        FrequentPatterns(raw),
        SubsequenceError(raw, queries=50),
    ):
        for measure in question.measure(raw):
            assert measure.value == (0 if measure.better == "lower" else 1), measure.key
    assert values(FrequentPatterns(raw), NOBODY)["patterns/gapped/10/found"] == 0
    assert values(NgramFigures(raw), NOBODY)["ngram_tv_2"] == 1
    assert values(ReplayFitness(raw), NOBODY)["fitness/trips"] == 0
    assert supports(raw, [], gapped=True).tolist() == []
