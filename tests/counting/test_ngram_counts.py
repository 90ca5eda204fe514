import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import wayveil.counting.ngram_counts as engine
from wayveil.counting import local, tally
from wayveil.counting.local import LocalCounter
from wayveil.counting.ngram_counts import count_capped_ngrams
from wayveil.counting.tally import counted, total
from wayveil.privacy.bits import SeededBits
from wayveil.trips.identity import keyed_words
from wayveil.trips.trips import Trips
from wayveil.world.marked_ngrams import MarkedNgrams

sys.path.insert(0, str(Path(__file__).parent.parent / "mechanisms"))
from slow_ngrams import as_dict, distinct_counts, normalised_counts, small_list, small_network

WORLDS = [small_network(), small_list()]


def capped_ngrams(trips, universe, most, bits):
    return LocalCounter(trips).capped_ngrams(universe, most, bits)


def normalised_ngrams(trips, universe, whole):
    return LocalCounter(trips).normalised_ngrams(universe, whole)


trip_lists = st.lists(st.lists(st.integers(0, 3), max_size=9), max_size=12)


@settings(max_examples=60, deadline=None)
@given(trip_lists, st.sampled_from(WORLDS), st.integers(2, 5))
def test_counts_without_a_cap_that_bites_are_those_of_the_slow_reference(lists, world, n):
    universe, trips = MarkedNgrams(world.successors, n), Trips.of_lists(lists, world)
    counted = capped_ngrams(trips, universe, 50, SeededBits(1))
    assert as_dict(universe, counted) == distinct_counts(world, n, lists)


@settings(max_examples=60, deadline=None)
@given(trip_lists, st.sampled_from(WORLDS), st.integers(2, 4))
def test_normalised_weights_are_those_of_the_slow_reference(lists, world, n):
    universe, trips = MarkedNgrams(world.successors, n), Trips.of_lists(lists, world)
    counted = normalised_ngrams(trips, universe, 1 << 20)
    assert as_dict(universe, counted) == normalised_counts(world, n, lists, 1 << 20)


@settings(max_examples=60, deadline=None)
@given(trip_lists, st.lists(st.integers(0, 3), max_size=30), st.integers(1, 4), st.integers(2, 4))
def test_one_more_trip_moves_capped_counts_by_at_most_the_cap(lists, canary, most, n):
    world = WORLDS[1]
    universe = MarkedNgrams(world.successors, n)
    one = as_dict(universe, capped_ngrams(Trips.of_lists(lists, world), universe, most, SeededBits(3)))
    other = as_dict(
        universe, capped_ngrams(Trips.of_lists([*lists, canary], world), universe, most, SeededBits(3))
    )
    moved = [abs(other.get(gram, 0) - one.get(gram, 0)) for gram in set(one) | set(other)]
    assert sum(moved) <= most
    assert max(moved, default=0) <= 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=40), st.integers(2, 4))
def test_one_trip_never_gives_more_than_the_whole(canary, n):
    world = WORLDS[0]
    counted = normalised_ngrams(Trips.of_lists([canary], world), MarkedNgrams(world.successors, n), 1000)
    assert counted.counts.sum() <= 1000


def test_every_choice_of_the_kept_ngrams_is_equally_likely():
    world = small_list()
    universe = MarkedNgrams(world.successors, 2)
    trips = Trips.of_lists([[0, 1, 2, 3]] * 6000, world)  # five distinct moves, two of them kept: ten choices
    keys, sizes = engine._windows(trips, universe, distinct=True)
    words = keyed_words(np.array([1, 2], np.uint64), trips.names())
    kept = engine._choose(keys, sizes, 2, words).reshape(len(trips), 2)
    chosen = Counter(map(tuple, np.sort(kept, axis=1).tolist()))
    assert len(chosen) == 10
    assert chisquare(list(chosen.values())).pvalue > 1e-6


def test_the_same_key_chooses_the_same_in_any_pieces_and_another_key_does_not():
    world = small_list()
    universe, trips = MarkedNgrams(world.successors, 3), Trips.of_lists([[0, 1, 2, 3, 0, 2]] * 50, world)
    count = count_capped_ngrams(universe, 3, np.array([5, 7], np.uint64))
    whole = counted(count, trips)
    pieces = total(count, [trips.part(30, 50), trips.part(0, 30)], trips.visits)
    assert whole.counts.sum() == 150
    assert (whole.keys.tolist(), whole.counts.tolist()) == (pieces.keys.tolist(), pieces.counts.tolist())
    other = counted(count_capped_ngrams(universe, 3, np.array([5, 8], np.uint64)), trips)
    assert other.counts.tolist() != whole.counts.tolist()


@pytest.mark.parametrize("table_cells", [0, 1 << 26])
def test_pieces_and_kinds_of_tables_do_not_change_the_counts(monkeypatch, table_cells):
    world = small_network()
    rng = np.random.default_rng(5)
    lists = [rng.integers(0, 5, rng.integers(0, 12)).tolist() for _ in range(200)]
    universe, trips = MarkedNgrams(world.successors, 3), Trips.of_lists(lists, world)
    monkeypatch.setattr(local, "PIECE", 37)
    monkeypatch.setattr(tally, "TABLE_CELLS", table_cells)
    monkeypatch.setattr(tally, "BUFFER", 10)
    assert as_dict(universe, capped_ngrams(trips, universe, 50, SeededBits(1))) == distinct_counts(
        world, 3, lists
    )
    assert as_dict(universe, normalised_ngrams(trips, universe, 999)) == normalised_counts(
        world, 3, lists, 999
    )


def test_no_trips_have_no_ngrams():
    world = small_list()
    universe = MarkedNgrams(world.successors, 3)
    for lists in ([], [[]], [[], []]):
        counted = capped_ngrams(Trips.of_lists(lists, world), universe, 3, SeededBits(0))
        assert counted.universe == universe.size
        assert len(counted.keys) == 0
