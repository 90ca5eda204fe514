"""The law of rounded Gaussian noise: enumerated, drawn, and held against laws that are a tenth off."""

from fractions import Fraction
from math import erf, sqrt

import numpy as np
import pytest
from scipy.stats import chi2

from wayveil.errors import ParameterError
from wayveil.privacy import rounded
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.laws import RoundedGaussian
from wayveil.privacy.noise import table_of
from wayveil.privacy.rounded import rounded_gaussian


def cdf(x, deviation):
    return 0.5 * (1 + erf(x / (deviation * sqrt(2))))


@pytest.mark.parametrize("deviation", [Fraction(4), Fraction(13, 3), Fraction(40), Fraction(300)])
def test_the_table_is_the_law_of_a_rounded_gaussian(deviation):
    entries = table_of(RoundedGaussian(deviation)).entries / 2.0**63
    expected = [
        1 - (cdf(m - 0.5, float(deviation)) - cdf(0.5 - m, float(deviation)))
        for m in range(1, len(entries) + 1)
    ]
    assert np.abs(entries - expected).max() < 1e-14
    assert len(entries) > 8 * deviation


def p_value(draws, deviation, bins):
    """Chi-square over equal-probability bins of the rounded law."""
    edges = (
        np.unique(np.round(np.quantile(np.random.default_rng(0).normal(0, deviation, 200_000), bins))) + 0.5
    )
    low = np.concatenate([[-np.inf], edges])
    high = np.concatenate([edges, [np.inf]])
    expected = np.array(
        [cdf(b, deviation) - cdf(a, deviation) for a, b in zip(low, high, strict=True)]
    ) * len(draws)
    seen = np.bincount(np.searchsorted(edges, draws), minlength=len(expected))
    return chi2.sf(((seen - expected) ** 2 / expected).sum(), len(expected) - 1)


@pytest.mark.parametrize(
    "deviation", [Fraction(9, 2), Fraction(200), Fraction(3001, 2), Fraction(13 << 20, 10)]
)
def test_draws_fit_their_law_and_not_one_that_is_a_tenth_off(deviation):
    draws = rounded_gaussian(200_000, deviation, SeededBits(11))
    bins = np.linspace(0.02, 0.98, 40)
    assert p_value(draws, float(deviation), bins) > 1e-4
    assert p_value(draws, float(deviation) * 0.9, bins) < 1e-9
    assert p_value(draws, float(deviation) * 1.1, bins) < 1e-9


def test_two_steps_have_the_law_of_one():
    """Many coarse cells of few fine ones each: every fine digit is equally exact."""
    draws = rounded._in_two_steps(400_000, Fraction(48), 3, SeededBits(3))
    values = np.arange(-120, 121)
    expected = np.array([cdf(k + 0.5, 48) - cdf(k - 0.5, 48) for k in values]) * len(draws)
    seen = np.bincount(draws[np.abs(draws) <= 120] + 120, minlength=241)
    assert chi2.sf(((seen - expected) ** 2 / expected).sum(), len(values) - 1) > 1e-4


def test_open_decisions_are_settled_with_further_digits():
    coarse, twice = Fraction(3), Fraction(18)
    # exp(-(2Ht + t^2 + |H|) / 18) at H = 2 and t = -1/2 + 2^-25: about .98; coins far from it are plain.
    place = 0
    for coin, verdict in ((0, rounded._KEPT), ((1 << 40) - 1, rounded._REJECTED)):
        assert rounded._resolve(2, place << 40 | coin, twice, SeededBits(1)) == verdict
    assert coarse**2 * 2 == twice


def test_impossible_deviations_are_refused():
    with pytest.raises(ParameterError):
        rounded_gaussian(1, Fraction(1))
    with pytest.raises(ParameterError):
        rounded_gaussian(1, Fraction(1 << 40))
