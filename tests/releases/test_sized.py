"""A release that bought its size knows how much it lost, and how far off that puts it."""

from dataclasses import replace

import numpy as np
import pytest

from ring_networks import ring_of_stops
from wayveil.accuracy.judging import judge
from wayveil.accuracy.sized import Sized
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.run import make_release as release
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.model import PaidSize
from wayveil.synthesis.tallies import Tally, tally
from wayveil.trips.trips import Trips

RING = ring_of_stops(60, seconds=60)
# Longer than the tree is tall, from a few stops only.
LONG = Trips.of_lists([[(start % 6 + step) % 60 for step in range(14)] for start in range(3_000)], RING)


def tallied(*values):
    return Tally(np.arange(len(values)), np.array(values, float))


def off(shown, true):
    return np.abs(np.subtract(*shown.beside(true))).sum() / true.values.sum()


@pytest.mark.parametrize(
    ("release", "replica", "error", "is_noise"),
    [
        ((50, 30, 20, 0), (50, 30, 20, 0), 0.0, False),  # all of it
        ((25, 15, 0, 0), (25, 15, 0, 0), 0.6, False),  # two fifths, and none of them false
        ((25, 15, 0, 10), (20, 10, 0, 20), 0.5 + 2 * 0.2 * 0.5, False),  # half, a fifth of which is false
        ((0, 0, 30, 30), (35, 25, 0, 0), 0.4 + 2 * 0.6, True),  # nothing of it can be trusted
    ],
)
def test_off_by_what_is_missing_and_twice_by_what_is_false(release, replica, error, is_noise):
    found = Sized(PaidSize(100, 500), 100, 500).judge(
        "boardings", tallied(*release), tallied(*replica), None, 1.0
    )
    assert found.error == pytest.approx(error)
    assert (found.is_noise, found.says_more) == (is_noise, not is_noise)


def test_a_single_number_is_off_by_the_noise_of_what_was_bought_or_by_what_is_missing():
    known = Sized(PaidSize(100, 500), 70, 350, noise={"total": 0.4})
    assert known.judge("total", tallied(70), tallied(60), None, 1.0).error == pytest.approx(0.4)
    assert known.judge("visits", tallied(350), tallied(300), None, 1.0).error == pytest.approx(0.3)


def test_trips_beyond_those_that_were_bought_are_false():
    same = tallied(60, 40)
    kept, thinned = (
        Sized(PaidSize(100, 500), 100, 500, share).judge("boardings", same, same, None, 1.0)
        for share in (1.0, 0.4)
    )
    assert (kept.error, thinned.error) == (0.0, pytest.approx(2 * 0.6))
    assert thinned.is_noise


def test_what_is_missing_is_thought_to_be_mostly_as_public_knowledge_has_it():
    shown, even = tallied(30, 0), tallied(50, 50)
    known = Sized(PaidSize(100, 500), 100, 500).judge("boardings", shown, shown, even, 1.0)
    # 30 as shown, a quarter of the other 70 alike, the rest even: 73.75 and 26.25 beside 50 and 50.
    assert known.public == pytest.approx(0.475)
    assert (known.error, known.says_more, known.margin) == (0.7, False, pytest.approx(0.475 / 0.7))


def test_lengths_are_right_if_their_mean_is_whoever_made_the_trips():
    same = tallied(0, 100)
    right, short, long = (
        Sized(PaidSize(100, 500), 100, visits, 0.3).judge("lengths", same, same, None, 1.0)
        for visits in (500, 300, 600)
    )
    assert (right.error, short.error, long.error) == (0.0, pytest.approx(2 * 0.4), pytest.approx(2 * 0.2))


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_knows_how_much_of_the_trips_it_lost(seed):
    one = release(LONG, NoisyPrefixTree(height=4), epsilon=2, unit=Trip(), bits=SeededBits(seed))
    found = judge(one)
    for kind in ("stops", "edges"):
        assert found.of(kind).error == pytest.approx(off(tally(kind, one.trips), tally(kind, LONG)), abs=0.15)


def test_a_tree_that_cut_trips_short_is_not_better_than_public_ways_that_are_long():
    """Trees do not count ends: trips end where too few are left to be seen, and replicas of short trips lose little."""
    around = Trips.of_lists([[(start + step) % 60 for step in range(24)] for start in range(60)] * 30, RING)
    one = release(around, NoisyPrefixTree(height=2), epsilon=1, unit=Trip(), bits=SeededBits(1))
    verdict = judge(one).of("stops")
    assert not verdict.says_more
    assert verdict.error > 0.5  # eleven of twelve visits are as others go on
    assert verdict.error > off(tally("stops", one.trips), tally("stops", around))
    assert not verdict.is_noise  # but what is there is better than nothing


def test_of_a_tree_that_does_not_know_its_size_only_noise_is_known():
    """Also of one that was released before trees bought it, whose datasheet does not speak of that."""
    one = release(LONG, NoisyPrefixTree(height=4, size_share=0), epsilon=2, unit=Trip(), bits=SeededBits(1))
    parameters = one.datasheet["mechanism"]["parameters"]
    older = {name: value for name, value in parameters.items() if name != "size_share"}
    sheet = {**one.datasheet, "mechanism": {**one.datasheet["mechanism"], "parameters": older}}
    for each in (one, replace(one, datasheet=sheet)):
        found = judge(each)
        assert not any(verdict.sure or verdict.says_more for verdict in found.verdicts)
        assert "total" not in found.bands


def test_the_interval_of_the_number_of_trips_is_about_all_of_them():
    """A tree shows only the trips that stood out; the number that was bought says how many there were."""
    raw = simulate_habit(RING, 3_000, seed=3)
    held = []
    for seed in range(20):
        one = release(raw, NoisyPrefixTree(), epsilon="0.5", unit=Trip(), bits=SeededBits(seed))
        known = judge(one).bands["total"]
        (low,), (high,) = known.ends(np.array([float(len(one.trips))]))
        assert len(one.trips) < 0.95 * len(raw)
        held.append(low <= len(raw) <= high)
    assert sum(held) >= 17
