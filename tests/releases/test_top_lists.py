"""Lists that are sorted by their numbers hold at their top what they hold over all cells."""

from dataclasses import replace

import numpy as np
import pytest

from ring_networks import ring_of_stops
from wayveil.accuracy.numbers import Numbers, judge_numbers
from wayveil.accuracy.posterior import best_guess, find_posterior
from wayveil.accuracy.ranks import rank_ranges, say_rank
from wayveil.answers.trends import _adjust
from wayveil.errors import RefusedError
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Event
from wayveil.run import make_release
from wayveil.synthesis.estimates import Estimate
from wayveil.synthesis.noise_sums import half_width
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips

RNG = np.random.default_rng(5)


def laws(true, scale):
    return np.full(len(true), 2 * scale**2), np.full(len(true), 12 * scale**4)


@pytest.mark.parametrize("kind", ["mostly empty", "uneven"])
def test_intervals_hold_at_the_top_of_a_list_as_they_do_over_all_cells(kind):
    """By the law of the noise alone, 0 of the top 3 and 16 of the top 20 held where 97 % of all cells did."""
    top, everywhere, by_law = [], [], []
    for _ in range(30):
        true = RNG.exponential(60, 1_200) * (RNG.random(1_200) < 0.03)
        true = np.floor(true if kind == "mostly empty" else RNG.lognormal(3, 1.5, 1_200))
        noisy = np.rint(true + RNG.laplace(0, 30, 1_200))
        law = laws(true, 30.0)
        found = find_posterior(noisy, *law)
        inside = (found.low <= true) & (true <= found.high)
        order, half = np.argsort(-noisy)[:20], half_width(*law)
        top.append(inside[order].mean())
        everywhere.append(inside.mean())
        by_law.append((np.abs(noisy - true) <= half)[order].mean())
    assert 0.92 <= np.mean(top) <= 0.995
    assert 0.92 <= np.mean(everywhere) <= 0.995
    if kind == "mostly empty":
        assert np.mean(by_law) < 0.85


@pytest.mark.parametrize("scale", [4.0, 12.0, 30.0])
def test_a_list_adds_up_and_its_busiest_are_as_they_were_counted(scale):
    rng, rows = np.random.default_rng(7), []
    for _ in range(6):
        true = np.floor(rng.lognormal(1, 1.5, 1_500))
        noisy = np.rint(true + rng.laplace(0, scale, 1_500))
        variance, fourth = laws(true, scale)
        shown = best_guess(Estimate.within(noisy, half_width(variance, fourth), variance, fourth))
        cut, top = np.maximum(noisy, 0), noisy > 3 * scale
        # Where noise is half as large as the busiest cells, the largest counts are mostly luck.
        assert scale == 30 or (shown.values[top] == noisy[top]).all()
        assert (shown.values >= 0).all()
        assert ((shown.low <= shown.values) & (shown.values <= shown.high)).all()
        off = [np.abs(each - true).sum() / true.sum() for each in (shown.values, cut)]
        rows.append([shown.values.sum() / true.sum() - 1, cut.sum() / true.sum() - 1, *off])
    adds_up, cut_adds_up, off, cut_off = np.mean(rows, axis=0)
    assert abs(adds_up) < 0.2 * cut_adds_up
    assert off < 0.98 * cut_off


def test_small_numbers_are_told_apart_however_far_noise_reaches():
    """Steps of the grid were as wide as noise allowed: a stop of 8 in the top rows was said to have 15 at least."""
    rng, held = np.random.default_rng(5), []
    for _ in range(20):
        true = np.concatenate([rng.integers(1, 15, 300), np.round(rng.lognormal(6, 1, 100))]).astype(float)
        noisy = np.rint(true + rng.laplace(0, 85, 400))
        found = find_posterior(noisy, *laws(true, 85.0))
        inside = (np.floor(found.low) <= true) & (true <= np.ceil(found.high))
        held.append(inside[:300][np.argsort(-noisy[:300])[:20]].mean())
    assert np.mean(held) >= 0.97  # 94.5 % before


def test_a_count_that_noise_would_reach_somewhere_is_taken_for_noise():
    noisy = np.concatenate([RNG.laplace(0, 100, 5_000), [900.0]])
    found = find_posterior(np.rint(noisy), *laws(noisy, 100.0))
    assert found.low[-1] == 0
    assert found.mean[-1] < 450
    few = find_posterior(np.rint(noisy[-3:]), *laws(noisy[-3:], 100.0))
    assert few is None  # so few cells tell no law of their own


def test_ranks_have_the_range_that_noise_leaves_them():
    values = np.array([1_000.0, 500.0, 30.0, 28.0, 25.0, 20.0])
    best, worst = rank_ranges(values, values - 20, values + 20)
    assert (best[:2].tolist(), worst[:2].tolist()) == ([1, 2], [1, 2])
    assert (best[2:] <= 4).all()
    assert (worst[2:] >= 5).all()
    assert [say_rank(1, 1), say_rank(3, 12), say_rank(22, 111)] == ["1st", "3rd to 12th", "22nd to 111th"]


def test_where_nothing_can_be_ranked_no_list_is_shown():
    ring = ring_of_stops(60, seconds=60)
    flat = Trips(
        RNG.integers(0, 60, 600).astype(np.int32),
        np.arange(601),
        ring,
        np.full(600, 8 * 3600),
        history=AS_READ,
    )
    one = make_release(flat, TapCounts(), epsilon="0.1", unit=Event(), bits=SeededBits(1))
    with pytest.raises(RefusedError):
        one.ask("most-used")
    uneven = np.repeat(np.arange(60), np.where(np.arange(60) < 5, 800, 20)).astype(np.int32)
    busy = replace(
        flat, location=uneven, offsets=np.arange(len(uneven) + 1), time=np.full(len(uneven), 8 * 3600)
    )
    told = make_release(busy, TapCounts(), epsilon=1, unit=Event(), bits=SeededBits(1)).ask("most-used")
    assert set(told.table["stop_id"].to_list()[:5]) == set(ring.ids[:5].tolist())
    assert (told.table["worst_rank"].to_list()[:5] <= np.full(5, 5)).all()
    words = judge_numbers(one, Numbers("", np.ones(60), "stops", np.arange(60)), anyway=True).words
    assert "largest is not known" in words


def test_changes_that_are_named_have_wider_intervals_than_those_that_are_not():
    change = np.array([100.0, *np.zeros(99)])
    low, high = _adjust(change, change - 10, change + 10, ["more", *["same"] * 99])
    assert high[0] - low[0] > 40  # one of a hundred: as if each had 99.95 %
    assert high[1] - low[1] == 20
