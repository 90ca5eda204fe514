from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ring_networks import ring_of_stops
from wayveil.errors import ParameterError
from wayveil.world.successors import CompleteSuccessors, SparseSuccessors
from wayveil.world.timebins import DAY, HOUR, TimeBins
from wayveil.world.timed import NEVER, Later, Reachable, TimedAlphabet
from wayveil.world.world import World


def sparse(rows):
    indptr = np.cumsum([0, *(len(row) for row in rows)])
    return SparseSuccessors(indptr, np.array([t for row in rows for t in sorted(row)], np.int32))


moves = st.integers(1, 4).flatmap(
    lambda n: st.one_of(
        st.just(CompleteSuccessors(n)),
        st.lists(st.sets(st.integers(0, n - 1)), min_size=n, max_size=n).map(sparse),
    )
)


def assert_numbers(successors, allowed):
    """degree, nth and rank number exactly the allowed targets of every source, each once."""
    size = successors.size
    for source in range(size):
        expected = {target for target in range(size) if allowed(source, target)}
        degree = int(successors.degree(np.array([source]))[0])
        ranks = np.arange(degree)
        listed = successors.nth(np.full(degree, source), ranks)
        assert set(listed.tolist()) == expected
        assert degree == len(expected)
        assert successors.rank(np.full(degree, source), listed).tolist() == ranks.tolist()
        forbidden = np.array([-1, *(t for t in range(size) if t not in expected)])
        assert (successors.rank(np.full(len(forbidden), source), forbidden) == -1).all()
    degrees = successors.degree(np.arange(size))
    assert successors.mean_degree == pytest.approx(degrees.mean())


@settings(max_examples=150)
@given(moves, st.integers(1, 5), st.none() | st.integers(0, 6))
def test_later_numbers_the_pairs_that_are_not_in_the_past(moves, bins, span):
    later = Later(moves, bins, span)

    def allowed(source, target):
        (a, now), (b, then) = divmod(source, bins), divmod(target, bins)
        legal = bool(moves.contains(np.array([a]), np.array([b]))[0])
        return legal and 0 <= then - now <= (bins if span is None else span)

    assert_numbers(later, allowed)


@settings(max_examples=150)
@given(st.data(), st.integers(1, 4), st.integers(1, 5), st.none() | st.integers(0, 6))
def test_reachable_numbers_the_pairs_that_can_be_reached_in_time(data, n, bins, span):
    waits = st.sampled_from([0, 0, 1, 2, 3, 9, NEVER])
    rows = data.draw(st.lists(st.lists(waits, min_size=n, max_size=n), min_size=n, max_size=n))
    least = np.array(rows, np.int32)
    reachable = Reachable(least, bins, span)

    def allowed(source, target):
        (a, now), (b, then) = divmod(source, bins), divmod(target, bins)
        return 0 <= then - now <= (bins if span is None else span) and least[a, b] <= then - now

    assert_numbers(reachable, allowed)


def test_reachability_follows_the_networks_fastest_way():
    # Each step takes 40 minutes, so with hours one step always fits, and two or more need a later bin.
    network = ring_of_stops(6, seconds=2400)
    reachable = Reachable.on(network, TimeBins.hour_of_day())
    for a, b in product(range(6), repeat=2):
        seconds = 2400 * ((b - a) % 6)
        for wait in range(4):
            pair = np.array([a * 24 + 5]), np.array([b * 24 + 5 + wait])
            # The latest arrival is the end of the target bin, the earliest departure the start of the source bin.
            assert (reachable.rank(*pair)[0] >= 0) == (seconds <= (wait + 1) * HOUR)


def test_reachability_needs_equal_bins():
    with pytest.raises(ParameterError, match="equal length"):
        Reachable.on(ring_of_stops(3), TimeBins([0, HOUR, DAY]))


def test_a_pair_is_location_and_bin_and_time_outside_all_bins_is_no_symbol():
    world = World(["a", "b"])
    alphabet = TimedAlphabet(world, TimeBins([0, 10, 20], period=None))
    assert alphabet.size == 4
    (column,) = alphabet.encode(np.array([0, 1, 1, 0], np.int32), np.array([3, 10, 19, 20]))
    assert column.tolist() == [0, 3, 3, -1]
    assert column.dtype == np.int32


def test_trips_without_times_are_refused_in_a_sentence():
    with pytest.raises(ParameterError, match="bring a time column"):
        TimedAlphabet(World(["a"]), TimeBins.hour_of_day()).encode(np.zeros(1, np.int32), None)


def test_an_alphabet_that_does_not_fit_is_refused():
    class Huge:
        size = 2**28

    with pytest.raises(ParameterError, match="fewer bins"):
        TimedAlphabet(Huge(), TimeBins.hour_of_day())
