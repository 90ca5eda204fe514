"""The laws of a million draws, by tests that also reject a scale that is off by a tenth."""

import random
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest

from privacy import reference_noise as reference
from privacy.reference_noise import (
    ALPHA,
    fit,
    gaussian_mass,
    geometric_mass,
    goodness,
    independence,
    laplace_mass,
    same_law,
)
from wayveil.errors import ParameterError
from wayveil.privacy import noise
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.laws import Exp
from wayveil.privacy.noise import (
    MAX_SCALE,
    MAX_VARIANCE,
    NoiseOverflowError,
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    geometric_of_ratio,
    laplace_interval,
    rational,
)

F = Fraction
MILLION = 1_000_000


@pytest.mark.parametrize("scale", [F(1, 2), F(3, 2), F(20), F(256), F(1000)], ids=str)
def test_laplace_draws_have_the_right_scale_and_not_nine_or_eleven_tenths_of_it(scale):
    draws = discrete_laplace(MILLION, scale, SeededBits(1))
    assert fit(draws, laplace_mass, float(scale)) > ALPHA
    for wrong in (0.9, 1.1):
        assert fit(draws, laplace_mass, wrong * float(scale)) < ALPHA
        assert (
            fit(discrete_laplace(MILLION, scale * F(wrong), SeededBits(2)), laplace_mass, float(scale))
            < ALPHA
        )


@pytest.mark.parametrize("variance", [F(1, 2), F(7, 3), F(400), F(65_536), F(70_001, 1), F(10**6)], ids=str)
def test_gaussian_draws_have_the_right_deviation_and_not_nine_or_eleven_tenths_of_it(variance):
    draws = discrete_gaussian(MILLION, variance, SeededBits(3))
    assert fit(draws, gaussian_mass, float(variance)) > ALPHA
    for wrong in (0.9, 1.1):
        assert fit(draws, gaussian_mass, wrong**2 * float(variance)) < ALPHA
        off = discrete_gaussian(MILLION, variance * F(wrong) ** 2, SeededBits(4))
        assert fit(off, gaussian_mass, float(variance)) < ALPHA


def test_secure_draws_have_the_same_law():
    assert fit(discrete_laplace(MILLION, 20), laplace_mass, 20) > ALPHA / 1000
    assert fit(discrete_gaussian(MILLION, 400), gaussian_mass, 400) > ALPHA / 1000


@pytest.mark.parametrize("scale", [10**6, 10**12, MAX_SCALE], ids=str)
def test_large_scales_are_right_in_the_large_and_in_their_last_digits(scale):
    draws = discrete_laplace(MILLION, scale, SeededBits(5))

    def shares_by_rank(scale):
        # Where the quantiles of the continuous law lie; the discrete one differs by less than 1e-6 of a bin.
        edges = np.linspace(0, 1, 101)[1:-1]
        quantiles = np.sign(edges - 0.5) * -scale * np.log1p(-2 * np.abs(edges - 0.5))
        return np.bincount(np.searchsorted(quantiles, draws), minlength=100)

    even = np.full(100, MILLION / 100)
    assert goodness(shares_by_rank(scale), even) > ALPHA
    assert goodness(shares_by_rank(0.9 * scale), even) < ALPHA
    assert goodness(shares_by_rank(1.1 * scale), even) < ALPHA
    for modulus in (7, 1024, 1000):
        assert goodness(np.bincount(draws % modulus), np.full(modulus, MILLION / modulus)) > ALPHA


def test_very_large_gaussians_are_right_in_the_large_and_in_their_last_digits():
    from scipy.stats import norm

    draws = discrete_gaussian(300_000, MAX_VARIANCE, SeededBits(6))
    even = np.full(100, 3_000)
    for factor, right in ((1, True), (0.9, False), (1.1, False)):
        ranks = np.minimum(norm.cdf(draws / (factor * 2.0**30)) * 100, 99).astype(int)
        assert (goodness(np.bincount(ranks, minlength=100), even) > ALPHA) == right
    for modulus in (7, 1000):
        assert goodness(np.bincount(draws % modulus), np.full(modulus, 300_000 / modulus)) > ALPHA


def test_very_small_scales_give_hardly_any_noise():
    assert not discrete_laplace(100_000, F(1, 50)).any()
    assert not discrete_gaussian(100_000, F(1, 200)).any()
    some = discrete_laplace(MILLION, F(1, 8), SeededBits(7))
    assert fit(some, laplace_mass, 1 / 8) > ALPHA
    assert np.any(some == 1)
    assert np.any(some == -1)


def test_draws_next_to_each_other_are_independent():
    for draws in (discrete_laplace(MILLION, 2, SeededBits(8)), discrete_gaussian(MILLION, 5, SeededBits(8))):
        clipped = np.clip(draws, -5, 5) + 5
        pairs = np.bincount(clipped[:-1] * 11 + clipped[1:], minlength=121).reshape(11, 11)
        assert independence(pairs) > ALPHA
        # The test sees a word that is used for two draws.
        doubled = np.repeat(clipped[: MILLION // 50], 2)
        pairs = np.bincount(doubled[:-1] * 11 + doubled[1:], minlength=121).reshape(11, 11)
        assert independence(pairs) < ALPHA


@pytest.mark.parametrize("scale", [F(1, 3), F(20), F(300), F(10**5)], ids=str)
def test_geometric_draws_have_the_right_ratio(scale):
    draws = geometric(MILLION, scale, SeededBits(9))
    assert draws.min() >= 0
    assert (
        fit(draws // max(1, int(scale) // 100), geometric_mass, float(scale) / max(1, int(scale) // 100))
        > ALPHA
    )
    assert (
        fit(
            draws // max(1, int(scale) // 100), geometric_mass, float(scale) / max(1, int(scale) // 100) * 1.1
        )
        < ALPHA
    )


@pytest.mark.parametrize("most", [1, 5, 100, 1024, 5000, 2_000_000])
def test_saturated_draws_are_exact_below_the_bound(most):
    draws = geometric_of_ratio(200_000, Exp(F(1, 3000)), SeededBits(10), saturate=most)
    below = np.minimum(draws, most)
    step = max(1, most // 50)
    edges = np.arange(0, min(most, 20_000), step)
    shares = np.exp(-edges / 3000) - np.exp(-np.minimum(edges + step, most) / 3000)
    counts = np.bincount(below[below < edges[-1] + step] // step, minlength=len(edges))[: len(edges)]
    if edges[-1] + step > most:
        counts[-1] = np.count_nonzero((below >= edges[-1]) & (below < most))
    rest = 200_000 - counts.sum()
    assert goodness(np.append(counts, rest), np.append(shares, 1 - shares.sum()) * 200_000) > ALPHA


def test_coins_fall_with_their_probability():
    assert not bernoulli(MILLION, F(0)).any()
    assert bernoulli(MILLION, F(1)).all()
    for p in (F(1, 3), F(1, 2), F(999, 1000)):
        heads = bernoulli(MILLION, p, SeededBits(11)).sum()
        assert (
            goodness(np.array([heads, MILLION - heads]), np.array([float(p), 1 - float(p)]) * MILLION) > ALPHA
        )
    numerators = np.repeat([0, 1, 5, 130, 700, 12_345], 100_000)
    heads = bernoulli_exp(numerators, 500, SeededBits(12)).reshape(6, -1).sum(1)
    for n, count in zip([0, 1, 5, 130, 700, 12_345], heads, strict=True):
        p = np.exp(-n / 500)
        assert goodness(np.array([count, 100_000 - count]), np.array([p, 1 - p]) * 100_000) > ALPHA


@pytest.mark.parametrize("scale", [2.0, 20.0])
def test_opendp_draws_laplace_noise_of_the_same_law(scale):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale=scale)([0] * 100_000))
    assert same_law(discrete_laplace(MILLION, F(scale), SeededBits(13)), theirs) > ALPHA
    assert same_law(discrete_laplace(MILLION, F(scale) * F(11, 10), SeededBits(13)), theirs) < ALPHA


def test_opendp_draws_gaussian_noise_of_the_same_law():
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    theirs = np.array(dp.m.make_gaussian(*space, scale=5.0)([0] * 60_000))
    assert same_law(discrete_gaussian(MILLION, 25, SeededBits(14)), theirs) > ALPHA
    assert same_law(discrete_gaussian(MILLION, 31, SeededBits(14)), theirs) < ALPHA


def test_the_slow_reference_draws_the_same_laws():
    rng = random.Random(15)
    theirs = np.array([reference.laplace(F(7, 2), rng) for _ in range(20_000)])
    assert same_law(discrete_laplace(MILLION, F(7, 2), SeededBits(15)), theirs) > ALPHA
    assert same_law(discrete_laplace(MILLION, F(9, 2), SeededBits(15)), theirs) < ALPHA
    theirs = np.array([reference.gaussian(F(6), rng) for _ in range(10_000)])
    assert same_law(discrete_gaussian(MILLION, F(6), SeededBits(16)), theirs) > ALPHA
    assert same_law(discrete_gaussian(MILLION, F(8), SeededBits(16)), theirs) < ALPHA


@pytest.mark.parametrize("scale", [0.5, 1, 20, 1000])
@pytest.mark.parametrize("confidence", [0, 0.3, 0.5, 0.95, 0.999])
def test_an_interval_is_the_narrowest_that_holds_the_noise(scale, confidence):
    half = laplace_interval(scale, confidence)
    inside = laplace_mass(np.arange(-half, half + 1), scale).sum()
    assert inside >= confidence - 1e-9
    assert half == 0 or inside - 2 * laplace_mass(np.array([half]), scale)[0] < confidence


def test_scales_are_rounded_up_to_rationals():
    assert rational(F(1, 3), 10) == F(1, 3)
    assert rational(np.int64(7), 10) == 7
    assert F(1, 10) < rational(0.1, 10) < F(1, 10) + F(1, 2**50)
    assert rational(1 / 3, 10) > F(1, 3)


@pytest.mark.parametrize("scale", [0, -1, F(-1, 2), 0.0, -0.5, float("nan"), -float("inf"), "20", None])
def test_a_scale_without_meaning_is_refused(scale):
    for draw in (discrete_laplace, discrete_gaussian, geometric):
        with pytest.raises(ParameterError, match="noise"):
            draw(1, scale)


def test_noise_that_does_not_fit_64_bits_is_refused():
    with pytest.raises(NoiseOverflowError, match="does not fit 64-bit"):
        discrete_laplace(1, MAX_SCALE + 1)
    with pytest.raises(NoiseOverflowError, match="inf"):
        discrete_laplace(1, float("inf"))
    with pytest.raises(NoiseOverflowError, match="variance"):
        discrete_gaussian(1, MAX_VARIANCE + 1)
    assert np.abs(discrete_laplace(10_000, MAX_SCALE)).max() < 1 << 60


def test_a_draw_too_large_for_64_bits_is_an_error_and_never_wraps(monkeypatch):
    monkeypatch.setattr(noise, "_LIMIT", 1 << 20)
    with pytest.raises(NoiseOverflowError, match="geometric"):
        discrete_laplace(1000, 10**6)
    assert geometric_of_ratio(1000, Exp(F(1, 10**6)), saturate=100).min() >= 0


def test_other_parameters_without_meaning_are_refused():
    with pytest.raises(ParameterError, match="probability"):
        bernoulli(1, F(3, 2))
    with pytest.raises(ParameterError, match="exp"):
        bernoulli_exp(np.array([-1]), 2)
    with pytest.raises(ParameterError, match="confidence"):
        laplace_interval(2, 1)


def test_no_draws_are_an_empty_array():
    for draw in (discrete_laplace, discrete_gaussian, geometric):
        for scale in (2, 10**8):
            assert draw(0, scale).shape == (0,)
            assert draw(0, scale).dtype == np.int64


def test_large_scales_choose_their_sign_by_the_exact_law(monkeypatch):
    monkeypatch.setattr(noise, "_DIRECT_SCALE", 2)  # the way of large scales, where its coin is far from fair
    draws, scale = discrete_laplace(200_000, 3, SeededBits("signs")), 3
    a = np.exp(-1 / scale)
    assert np.mean(draws < 0) == pytest.approx(a / (1 + a), abs=0.006)
    assert np.mean(draws == 0) == pytest.approx((1 - a) / (1 + a), abs=0.006)
