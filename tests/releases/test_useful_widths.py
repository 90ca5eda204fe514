"""Intervals are as wide as they have to be, and verdicts are as careful: neither more nor less."""

from dataclasses import replace

import numpy as np
import pytest

from bare_release import bare_release
from ring_networks import ring_of_stops
from wayveil.accuracy.accuracy import Accuracy
from wayveil.accuracy.distances import distance
from wayveil.accuracy.find_bands import find_even_bands
from wayveil.accuracy.judging import judge
from wayveil.accuracy.misfits import blur_classes, least_together
from wayveil.accuracy.numbers import Numbers, judge_numbers
from wayveil.accuracy.paid_sizes import paid_size
from wayveil.accuracy.verdicts import give_verdict
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.run import make_release
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.counted import AllCounted
from wayveil.synthesis.tallies import Tally, tally
from wayveil.trips.trips import Trips

RING = ring_of_stops(40, seconds=60)
SHEET = {
    "guarantee": {"epsilon": "1", "unit": "trip", "bounds": {}, "sentence": "", "holds": True},
    "deployment": {"basic": {"name": "one"}},
}


class Counted:
    """A model that counted 40 classes of lengths."""

    def counted(self, kind):
        return AllCounted(np.full(40, 100.0), 1.0, 0.0) if kind == "lengths" else None


def test_a_long_list_tells_its_law_and_needs_no_room_for_what_few_rows_do_not_tell():
    """Of 60,000 trips of riders, intervals of stops held 97 % and were a fifth wider than their errors asked for."""
    rng, held, wide = np.random.default_rng(3), [], []
    for _ in range(20):
        released = rng.lognormal(7, 1, 400)
        true, again = (released + 4 * np.sqrt(released) * rng.standard_normal(400) for _ in range(2))
        cells = np.arange(400)
        low, high = find_even_bands(Tally(cells, released), Tally(cells, again), 0.0).ends(released)
        held.append((low <= true) & (true <= high))
        wide.append(np.median((high - low) / 2 / (4 * np.sqrt(released))))
    assert np.mean(held) >= 0.95
    assert np.mean(wide) <= 2.45  # 2.75 with a law for every thirteen rows


def test_a_stop_may_have_twice_as_many_where_it_may_have_half():
    """Of riders with tastes of their own, 63 of 71 stops that intervals missed had more people than these said."""
    rng, low_missed, high_missed = np.random.default_rng(4), 0, 0
    for _ in range(20):
        released = rng.lognormal(6, 1, 400)
        away = 8 / np.sqrt(released + 1)
        true, again = (released * np.exp(away * rng.standard_normal(400)) for _ in range(2))
        cells = np.arange(400)
        low, high = find_even_bands(Tally(cells, released), Tally(cells, again), 0.01).ends(released)
        low_missed, high_missed = low_missed + np.sum(true < low), high_missed + np.sum(true > high)
    assert high_missed < 0.04 * 20 * 400  # 0.063 of them with even intervals
    assert low_missed < 0.02 * 20 * 400


def test_visits_by_hour_have_room_for_starts_that_pile_up_within_the_hour():
    """Riders set out around a few moments: of intervals that took starts for even, 73 % held."""
    raw = simulate_habit(RING, 3_000, seed=1)
    starts = np.random.default_rng(1).normal(8.8, 0.4, len(raw)).clip(0, 22) * 3_600
    time = raw.time - np.repeat(raw.time[raw.offsets[:-1]], raw.lengths)
    steep = Trips(raw.location, raw.offsets, RING, time + np.repeat(starts.astype(np.int64), raw.lengths))
    even, piled = (
        make_release(each, Weave(), epsilon=2, unit=Trip(), bits=SeededBits(1), seed=1).accuracy.bands[
            "hours"
        ]
        for each in (raw, steep)
    )
    assert piled.together > 2 * even.together


def test_busy_stops_are_off_by_a_share_that_no_replica_shows():
    """Above 10,000 visits, stops were off by twice what replicas said: 7 of 9 largest numbers held."""
    assert least_together(Counted(), "stops") == 0.03
    assert least_together(Counted()) < 0.02


def test_trips_within_a_district_are_less_sure_than_those_to_another():
    """On cards of real riders the largest pair of districts was one district with itself, and held once in eight."""
    verdict = give_verdict("alightings", 40, 100.0, 0.05, 0.9, sure=True)
    trips = Trips.of_lists([[0, 1], [1, 2]], RING)
    release = replace(bare_release(trips, SHEET), known_accuracy=Accuracy({}, (verdict,), None, trips))
    release = replace(release, model=Held())
    shown = np.geomspace(100, 5_000, 40)
    again = shown + 2 * np.sqrt(shown) * np.tile([1, -1], 20)
    ends = Numbers("districts", shown, "alightings", pairs=(shown, again))
    usual = judge_numbers(release, ends)
    wider = judge_numbers(release, replace(ends, blurred=0.1 * shown * (np.arange(40) == 39)))
    half = (usual.high - usual.low)[39] / 2
    assert (wider.high - wider.low)[39] / 2 == pytest.approx(np.hypot(half, 1.96 * 0.1 * 5_000), rel=0.01)
    assert "1,000 to 10,000 typically off by" in wider.words != usual.words
    assert np.array_equal(wider.low[:39], usual.low[:39])


class Held:
    """A model that counted where trips end."""

    def counted(self, kind):
        return AllCounted(np.full(40, 100.0), 1.0, 0.0) if kind == "alightings" else None


def test_what_may_be_off_by_all_of_it_is_not_said_to_be_better_than_nothing():
    """Replicas showed 58 %, and it may be off by 1.4 times that: said to be better than nothing, it was off by 93 %."""
    one, sure = (give_verdict("boardings", 9, 100.0, 0.58, 9.0, sure=True, worst=each) for each in (1.4, 1.0))
    assert (one.says_more, sure.says_more) == (False, True)
    assert give_verdict("total", 1, 100.0, 0.58, None, sure=True, worst=1.4).says_more


def test_who_goes_where_is_rougher_than_a_replica_shows():
    """Weave said of journeys that they were off by 88 %, and better than nothing; they were off by 102 %."""
    raw = simulate_habit(RING, 3_000, seed=1)
    made = make_release(raw, Weave(), epsilon=2, unit=Trip(), bits=SeededBits(1), seed=1)
    true, again = (tally("journeys", each) for each in (made.trips, made.accuracy.again))
    told = judge(made).of("journeys")
    assert told.error == pytest.approx(1.1 * distance(true, again) / true.values.sum())


def test_a_bought_number_is_off_by_the_mean_of_its_own_noise():
    """Laplace noise is off by a third of its 95 % on average, not by two fifths as normal noise is."""
    raw = simulate_habit(RING, 3_000, seed=2)
    made = make_release(raw, NoisyPrefixTree(), epsilon=1, unit=Trip(), bits=SeededBits(1), seed=1)
    half = next(each["error_95"] for each in made.datasheet["spends"] if each["label"] == "number of trips")
    known = paid_size(made)
    assert known.noise["total"] * known.size.trips == pytest.approx((half + 1) / np.log(20))


def test_classes_of_lengths_are_off_together_where_all_trips_are_longer():
    """A release made again had the same lengths by luck, and 2 % was said where trips were 3 % longer: 6 % off."""
    rng = np.random.default_rng(8)
    kilometres = rng.lognormal(1.5, 0.5, 60_000)
    shown, true = (
        np.bincount((each // 2).astype(int), minlength=30) for each in (kilometres, 1.03 * kilometres)
    )
    told = blur_classes(shown.astype(float), np.arange(30), 0.03)
    assert np.abs(true - shown).sum() == pytest.approx(told.sum(), rel=0.15)
    assert np.abs(true - shown)[:5] == pytest.approx(told[:5], abs=0.005 * 60_000)


def test_one_lucky_or_unlucky_draw_does_not_say_how_far_off_all_numbers_are_together():
    """One release made again had 3.6 % fewer visits and the next as many: 7 of 50 stops were useful, or 46."""
    cells, true = np.arange(400), np.full(400, 1_000.0)
    drawn = find_even_bands(Tally(cells, true), Tally(cells, 0.96 * true), 0.015)
    assert drawn.together == pytest.approx(np.sqrt((0.04**2 + 3 * 0.015**2) / 4))
    assert find_even_bands(Tally(cells, true), Tally(cells, true), 0.015).together == 0.015
