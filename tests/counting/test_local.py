from collections import Counter as Tally
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.counting import local, prefixes
from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Frontier
from wayveil.trips.trips import Trips
from wayveil.world.ngrams import NgramUniverse
from wayveil.world.successors import CompleteSuccessors, SparseSuccessors
from wayveil.world.world import World

SYMBOLS = 4
lists = st.lists(st.lists(st.integers(0, SYMBOLS - 1), max_size=6), max_size=25)


def ring():
    """Each location may be followed by the next two, going round."""
    rows = [sorted({(a + 1) % SYMBOLS, (a + 2) % SYMBOLS}) for a in range(SYMBOLS)]
    return SparseSuccessors(np.arange(SYMBOLS + 1) * 2, np.concatenate(rows))


def walk(trips, successors, keep):
    """Grow the tree with `keep` deciding per prefix; yields {prefix: count} of every level."""
    world = World.of_symbols([str(i) for i in range(SYMBOLS)], public=True)
    counter = LocalCounter(Trips.of_lists(trips, world)).prefixes()
    states, paths = np.zeros(1, np.int64), [()]
    for depth in range(6):
        frontier = Frontier(states, successors if depth else CompleteSuccessors(SYMBOLS))
        exact = counter.count(frontier)
        assert exact.universe == frontier.universe
        parent, symbol, _ = frontier.children(np.arange(frontier.universe))
        every = [(*paths[p], int(s)) for p, s in zip(parent, symbol, strict=True)]
        yield {every[k]: int(c) for k, c in zip(exact.keys, exact.counts, strict=True)}
        kept = np.array([i for i, path in enumerate(every) if keep(path)], np.int64)
        counter.descend(kept)
        parent, symbol, states = frontier.children(kept)
        paths = [every[i] for i in kept]


@given(lists, st.booleans(), st.integers(0, 2**16), st.sampled_from([3, 100]), st.sampled_from([1, 2, 6]))
def test_prefix_counts_are_those_of_a_tally(trips, network, salt, trips_per_thread, ahead):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "TRIPS_PER_THREAD", trips_per_thread)
        patch.setattr(prefixes, "AHEAD", ahead)
        check_prefix_counts(trips, network, salt)


def check_prefix_counts(trips, network, salt):
    successors = ring() if network else CompleteSuccessors(SYMBOLS)

    def keep(path):
        return hash((salt, path)) % 4 > 0

    def inside(trip, length):
        moves = all(successors.contains(np.array([a]), np.array([b]))[0] for a, b in pairwise(trip[:length]))
        return moves and all(keep(tuple(trip[:d])) for d in range(1, length))

    for depth, level in enumerate(walk(trips, successors, keep)):
        length = depth + 1
        expected = Tally(tuple(t[:length]) for t in trips if len(t) >= length and inside(t, length))
        assert level == dict(expected)


@given(lists, st.integers(1, 3), st.booleans())
def test_ngram_counts_are_those_of_a_tally(trips, n, network):
    world = World([str(i) for i in range(SYMBOLS)], successors=ring() if network else None)
    universe = NgramUniverse(world.successors, n)
    counted = LocalCounter(Trips.of_lists(trips, world)).ngrams(universe)
    grams = [tuple(t[i : i + n]) for t in trips for i in range(len(t) - n + 1)]
    legal = [
        g
        for g in grams
        if all(world.successors.contains(np.array([a]), np.array([b]))[0] for a, b in pairwise(g))
    ]
    expected = Tally(legal)
    found = {
        tuple(universe.unrank(np.array([k]))[0].tolist()): int(c)
        for k, c in zip(counted.keys, counted.counts, strict=True)
    }
    assert found == dict(expected)


def test_lengths_are_the_visits_of_each_trip():
    counter = LocalCounter(Trips.of_lists([[0], [], [1, 1], [1, 0, 1]], World.of_symbols("ab")))
    assert counter.lengths(5).counts.tolist() == [1, 1, 1, 1]
    assert counter.lengths(2).counts.tolist() == [1, 1, 2]
