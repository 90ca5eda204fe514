from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.privacy.enclosure import Enclosure, UndecidedError, exp_minus, settle

P = 80
positive = st.fractions(min_value=Fraction(1, 10**6), max_value=1000, max_denominator=10**9)
rates = st.fractions(min_value=0, max_value=200, max_denominator=10**12)


def holds(enclosure: Enclosure, value: Fraction) -> bool:
    return enclosure.low <= value * (1 << enclosure.precision) <= enclosure.high


def interval_exp(rate: Fraction, precision: int):
    """exp(-rate) by mpmath's interval arithmetic."""
    mpmath.iv.prec = precision + 64
    return mpmath.iv.exp(-mpmath.iv.mpf(rate.numerator) / rate.denominator)


@given(positive, positive)
def test_results_of_arithmetic_contain_the_exact_rational(x, y):
    x, y = max(x, y), min(x, y)
    a, b = Enclosure.of(x, P), Enclosure.of(y, P)
    assert holds(a + b, x + y)
    assert holds(a - b, x - y)
    assert holds(a * b, x * y)
    assert holds(a / b, x / y)
    assert holds(a.times(7), 7 * x)
    assert holds(a.rounded(30), x)


@given(st.fractions(min_value=0, max_value=1, max_denominator=10**6), st.integers(0, 70))
def test_powers_contain_the_exact_rational(x, n):
    power = Enclosure.of(x, P) ** n
    assert holds(power, x**n)
    assert power.high - power.low <= 4 * n + 2


@given(rates, st.integers(8, 300))
def test_exp_agrees_with_mpmath_intervals_to_the_last_bits(rate, precision):
    ours, theirs = exp_minus(rate, precision), interval_exp(rate, precision)
    scale = mpmath.iv.mpf(2) ** precision
    assert ours.high - ours.low <= 2
    assert ours.low <= (theirs * scale).b
    assert ours.high >= (theirs * scale).a


@given(rates.filter(lambda r: r > 0))
def test_digits_are_the_floor_of_the_exact_value(rate):
    digits = settle(lambda p: exp_minus(rate, p).digits(63), 64)
    theirs = interval_exp(rate, 200) * mpmath.iv.mpf(2) ** 63
    assert digits <= theirs
    assert theirs < digits + 1


def test_exp_of_zero_and_of_huge_rates():
    assert exp_minus(Fraction(0), P) == Enclosure.of(1, P)
    assert exp_minus(Fraction(10**30), P).digits(60) == 0
    assert exp_minus(Fraction(1, 10**30), P).digits(60) == (1 << 60) - 1


def test_one_is_written_with_ones_only():
    assert Enclosure.of(1, P).digits(8) == 255


def test_digits_that_both_ends_do_not_share_are_refused():
    assert Enclosure(5 << 60, (5 << 60) + 9, 63).digits(3) == 5
    with pytest.raises(UndecidedError):
        Enclosure((5 << 60) - 1, 5 << 60, 63).digits(3)


def test_settle_raises_the_precision_until_the_answer_is_certain():
    tried = []

    def evaluate(precision):
        # One half less exp(-140), which is about 2^-202.
        tried.append(precision)
        return (Enclosure.of(Fraction(1, 2), precision) - exp_minus(Fraction(140), precision)).digits(20)

    assert settle(evaluate, 64) == (1 << 19) - 1
    assert tried == [64, 128, 256]
