"""Real numbers between two integers: interval arithmetic that cannot be wrong in the last bit.

An `Enclosure` of precision p holds a real x >= 0 by low <= 2^p x <= high. Every operation rounds `low` down
and `high` up in plain Python integers, so the enclosure of a result always contains the exact result. Nothing
here is floating point.

Probabilities of noise laws are made from exp(-a/b). Each can be evaluated at any precision; whoever needs its
first k binary digits, floor(2^k x), raises the precision until both ends agree on them (`settle`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

_T = TypeVar("_T")


class UndecidedError(ArithmeticError):
    """Two ends of an enclosure give different answers; a higher precision will tell."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """low <= 2^precision x <= high for a real x >= 0."""

    low: int
    high: int
    precision: int

    @classmethod
    def of(cls, value: Fraction | int, precision: int) -> "Enclosure":
        """A rational, tight to one unit of the last place."""
        scaled = Fraction(value) * (1 << precision)
        return cls(
            scaled.numerator // scaled.denominator, -(-scaled.numerator // scaled.denominator), precision
        )

    def __add__(self, other: "Enclosure") -> "Enclosure":
        return Enclosure(self.low + other.low, self.high + other.high, self.precision)

    def __sub__(self, other: "Enclosure") -> "Enclosure":
        """The difference of two reals of which the first is known to be the larger."""
        return Enclosure(max(self.low - other.high, 0), self.high - other.low, self.precision)

    def __mul__(self, other: "Enclosure") -> "Enclosure":
        p = self.precision
        return Enclosure(self.low * other.low >> p, -(-self.high * other.high >> p), p)

    def __truediv__(self, other: "Enclosure") -> "Enclosure":
        p = self.precision
        return Enclosure((self.low << p) // other.high, -((-self.high << p) // other.low), p)

    def __pow__(self, exponent: int) -> "Enclosure":
        result, square = Enclosure.of(1, self.precision), self
        while exponent:
            if exponent & 1:
                result = result * square
            square = square * square
            exponent >>= 1
        return result

    def times(self, factor: int) -> "Enclosure":
        """The product with a whole number, without rounding."""
        return Enclosure(self.low * factor, self.high * factor, self.precision)

    def rounded(self, precision: int) -> "Enclosure":
        """Return the same real at a lower precision."""
        drop = self.precision - precision
        return Enclosure(self.low >> drop, -(-self.high >> drop), precision)

    def digits(self, count: int) -> int:
        """The first `count` binary digits of a probability, floor(2^count x); one is written 0.111...

        Raises `UndecidedError` where the two ends disagree. For rational r > 0, exp(-r) and its rational
        expressions are transcendental (Lindemann), so their digits are decided at some precision. (The
        sum that normalises a discrete Gaussian is not known to be irrational. Were it rational, a digit could
        stay undecided for ever; it could not be wrong.)
        """
        drop, ones = self.precision - count, (1 << count) - 1
        low, high = min(self.low >> drop, ones), min(self.high >> drop, ones)
        if low != high:
            raise UndecidedError
        return low


@lru_cache(maxsize=4096)
def exp_minus(rate: Fraction, precision: int) -> Enclosure:
    """exp(-rate) for a rational rate >= 0.

    With x = rate / 2^k <= 1/2: sum the positive series of exp(x), bound what is left by the last term taken
    (each further term is at most half the one before), take 1 / exp(x), and square it k times. A squaring at
    most doubles the width and adds one unit, so k + 8 more bits are carried.
    """
    a, b = rate.numerator, rate.denominator
    halvings = (2 * a // b).bit_length()
    inner = precision + halvings + 8
    b <<= halvings
    low = high = term_low = term_high = 1 << inner
    n = 0
    while term_high > 1:
        n += 1
        term_low = term_low * a // (b * n)
        term_high = -(-term_high * a // (b * n))
        low += term_low
        high += term_high
    result = Enclosure.of(1, inner) / Enclosure(low, high + term_high, inner)
    for _ in range(halvings):
        result = result * result
    return result.rounded(precision)


def settle(evaluate: Callable[[int], _T], precision: int) -> _T:
    """The value of `evaluate` at the first of the precisions p, 2p, 4p, ... where it is decided."""
    while True:
        try:
            return evaluate(precision)
        except UndecidedError:
            precision *= 2
