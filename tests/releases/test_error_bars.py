"""Bars of sums of Laplace noise hold what they say."""

import numpy as np
import pytest

from wayveil.synthesis.cell_counts import hour_of_bins
from wayveil.synthesis.noise_sums import half_width
from wayveil.world.timebins import TimeBins

B = 10_000.0


def exact_half(scales):
    """The 95 % point of |sum|, from the characteristic function of the sum (Gil-Pelaez, by bisection)."""
    t = (np.arange(40_000) + 0.5) * 2e-3
    damped = np.prod([1 / (1 + (s * t) ** 2) for s in scales], axis=0) / t

    def inside(x):
        return 2 / np.pi * np.sum(damped * np.sin(t * x)) * 2e-3

    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) < 0.95 else (low, middle)
    return low


@pytest.mark.parametrize("scales", [[1.0], [1.0, 1.0], [1.0, 3.0], [1.0] * 5, [2.0] * 40])
def test_half_widths_are_those_of_the_exact_law_and_not_below(scales):
    scales = np.array(scales)
    half = half_width(np.array([2 * B**2 * (scales**2).sum()]), np.array([12 * B**4 * (scales**4).sum()]))[0]
    assert 0.998 <= half / B / exact_half(scales) <= 1.03


def test_without_tails_the_longest_are_taken_and_nothing_has_no_width():
    one = half_width(np.array([2 * B**2]))
    assert one == half_width(np.array([2 * B**2]), np.array([12 * B**4]))
    assert half_width(np.zeros(1), np.zeros(1)) == 0


def test_bars_are_whole_numbers():
    half = half_width(np.array([0.18, 2.0]), np.array([0.0972, 12.0]))
    assert half.tolist() == [1, 4]


def test_time_bins_within_an_hour_tell_the_hour_and_longer_ones_do_not():
    hours = hour_of_bins(TimeBins.hour_of_week())
    assert len(hours) == 168
    assert set(hours.tolist()) == set(range(24))
    assert hour_of_bins(TimeBins.every(1_800))[17] == 8
    assert hour_of_bins(TimeBins.every(7_200)) is None
