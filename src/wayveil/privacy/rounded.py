"""Rounded Gaussian noise on a fine grid, fast at standard deviations of millions, and exact.

A Gaussian N with standard deviation U s, U a power of two, is written N = U (H + t): H is N / U rounded, and t in
[-1/2, 1/2) is what rounding left. H is a rounded Gaussian with deviation s, drawn from its exact table. Given H, t has
a density proportional to exp(-(2 H t + t^2) / 2 s^2), nearly flat: t is drawn uniformly and kept with probability
exp(-(2 H t + t^2 + |H|) / 2 s^2). The first digits of t and of the coin decide nearly always, in floating point
with a margin a thousand times its error; where they do not, more digits are drawn and compared with enclosures. The
result is N rounded to the nearest integer, and nothing but the law of N enters: adding it to an integer vector is the
Gaussian mechanism, rounded afterwards.
"""

from fractions import Fraction

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.privacy.enclosure import Enclosure, exp_minus
from wayveil.privacy.laws import RoundedGaussian
from wayveil.privacy.noise import table_of

# Digits of a second word that say where t lies; the others are the coin.
_PLACE_BITS = 24
_COIN_BITS = 64 - _PLACE_BITS
# Far above the error of the floating-point exponent and exponential, far below anything that costs time.
_MARGIN = 1e-12
_KEPT, _REJECTED, _OPEN = 1, 0, 2
_BLOCK = 1 << 14
# Up to here one table does it; below the least, rounding would be most of the noise.
DIRECT = 512
LEAST = 4


def rounded_gaussian(size: int, deviation: Fraction, bits: Bits | None = None) -> NDArray[np.int64]:
    """A Gaussian with this standard deviation, rounded to the nearest integer."""
    deviation, source = Fraction(deviation), bits or secure_bits()
    if deviation < LEAST:
        raise ParameterError(f"rounded noise needs a standard deviation of at least {LEAST}, not {deviation}")
    digits = max((int(deviation) // DIRECT).bit_length(), 0)
    if digits == 0:
        return table_of(RoundedGaussian(deviation)).draw(size, source, signed=True)
    if digits >= _PLACE_BITS:
        raise ParameterError(f"a standard deviation of {float(deviation):.3g} is too large for rounded noise")
    return _in_two_steps(size, deviation, digits, source)


def _in_two_steps(size: int, deviation: Fraction, digits: int, bits: Bits) -> NDArray[np.int64]:
    coarse = deviation / (1 << digits)
    table, twice = table_of(RoundedGaussian(coarse)), 2 * coarse**2
    out = np.empty(size, np.int64)
    for start in range(0, size, _BLOCK):
        block = out[start : start + _BLOCK]
        high = table.draw(len(block), bits, signed=True)
        words, kept = bits.words(len(block)), np.empty(len(block), np.uint8)
        _place(high, words, digits, 1.0 / float(twice), block, kept)
        left = np.flatnonzero(kept != _KEPT)
        words, kept = words[left], kept[left]
        # H stays what it is until a t is kept: dropping both would favour values of H that keep more.
        while len(left):
            for i in np.flatnonzero(kept == _OPEN):
                kept[i] = _resolve(int(high[left[i]]), int(words[i]), twice, bits)
            left = left[kept == _REJECTED]
            words, kept = bits.words(len(left)), np.empty(len(left), np.uint8)
            found = np.empty(len(left), np.int64)
            _place(high[left], words, digits, 1.0 / float(twice), found, kept)
            block[left] = found
            again = kept != _KEPT
            left, words, kept = left[again], words[again], kept[again]
    return out


@njit(cache=True, nogil=True)
def _place(high, words, digits, rate, out, kept):  # type: ignore[no-untyped-def]
    """N for every pair of H and word, and whether the word keeps it."""
    half = np.int64(1) << (digits - 1)
    rounding = np.int64(1) << (_PLACE_BITS - digits - 1)
    wide, unit = 2.0**-_COIN_BITS, 2.0**-_PLACE_BITS
    for i in range(high.size):
        place = np.int64(words[i] >> np.uint64(_COIN_BITS))
        out[i] = (high[i] << digits) + ((place + rounding) >> (_PLACE_BITS - digits)) - half
        coin = np.float64(words[i] & ((np.uint64(1) << np.uint64(_COIN_BITS)) - np.uint64(1))) * wide
        t, h = place * unit - 0.5, np.float64(high[i])
        # t lies in [t, t + unit]: the exponent moves by at most this much.
        slack = (2.0 * abs(h) + 1.0) * unit * rate + _MARGIN
        exponent = (2.0 * h * t + t * t + abs(h)) * rate
        if coin + wide <= 1.0 - exponent - slack:  # exp(-e) is at least 1 - e
            kept[i] = _KEPT
            continue
        chance = np.exp(-exponent)
        if coin + wide <= chance - slack:
            kept[i] = _KEPT
        elif coin >= chance + slack:
            kept[i] = _REJECTED
        else:
            kept[i] = _OPEN


def _resolve(high: int, word: int, twice: Fraction, bits: Bits) -> int:
    """Return the same decision with as many digits of t and of the coin as it takes."""
    place, coin = word >> _COIN_BITS, word & (1 << _COIN_BITS) - 1
    place_bits, coin_bits = _PLACE_BITS, _COIN_BITS
    while True:
        low, top = (Fraction(place + end, 1 << place_bits) - Fraction(1, 2) for end in (0, 1))
        # The exponent is convex in t: its least and largest value are at the ends or where it turns, at t = -H.
        ends = [_exponent(high, t) for t in (low, top)]
        if low < -high < top:
            ends.append(_exponent(high, Fraction(-high)))
        precision = coin_bits + 64
        least: Enclosure = exp_minus(max(ends) / twice, precision)
        most: Enclosure = exp_minus(min(ends) / twice, precision)
        if coin + 1 << 64 <= least.low:
            return _KEPT
        if coin << 64 >= most.high:
            return _REJECTED
        more = bits.words(2)
        place, place_bits = place << 64 | int(more[0]), place_bits + 64
        coin, coin_bits = coin << 64 | int(more[1]), coin_bits + 64


def _exponent(high: int, t: Fraction) -> Fraction:
    return max(2 * high * t + t * t + abs(high), Fraction(0))
