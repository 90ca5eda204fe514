"""The n-grams of a model by itself: confusion, fitness and what its nodes answer, against slow counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ring_networks import ring_of_stops
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips
from wayveil.trips.windows import gram_counts
from wayveil.utility.model_ngrams import ModelNgrams, trie_answers, trie_errors
from wayveil.utility.ngram_figures import SubsequenceError
from wayveil.utility.scorecard import score
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World

PLACES = World(list("abcd"))
TRIPS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=6)
GRAMS = st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=20)


@given(TRIPS, GRAMS)
def test_confusion_and_fitness_are_those_of_slow_counting(lists, held):
    judge = ModelNgrams(Trips.of_lists(lists, PLACES))
    windows = [[tuple(trip[i : i + 3]) for i in range(len(trip) - 2)] for trip in lists]
    true, kept = {gram for trip in windows for gram in trip}, set(held)
    found = judge.score(np.array(sorted(kept)).reshape(-1, 3))
    seen = found.confusion
    assert (seen.true_positive, seen.false_positive) == (len(true & kept), len(kept - true))
    assert (seen.false_negative, seen.true_negative) == (len(true - kept), 64 - len(true | kept))
    shares = [np.mean([gram in kept for gram in trip]) for trip in windows if trip]
    assert found.fitness == pytest.approx(np.mean(shares) if shares else 0)
    everything = judge.everything().confusion
    assert (everything.true_positive, everything.false_positive) == (len(true), 64 - len(true))


def test_n_grams_outside_the_universe_are_missed_and_no_true_negatives():
    ring = World(list("abcd"), successors=SparseSuccessors([0, 1, 2, 3, 4], [1, 2, 3, 0]))
    raw = Trips.of_lists([[0, 1, 2], [0, 2, 1]], ring)
    seen = ModelNgrams(raw).score(np.array([[1, 2, 3]])).confusion
    assert (seen.true_positive, seen.false_positive, seen.false_negative, seen.true_negative) == (0, 1, 2, 2)


def test_a_trie_answers_with_the_counts_below_its_nodes():
    raw = Trips.of_lists([[0, 1, 2, 3], [0, 1, 3], [2]], PLACES)
    queries = SubsequenceError(raw, queries=300, max_lengths=(4,))
    counted = gram_counts(raw, 3)
    grams, count = counted.grams, counted.count.astype(float)
    for (_, work), answers in zip(queries.works, trie_answers(queries, grams, count), strict=True):
        for row, length, answer in zip(work.items, work.lengths, answers, strict=True):
            asked = tuple(row[:length])
            below = [c for gram, c in zip(grams, count, strict=True) if tuple(gram[:length]) == asked]
            assert answer == (sum(below) if length <= 3 else 0)
    for (_, work), answers in zip(
        queries.works, trie_answers(queries, grams, count, leaves_only=True), strict=True
    ):
        assert (answers[work.lengths < 3] == 0).all()
    gentle = trie_errors(queries, grams, count, leaves_only=True, sanity=len(raw))
    strict = trie_errors(queries, grams, count, leaves_only=True)
    assert all(a.value <= b.value for a, b in zip(gentle, strict, strict=True))
    assert sum(a.value for a in gentle) < sum(b.value for b in strict)
    nothing = trie_errors(queries, grams[:0], count[:0])
    assert all(one.value > 0 for one in nothing if "non-empty" in one.key)


def test_score_judges_a_model_that_holds_n_grams():
    rng = np.random.default_rng(0)
    raw = Trips.of_lists([rng.integers(0, 4, 5).tolist() for _ in range(400)], PLACES)
    made = [release(raw, MobiTrie(), epsilon=20, bits=SeededBits(at), seed=at) for at in (1, 2)]
    card = score(raw, made, suite="full", queries=50)
    assert card["model/ngram_3/fitness"].value > 0.9
    assert card["model/ngram_3/f1/tp"].floor == len(gram_counts(raw, 3))
    assert card["model/ngram_3/f1"].empty == 0
    other = release(raw, NoisyPrefixTree(height=3), epsilon=20, bits=SeededBits(1), seed=1)
    with pytest.raises(KeyError):
        score(raw, other, suite="full", queries=50)["model/ngram_3/f1"]


def test_n_grams_that_turn_back_at_once_can_be_left_out_of_what_is_possible():
    ring = ring_of_stops(3, skip=2)  # both ways round: every one of the six moves can be taken back
    raw = Trips.of_lists([[0, 1, 2, 0], [2, 1, 0]], ring)
    every, onward = ModelNgrams(raw), ModelNgrams(raw, returns=False)
    assert every.size - onward.size == 6
    grams = np.array([[0, 1, 2], [1, 2, 0]])
    assert every.score(grams).confusion.true_negative - onward.score(grams).confusion.true_negative == 6
    assert onward.everything().confusion.precision > every.everything().confusion.precision
