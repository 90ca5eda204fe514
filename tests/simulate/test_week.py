import numpy as np
import pytest

from ring_networks import ring_of_stops
from wayveil.errors import ParameterError
from wayveil.simulate.week import simulate_week
from wayveil.world.timebins import TimeBins

NETWORK = ring_of_stops(30, seconds=120, skip=3)
WEEK = simulate_week(NETWORK, 20_000, seed=4)


def test_the_same_arguments_give_the_same_week_and_another_seed_gives_another():
    again = simulate_week(NETWORK, 20_000, seed=4)
    assert np.array_equal(again.location, WEEK.location)
    assert np.array_equal(again.time, WEEK.time)
    assert not np.array_equal(simulate_week(NETWORK, 20_000, seed=5).location[:1000], WEEK.location[:1000])


@pytest.mark.parametrize("mean", [2, 3.2, 4.7, 8])
def test_riders_tap_as_often_as_asked_and_nobody_never(mean):
    trips = simulate_week(NETWORK, 20_000, seed=1, mean_visits=mean)
    assert len(trips) == 20_000
    assert trips.lengths.mean() == pytest.approx(mean, abs=0.1)
    assert trips.lengths.min() >= 1


def test_times_run_forward_within_one_week():
    inner = np.setdiff1d(np.arange(WEEK.visits), WEEK.offsets[:-1])
    assert (WEEK.time[inner] >= WEEK.time[inner - 1]).all()
    assert np.ptp(WEEK.time) < 7 * 86_400


def test_days_have_two_peaks_and_the_weekend_is_quieter():
    trips = simulate_week(NETWORK, 20_000, seed=1, mean_visits=6)
    by_hour = np.bincount(TimeBins.hour_of_day().bin_of(trips.time), minlength=24)
    assert by_hour[7:9].min() > 1.5 * by_hour[11:13].max()
    assert by_hour[16:18].min() > 1.5 * by_hour[11:13].max()
    by_day = np.bincount(TimeBins.hour_of_week().bin_of(trips.time) // 24, minlength=7)
    assert by_day[:5].min() > 1.5 * by_day[5:].max()


def test_habits_make_paths_repeat_far_more_often_than_chance():
    pairs = WEEK.location[WEEK.offsets[:-1]] * 30 + WEEK.location[WEEK.offsets[1:] - 1]
    shuffled = np.random.default_rng(0).permutation(WEEK.location)
    chance = shuffled[WEEK.offsets[:-1]] * 30 + shuffled[WEEK.offsets[1:] - 1]
    assert (
        np.sort(np.bincount(pairs, minlength=900))[-50:].sum()
        > 1.2 * np.sort(np.bincount(chance, minlength=900))[-50:].sum()
    )


@pytest.mark.parametrize("wrong", [{"riders": 0}, {"riders": 5, "mean_visits": 1}])
def test_meaningless_weeks_are_refused(wrong):
    with pytest.raises(ParameterError):
        simulate_week(NETWORK, seed=0, **wrong)


def test_the_busiest_rider_taps_as_often_as_asked_all_week_and_the_others_hardly_change():
    week = simulate_week(NETWORK, 20_000, seed=4, busiest=121)
    assert week.lengths.max() == pytest.approx(121, abs=2)
    assert week.lengths.mean() == pytest.approx(WEEK.lengths.mean(), abs=0.1)
    # The study's table 3: after 35 of 168 hours the busiest has 21 taps of 121.
    first = TimeBins.hour_of_week().bin_of(week.time) < 35
    taps = np.bincount(week.trip_of_visit()[first])
    assert 10 < taps.max() < 45
