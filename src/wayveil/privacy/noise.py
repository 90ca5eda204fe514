"""Integer noise with exactly the law it claims, given ideal bits.

Counts are integers and so is their noise: no floating-point number lies between the random words and the
result. Scales are rationals. A float is taken as the next float above it, since it may be a quotient that was
rounded down; so noise is never smaller than what was asked for.

All functions return int64 arrays and take `bits=None` for the secure source of the process. What they cost in
privacy is booked by the gate; nothing here looks at data.
"""

import math
import numbers
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError, WayveilError
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.privacy.laws import (
    Coin,
    Exp,
    Gaussian,
    Geometric,
    GeometricDigit,
    GeometricRatio,
    LaplaceMagnitude,
    Negative,
    Probability,
    Rational,
)
from wayveil.privacy.lazy_inversion import table_of

# Laws up to these scales are drawn from one table; wider ones are put together from digits, so that memory
# and the time to make tables stay bounded.
_DIRECT_SCALE = 256
_DIRECT_VARIANCE = 1 << 16
_BASE = 1024

MAX_SCALE = 1 << 52
MAX_VARIANCE = 1 << 60
_LIMIT = 1 << 62

Scale = Fraction | int | float


class NoiseOverflowError(WayveilError):
    """The noise asked for does not fit 64-bit integers."""


def discrete_laplace(size: int, scale: Scale, bits: Bits | None = None) -> NDArray[np.int64]:
    """P(X = k) = (1-a)/(1+a) a^|k| with a = exp(-1/scale).

    Added to an integer vector of L1 sensitivity D, scale D/epsilon gives epsilon-differential privacy.

    Small scales: |X| by table and a fair sign. Large scales: X is G or, with probability a/(1+a), -1-G, where
    G is geometric with ratio a and independent of that choice: both sides of zero are geometric, the negative
    one starts at -1.
    """
    exact, source = rational(scale, MAX_SCALE), bits or secure_bits()
    if exact <= _DIRECT_SCALE:
        return table_of(LaplaceMagnitude(exact)).draw(size, source, signed=True)
    draws = geometric(size, exact, source)
    draws ^= -table_of(Coin(Negative(exact))).draw(size, source)  # k ^ -1 is -1-k, k ^ 0 is k
    return draws


def geometric(size: int, scale: Scale, bits: Bits | None = None) -> NDArray[np.int64]:
    """P(G = k) = (1-a) a^k for k >= 0 with a = exp(-1/scale)."""
    return geometric_of_ratio(size, Exp(1 / rational(scale, MAX_SCALE)), bits)


def geometric_of_ratio(
    size: int, ratio: GeometricRatio, bits: Bits | None = None, *, saturate: int | None = None
) -> NDArray[np.int64]:
    """P(G = k) = (1-r) r^k for k >= 0.

    The digits of G in any base are independent (see `GeometricDigit`). They are split off until the rest has
    a short table. With `saturate`, only min(G, saturate) is exact: a larger G comes back as some number >=
    saturate, and at most log(saturate) digits are drawn, however close the ratio is to one.
    """
    source = bits or secure_bits()
    digits: list[GeometricDigit] = []
    place = 1
    while _is_long(ratio) and (saturate is None or place < saturate):
        digits.append(GeometricDigit(ratio, _BASE))
        ratio, place = ratio.power(_BASE), place * _BASE
    if _is_long(ratio):
        total = table_of(Coin(ratio)).draw(size, source)
        if total.all():
            return total * place  # lower digits change nothing, and their tables may need a huge precision
    else:
        total = table_of(Geometric(ratio)).draw(size, source)
        if saturate is None and total.max(initial=0) >= _LIMIT // place:
            raise NoiseOverflowError("A geometric draw does not fit 64-bit integers; use a smaller scale.")
        np.minimum(total, _LIMIT // place, out=total)
    for digit in reversed(digits):
        total *= _BASE
        total += table_of(digit).draw(size, source)
    return total


def discrete_gaussian(size: int, variance: Scale, bits: Bits | None = None) -> NDArray[np.int64]:
    """P(X = k) proportional to exp(-k^2 / (2 variance)).

    Added to an integer vector of L2 sensitivity D, variance D^2/(2 rho) gives rho-zCDP.

    Small variances: |X| by table and a fair sign. Large variances are rounded up to an integer V, and |X| =
    hB + l is drawn by exact rejection: h with weights exp(-(hB)^2 / 2V) by table, l uniform below B, kept
    with probability exp(-l (2hB + l) / 2V). The product of the weights is exp(-(hB+l)^2 / 2V). A fair sign
    follows, and -0 is rejected, so that zero is not counted twice.
    """
    exact, source = rational(variance, MAX_VARIANCE, "variance"), bits or secure_bits()
    if exact <= _DIRECT_VARIANCE:
        return table_of(Gaussian(exact, folded=True)).draw(size, source, signed=True)
    whole = math.ceil(exact)
    block = 1 << (math.isqrt(whole).bit_length() - 6)
    coarse = table_of(Gaussian(Fraction(whole, block * block), folded=False))
    found: list[NDArray[np.int64]] = []
    missing = size
    while missing > 0:
        tries = missing + missing // 16 + 16
        high, words = coarse.draw(tries, source), source.words(tries)
        if high.max(initial=0) >= 1 << 11:  # 32 standard deviations; below, all products fit
            raise NoiseOverflowError("A Gaussian draw does not fit 64-bit integers; use a smaller variance.")
        low = (words >> np.uint64(1)).astype(np.int64) & (block - 1)
        kept = bernoulli_exp(low * (2 * block * high + low), 2 * whole, source)
        negative = (words & np.uint64(1)).astype(bool)
        magnitude = block * high + low
        kept &= ~(negative & (magnitude == 0))
        found.append(np.where(negative, -magnitude, magnitude)[kept][:missing])
        missing -= len(found[-1])
    return np.concatenate(found) if found else np.empty(0, np.int64)


def bernoulli(size: int, probability: Probability | Fraction, bits: Bits | None = None) -> NDArray[np.bool_]:
    """True with the given probability: a rational, or any real that can be enclosed."""
    if isinstance(probability, numbers.Rational):
        if not 0 <= probability <= 1:
            raise ParameterError(f"A probability lies between 0 and 1, not at {probability}.")
        probability = Rational(Fraction(probability))
    return table_of(Coin(probability)).draw(size, bits or secure_bits()).astype(bool)


def bernoulli_exp(
    numerators: NDArray[np.int64], denominator: int, bits: Bits | None = None
) -> NDArray[np.bool_]:
    """True with probability exp(-n / denominator), for every n >= 0 of `numerators`.

    exp(-n/d) is the product of exp(-2^j / d) over the binary digits 2^j of n: a coin each, all must succeed.
    """
    if numerators.min(initial=0) < 0 or denominator < 1:
        raise ParameterError("exp(-n/d) is a probability only for n >= 0 and d >= 1.")
    kept = np.ones(len(numerators), bool)
    for j in range(int(numerators.max(initial=0)).bit_length()):
        asked = np.flatnonzero(kept & (numerators >> j & 1 == 1))
        kept[asked] = bernoulli(len(asked), Exp(Fraction(1 << j, denominator)), bits)
    return kept


def laplace_interval(scale: Scale, confidence: float) -> int:
    """The smallest t with P(|X| <= t) >= confidence: a noisy count lies within t of the exact one.

    It follows from the public scale of discrete Laplace noise alone and costs nothing.
    """
    if not 0 <= confidence < 1:
        raise ParameterError(f"A confidence lies between 0 and 1 (not 1 itself), not at {confidence}.")
    b = float(rational(scale, MAX_SCALE))
    # P(|X| > t) = 2 a^(t+1) / (1 + a)
    first = b * (math.log(2 / (1 - confidence)) - math.log1p(math.exp(-1 / b)))
    return max(0, math.ceil(first) - 1)


def rational(value: Scale, most: int, name: str = "scale") -> Fraction:
    """A scale as an exact rational, floats rounded up; an error if it is not in (0, most]."""
    if not isinstance(value, numbers.Rational | float) or math.isnan(value):
        raise ParameterError(f"A noise {name} is a rational number, not {value!r}.")
    if value <= 0:
        raise ParameterError(f"A noise {name} is above zero, not {value}.")
    if value > most:
        raise NoiseOverflowError(f"A noise {name} of {value} does not fit 64-bit integers (at most {most}).")
    if isinstance(value, float):
        return Fraction(math.nextafter(value, math.inf))
    return Fraction(int(value.numerator), int(value.denominator))


@lru_cache(maxsize=4096)
def _is_long(ratio: GeometricRatio) -> bool:
    """Tell whether a geometric law of this ratio needs more entries than one table should have."""
    return ratio.enclose(64).high > (1 << 64) - (1 << 64) // _DIRECT_SCALE
