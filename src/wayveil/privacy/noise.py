"""Integer noise with exactly the law it claims, given ideal bits.

Exact lazy inversion: one 64-bit word per draw, and more only in the rare case that it does not decide.

A uniform real U in [0, 1) is revealed from its first binary digits on. The draw is X = #{m >= 1 : U < S_m},
which has P(X >= m) = S_m because S_1 >= S_2 >= ... Let v be the first w digits of U and T_m = floor(2^w S_m)
those of S_m. Then

    v < T_m   proves U < S_m          since U < (v + 1) / 2^w <= T_m / 2^w <= S_m
    v > T_m   proves U > S_m          since U >= v / 2^w >= (T_m + 1) / 2^w > S_m
    v = T_m   is undecided, and further digits of U are compared with further digits of S_m.

A table holds T_1 .. T_K where T_K is the first zero, so v > T_K or v = T_K: no word runs off its end, and the
tail beyond is the same undecided case. With 64-bit words w = 63 and the last bit is a fair sign for symmetric
laws; an undecided word has probability K 2^-63 at most. Every branch is a comparison of integers, so the law
is exact if the words are uniform. The time taken does depend on the value drawn.

Counts are integers and so is their noise: no floating-point number lies between the random words and the
result. Scales are rationals. A float is taken as the next float above it, since it may be a quotient that was
rounded down; so noise is never smaller than what was asked for.

All functions return int64 arrays and take `bits=None` for the secure source of the process. What they cost in
privacy is booked by the gate; nothing here looks at data.
"""

import math
import numbers
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.errors import ParameterError, WayveilError
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.privacy.enclosure import UndecidedError, settle
from wayveil.privacy.laws import (
    Coin,
    Exp,
    Gaussian,
    Geometric,
    GeometricDigit,
    GeometricRatio,
    LaplaceMagnitude,
    Law,
    Negative,
    Probability,
    Rational,
)

WORD_BITS = 64
_BLOCK = 1 << 14  # words and results of a block stay in the cache of a core
_GUIDE_BITS = 12
_GUARD = 64
_OPEN = np.iinfo(np.int64).min


@dataclass(frozen=True, eq=False)
class SurvivalTable:
    """The first digits of a law's survivals, ready to invert words of `word_bits` bits.

    `guide` says, for the leading digits of a word, how many entries lie above all words that begin so: the
    search starts there.
    """

    law: Law
    word_bits: int
    entries: NDArray[np.int64]
    guide: NDArray[np.int64]
    shift: int

    @classmethod
    def of(cls, law: Law, word_bits: int = WORD_BITS) -> "SurvivalTable":
        width = word_bits - 1
        entries = settle(lambda precision: _entries(law, width, precision), width + _GUARD)
        guide_bits = min(len(entries).bit_length() + 2, _GUIDE_BITS, width)
        shift = width - guide_bits
        after = np.arange(1, (1 << guide_bits) + 1, dtype=np.uint64) << np.uint64(shift)
        last_words = (after - np.uint64(1)).astype(np.int64)
        guide = len(entries) - np.searchsorted(entries[::-1], last_words, side="right")
        return cls(law, word_bits, entries, guide, shift)

    def draw(self, size: int, bits: Bits, *, signed: bool = False) -> NDArray[np.int64]:
        """`size` independent draws, each from a word of its own; `signed` gives each a fair sign."""
        out = np.empty(size, np.int64)
        for start in range(0, size, _BLOCK):
            block = out[start : start + _BLOCK]
            words = bits.words(len(block))
            if _invert(words, self.entries, self.guide, self.shift, signed, block):
                for i in np.flatnonzero(block == _OPEN):
                    magnitude = self._resolve(int(words[i]) >> 1, bits)
                    block[i] = -magnitude if signed and words[i] & np.uint64(1) else magnitude
        return out

    def _resolve(self, value: int, bits: Bits) -> int:
        """The plain definition of the draw, on as many digits of U as it takes."""
        width = self.word_bits - 1
        while True:
            try:
                return _count_above(self.law, value, width)
            except UndecidedError:
                value = value << self.word_bits | int(bits.words(1)[0])
                width += self.word_bits


@lru_cache(maxsize=512)
def table_of(law: Law) -> SurvivalTable:
    """The table of a law for 64-bit words, made once."""
    return SurvivalTable.of(law)


def _entries(law: Law, width: int, precision: int) -> NDArray[np.int64]:
    entries = []
    for survival in law.survivals(precision):
        entries.append(survival.digits(width))
        if entries[-1] == 0:
            break
    else:
        entries.append(0)
    return np.array(entries, np.int64)


def _count_above(law: Law, value: int, width: int) -> int:
    """#{m >= 1 : U < S_m} for any U whose first `width` digits are `value`, or `UndecidedError`."""
    above = 0
    for survival in law.survivals(width + _GUARD):
        if value + 1 << _GUARD <= survival.low:
            above += 1
        elif value << _GUARD >= survival.high:
            break
        else:
            raise UndecidedError
    return above


@njit(cache=True, nogil=True)
def _invert(words, entries, guide, shift, signed, out):  # type: ignore[no-untyped-def]
    """Invert every word; undecided ones become `_OPEN` and are counted."""
    undecided = 0
    for i in range(words.size):
        value = np.int64(words[i] >> np.uint64(1))
        m = guide[value >> shift]
        while entries[m] > value:
            m += 1
        negative = np.int64(words[i] & np.uint64(1)) & np.int64(signed)
        out[i] = (m ^ -negative) + negative
        if entries[m] == value:
            out[i] = _OPEN
            undecided += 1
    return undecided


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
