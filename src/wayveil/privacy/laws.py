"""The laws of our noise, written as survival probabilities that can be enclosed to any precision.

A law lives on 0, 1, 2, ... and is known by S_m = P(X >= m) for m = 1, 2, ..., which `survivals` yields in
order as enclosures of the asked precision. It stops after the largest possible value, if there is one. Laws
are frozen and hashable: tables are cached by them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, repeat
from math import isqrt
from typing import Protocol

from wayveil.privacy.enclosure import Enclosure, exp_minus


class Probability(Protocol):
    """A real in [0, 1] that can be enclosed."""

    def enclose(self, precision: int) -> Enclosure: ...

    def __hash__(self) -> int: ...


class GeometricRatio(Probability, Protocol):
    """The ratio of a geometric law, below 1. Its powers are ratios of the same kind."""

    def power(self, exponent: int) -> "GeometricRatio": ...


class Law(Protocol):
    """A law on 0, 1, 2, ..."""

    def survivals(self, precision: int) -> Iterator[Enclosure]: ...


@dataclass(frozen=True)
class Rational:
    """A rational probability."""

    value: Fraction

    def enclose(self, precision: int) -> Enclosure:
        return Enclosure.of(self.value, precision)


@dataclass(frozen=True)
class RationalRatio(Rational):
    """Noise ratio as that of a geometric law."""

    def power(self, exponent: int) -> "RationalRatio":
        return RationalRatio(self.value**exponent)


@dataclass(frozen=True)
class Exp:
    """exp(-rate), rate >= 0."""

    rate: Fraction

    def enclose(self, precision: int) -> Enclosure:
        return exp_minus(self.rate, precision)

    def power(self, exponent: int) -> "Exp":
        return Exp(self.rate * exponent)


@dataclass(frozen=True)
class Negative:
    """P(X < 0) = a / (1 + a), a = exp(-1/scale), for X discrete Laplace."""

    scale: Fraction

    def enclose(self, precision: int) -> Enclosure:
        a = exp_minus(1 / self.scale, precision)
        return a / (Enclosure.of(1, precision) + a)


@dataclass(frozen=True)
class AllBelow:
    """The probability that discrete Laplace noise leaves all of `cells` empty cells below a threshold t >= 1.

    One cell reaches it with probability p = a^t / (1 + a), a = exp(-1/scale), so the law is (1 - p)^cells.
    """

    scale: Fraction
    threshold: int
    cells: int = 1

    def enclose(self, precision: int) -> Enclosure:
        # Squaring doubles the width each time: carry as many bits more as there are squarings.
        inner = precision + self.cells.bit_length() + 8
        one, a = Enclosure.of(1, inner), exp_minus(1 / self.scale, inner)
        over = exp_minus(self.threshold / self.scale, inner) / (one + a)
        return ((one - over) ** self.cells).rounded(precision)

    def power(self, exponent: int) -> "AllBelow":
        return replace(self, cells=self.cells * exponent)


@dataclass(frozen=True)
class Coin:
    """One with the given probability, else zero."""

    probability: Probability

    def survivals(self, precision: int) -> Iterator[Enclosure]:
        yield self.probability.enclose(precision)


@dataclass(frozen=True)
class Geometric:
    """P(X >= m) = r^m."""

    ratio: GeometricRatio

    def survivals(self, precision: int) -> Iterator[Enclosure]:
        r = self.ratio.enclose(precision)
        return accumulate(repeat(r), Enclosure.__mul__)


@dataclass(frozen=True)
class GeometricDigit:
    """The last digit of a geometric variable in a given base: P(X = k) proportional to r^k for 0 <= k < base.

    If G is geometric with ratio r, G mod base has this law, G div base is geometric with ratio r^base, and
    the two are independent: P(G = base h + k) = (1 - r) r^(base h) r^k is a product.
    """

    ratio: GeometricRatio
    base: int

    def survivals(self, precision: int) -> Iterator[Enclosure]:
        r, one = self.ratio.enclose(precision), Enclosure.of(1, precision)
        powers = list(accumulate(repeat(r, self.base - 1), Enclosure.__mul__, initial=one))
        return _from_weights(powers, Enclosure(0, 0, precision))


@dataclass(frozen=True)
class LaplaceMagnitude:
    """|X| for X discrete Laplace: P(|X| >= m) = 2 a^m / (1 + a), a = exp(-1/scale)."""

    scale: Fraction

    def survivals(self, precision: int) -> Iterator[Enclosure]:
        a = exp_minus(1 / self.scale, precision)
        first = a.times(2) / (Enclosure.of(1, precision) + a)
        return accumulate(repeat(a), Enclosure.__mul__, initial=first)


@dataclass(frozen=True)
class Gaussian:
    """P(X = k) proportional to exp(-k^2 / (2 variance)) on 0, 1, 2, ...; `folded` weighs k >= 1 twice.

    Folded, it is |X| for X discrete Gaussian on all integers.
    """

    variance: Fraction
    folded: bool

    def survivals(self, precision: int) -> Iterator[Enclosure]:
        # weight(k+1) = weight(k) step(k) and step(k+1) = step(k) bend
        step, bend = exp_minus(1 / (2 * self.variance), precision), exp_minus(1 / self.variance, precision)
        weights, weight = [], Enclosure.of(1, precision)
        while weight.low > 0:
            weights.append(weight)
            weight, step = weight * step, step * bend
        # Steps only shrink, so all that is missing sums to at most weight / (1 - step).
        missing = Enclosure(0, (weight / (Enclosure.of(1, precision) - step)).high, precision)
        if self.folded:
            weights[1:] = [w.times(2) for w in weights[1:]]
            missing = missing.times(2)
        return _from_weights(weights, missing)


@dataclass(frozen=True)
class RoundedGaussian:
    """|X| for X a continuous Gaussian with mean 0 and standard deviation `deviation`, rounded to the nearest integer.

    With V the variance, P(|X| = m) is proportional to the integral of exp(-t^2 / 2V) over [m - 1/2, m + 1/2], which is
    exp(-m^2 / 2V) times the sum over even j of (m / V)^j / j! * 2 M_j, where M_j is the integral of u^j exp(-u^2 / 2V)
    over [0, 1/2]. The M_j do not depend on m. All terms are positive, and easy to enclose while m / V stays small:
    the deviation must not be below 4.
    """

    deviation: Fraction

    def survivals(self, precision: int) -> Iterator[Enclosure]:
        variance = self.deviation**2
        inner = precision + 32
        one = Enclosure.of(1, inner)
        step, bend = exp_minus(1 / (2 * variance), inner), exp_minus(1 / variance, inner)
        weights, weight, m = [], one, 0
        series = _EvenSeries(variance, inner)
        while weight.low > 0:
            weights.append(weight * series.at(m))
            weight, step, m = weight * step, step * bend, m + 1
        # What is missing: at most as much again as a geometric series of the last step gives, times cosh of the slope.
        slope = series.at(m + int(self.deviation) + 1)
        missing = Enclosure(0, (weight / (one - step) * slope).high * 2, inner)
        weights[1:] = [w.times(2) for w in weights[1:]]
        for survival in _from_weights(weights, missing.times(2)):
            yield survival.rounded(precision)


class _EvenSeries:
    """The sum over even j of (m / V)^j / j! * 2 M_j, for whole m, enclosed."""

    def __init__(self, variance: Fraction, precision: int) -> None:
        self.variance, self.precision = variance, precision
        self.coefficients: list[Enclosure] = []
        # exp(-m^2 / 2V) >= 2^-precision holds up to this m; the bound on the tail asks for one deviation more.
        deviation = Fraction(isqrt(int(variance)) + 1)
        largest = deviation * (isqrt(2 * precision) + 3) / (2 * variance)
        factorial, bound, j = 1, Fraction(1), 0
        while True:
            self.coefficients.append(self._moment(j, factorial))
            j += 2
            factorial *= (j - 1) * j
            bound = largest**j / factorial
            # From here on every term is at most half the one before.
            if bound * (1 << precision) < 1 and 2 * largest**2 <= (j + 1) * (j + 2):
                break
        self.rest = Enclosure(0, 4, precision)

    def _moment(self, j: int, factorial: int) -> Enclosure:
        """2 M_j / j!, by the series of the exponential function, whose terms alternate and shrink."""
        total, sign, power, k = Fraction(0), 1, Fraction(1), 0
        while True:
            term = power / (j + 2 * k + 1) / (1 << (j + 2 * k + 1))
            total += sign * term
            k += 1
            sign, power = -sign, power / (2 * self.variance * k)
            if term * (1 << (self.precision + 8)) < 1:
                break
        value = Enclosure.of(2 * total / factorial, self.precision)
        return Enclosure(max(value.low - 2, 0), value.high + 2, self.precision)

    def at(self, m: int) -> Enclosure:
        square = Enclosure.of((m / self.variance) ** 2, self.precision)
        result = self.coefficients[-1]
        for coefficient in reversed(self.coefficients[:-1]):
            result = result * square + coefficient
        return result + self.rest


def _from_weights(weights: list[Enclosure], missing: Enclosure) -> Iterator[Enclosure]:
    """Survivals of a law with the given first weights and a bound on the sum of all further ones."""
    upward: Iterable[Enclosure] = accumulate(reversed(weights), Enclosure.__add__, initial=missing)
    *sums, total = upward
    for rest in reversed(sums[1:]):
        yield rest / total
    if missing.high > 0:
        # Beyond the listed weights it is only known that little is left. More precision lists more weights.
        yield from repeat(Enclosure(0, (missing / total).high, missing.precision))
