"""Slow, obviously right noise to compare with, and tests of fit that have power.

The samplers follow Canonne, Kamath and Steinke ("The Discrete Gaussian for Differential Privacy", 2020): only uniform
integers and rational comparisons, one draw at a time.
"""

import random
from fractions import Fraction
from itertools import accumulate

import mpmath
import numpy as np
from scipy.stats import chi2

ALPHA = 1e-6  # a right sampler fails a test of fit once in a million seeds


def bernoulli_exp(rate: Fraction, rng: random.Random) -> bool:
    """True with probability exp(-rate)."""
    while rate > 1:
        if not bernoulli_exp(Fraction(1), rng):
            return False
        rate -= 1
    k = 1
    while rng.randrange(rate.denominator * k) < rate.numerator:
        k += 1
    return k % 2 == 1


def laplace(scale: Fraction, rng: random.Random) -> int:
    t, s = scale.numerator, scale.denominator
    while True:
        u = rng.randrange(t)
        if not bernoulli_exp(Fraction(u, t), rng):
            continue
        v = 0
        while bernoulli_exp(Fraction(1), rng):
            v += 1
        magnitude, negative = (u + t * v) // s, rng.random() < 0.5
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def gaussian(variance: Fraction, rng: random.Random) -> int:
    t = int(mpmath.floor(mpmath.sqrt(variance.numerator / variance.denominator))) + 1
    while True:
        y = laplace(Fraction(t), rng)
        if bernoulli_exp((abs(y) - variance / t) ** 2 / (2 * variance), rng):
            return y


def mp(value) -> mpmath.mpf:
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def survivals_of(weights: list) -> list:
    """P(X >= m) for m = 1, 2, ... from weights of 0, 1, 2, ... that need not sum to one."""
    sums = list(accumulate(reversed(weights)))
    return [rest / sums[-1] for rest in reversed(sums[:-1])]


def laplace_survivals(scale, count: int) -> list:
    """P(|X| >= m) for m = 1 .. count, X discrete Laplace, by summing masses in mpmath."""
    masses = [mpmath.exp(-mp(k) / mp(scale)) * (2 if k else 1) for k in range(int(300 * scale) + 10)]
    return survivals_of(masses)[:count]


def gaussian_survivals(variance, count: int, sides: int = 2) -> list:
    """P(X >= m) for m = 1 .. count, X the folded (or, with one side, the halved) discrete Gaussian."""
    reach = int(25 * mpmath.sqrt(mp(variance))) + 5
    masses = [mpmath.exp(-mp(k * k) / (2 * mp(variance))) * (sides if k else 1) for k in range(reach)]
    return survivals_of(masses)[:count]


def laplace_mass(k: np.ndarray, scale: float) -> np.ndarray:
    """P(X = k) for discrete Laplace."""
    a = np.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** np.abs(k)


def gaussian_mass(k: np.ndarray, variance: float) -> np.ndarray:
    """P(X = k) for the discrete Gaussian."""
    reach = np.arange(-int(20 * variance**0.5) - 20, int(20 * variance**0.5) + 21)
    return np.exp(-(k**2) / (2 * variance)) / np.exp(-(reach**2) / (2 * variance)).sum()


def geometric_mass(k: np.ndarray, scale: float) -> np.ndarray:
    """P(G = k) for the geometric law of ratio exp(-1/scale)."""
    a = np.exp(-1 / scale)
    return np.where(k >= 0, (1 - a) * a ** np.maximum(k, 0), 0.0)


def fit(draws: np.ndarray, mass, parameter: float, least: float = 20) -> float:
    """The p-value of chi-square for integer draws against a law; values expected under `least` times are one bin."""
    low, high = int(draws.min()), int(draws.max())
    support = np.arange(low, high + 1)
    expected = mass(support, parameter) * len(draws)
    counts = np.bincount(draws - low)
    common = expected >= least
    return goodness(
        np.append(counts[common], counts[~common].sum()),
        np.append(expected[common], len(draws) - expected[common].sum()),
    )


def goodness(counts: np.ndarray, expected: np.ndarray) -> float:
    """The p-value of chi-square for counts whose expectation is fully known."""
    if np.any((expected < 1e-9) & (counts > 0)):
        return 0.0
    used = expected >= 1e-9
    if used.sum() == 1:
        return 1.0
    statistic = ((counts[used] - expected[used]) ** 2 / expected[used]).sum()
    return float(chi2.sf(statistic, used.sum() - 1))


def same_law(one: np.ndarray, other: np.ndarray, least: int = 20) -> float:
    """The p-value of the two-sample chi-square for integer draws; rare values are one bin."""
    low = min(one.min(), other.min())
    length = int(max(one.max(), other.max()) - low + 1)
    table = np.stack([np.bincount(x - low, minlength=length) for x in (one, other)])
    common = table.sum(0) >= least
    table = np.column_stack([table[:, common], table[:, ~common].sum(1)])
    return independence(table[:, table.sum(0) > 0])


def independence(table: np.ndarray) -> float:
    """The p-value of chi-square for independence of rows and columns."""
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    statistic = ((table - expected) ** 2 / expected).sum()
    return float(chi2.sf(statistic, (table.shape[0] - 1) * (table.shape[1] - 1)))


class ListedBits:
    """Bits that hand out a given list of words, and refuse to go on when it ends."""

    private = False

    def __init__(self, words: list[int]) -> None:
        self._words = np.array(words, np.uint64)
        self.used = 0

    def words(self, count: int) -> np.ndarray:
        if self.used + count > len(self._words):
            raise OutOfWordsError
        self.used += count
        return self._words[self.used - count : self.used].copy()


class OutOfWordsError(Exception):
    """A draw needs more words than were listed."""
