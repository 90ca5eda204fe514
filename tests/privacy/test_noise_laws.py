"""The laws as enclosures, against sums and closed forms in 400-bit arithmetic that share no code with them."""

from fractions import Fraction
from itertools import islice

import mpmath
import pytest

from privacy.reference_noise import gaussian_survivals, laplace_survivals, mp, survivals_of
from wayveil.privacy.laws import (
    AllBelow,
    Coin,
    Exp,
    Gaussian,
    Geometric,
    GeometricDigit,
    LaplaceMagnitude,
    Negative,
    Rational,
)
from wayveil.privacy.noise import table_of

F = Fraction


def digit(rate, base):
    return survivals_of([mpmath.exp(-mp(k) * mp(rate)) for k in range(base)])


def no_survivor(scale, threshold, cells):
    a = mpmath.exp(-1 / mp(scale))
    dense = mpmath.fsum(
        [(1 - a) / (1 + a) * a ** abs(k) for k in range(threshold, threshold + int(300 * scale))]
    )
    return (1 - dense) ** cells


with mpmath.workprec(400):
    CASES = [
        (LaplaceMagnitude(F(3, 2)), laplace_survivals(F(3, 2), 30)),
        (LaplaceMagnitude(F(20)), laplace_survivals(20, 300)),
        (LaplaceMagnitude(F(1, 50)), [2 * mpmath.exp(-50) / (1 + mpmath.exp(-50))]),
        (Gaussian(F(7, 3), folded=True), gaussian_survivals(F(7, 3), 12)),
        (Gaussian(F(400), folded=True), gaussian_survivals(400, 150)),
        (Gaussian(F(1500), folded=False), gaussian_survivals(1500, 300, sides=1)),
        (Gaussian(F(1, 50), folded=True), gaussian_survivals(F(1, 50), 3)),
        (Geometric(Exp(F(1, 5))), [mpmath.exp(-mp(F(m, 5))) for m in range(1, 60)]),
        (GeometricDigit(Exp(F(1, 700)), 64), digit(F(1, 700), 64)),
        (Geometric(AllBelow(F(2), 3)), [no_survivor(2, 3, m) for m in range(1, 20)]),
        (Coin(AllBelow(F(5), 40, 10**6)), [no_survivor(5, 40, 10**6)]),
        (Coin(Negative(F(3))), [mpmath.exp(-mp(F(1, 3))) / (1 + mpmath.exp(-mp(F(1, 3))))]),
        (Coin(Rational(F(2, 7))), [mp(F(2, 7))]),
    ]


@pytest.mark.parametrize(("law", "expected"), CASES, ids=[str(law) for law, _ in CASES])
def test_enclosed_survivals_hold_the_exact_ones(law, expected):
    with mpmath.workprec(400):
        for precision in (64, 127, 300):
            found = list(islice(law.survivals(precision), len(expected)))
            assert len(found) == len(expected)
            for enclosure, exact in zip(found, expected, strict=True):
                assert enclosure.low <= exact * 2**precision <= enclosure.high
                assert enclosure.high - enclosure.low < 1 << 30


@pytest.mark.parametrize(("law", "expected"), CASES, ids=[str(law) for law, _ in CASES])
def test_tables_hold_the_first_63_digits_of_every_survival(law, expected):
    entries = table_of(law).entries
    assert entries[-1] == 0
    with mpmath.workprec(400):
        digits = [int(mpmath.floor(exact * 2**63)) for exact in expected]
    count = min(len(digits), len(entries))
    assert entries[:count].tolist() == digits[:count]


def test_a_power_of_a_ratio_is_the_ratio_of_that_power():
    assert Exp(F(1, 3)).power(6) == Exp(F(2))
    assert AllBelow(F(2), 3).power(10).power(10) == AllBelow(F(2), 3, 100)


def test_a_table_is_made_at_higher_precision_where_its_digits_are_in_doubt():
    # One empty cell in about 2^-288 reaches this threshold: 127 digits cannot tell the ratio from one.
    law = GeometricDigit(AllBelow(F(1), 200), 16)
    assert table_of(law).entries[0] == (15 << 59) - 1
