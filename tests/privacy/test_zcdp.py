"""Conversions of rho are on the safe side, and close to what others compute."""

from fractions import Fraction
from math import sqrt

import mpmath
import pytest
from dp_accounting.rdp import rdp_privacy_accountant as rdp
from hypothesis import given
from hypothesis import strategies as st

from wayveil.errors import ParameterError
from wayveil.privacy.zcdp import epsilon_of, pure_epsilon, rho_for

F = Fraction


def least_epsilon(rho, delta):
    """The same bound, minimised over alpha in 40 digits."""
    with mpmath.workdps(40):
        rho, log_delta = (mpmath.mpf(x.numerator) / x.denominator for x in (rho, delta))
        log_delta = mpmath.log(log_delta)

        def bound(t):
            a = 1 + mpmath.exp(t)
            return a * rho - (log_delta + mpmath.log(a - 1) - a * mpmath.log(1 - 1 / a)) / (a - 1)

        low, high = mpmath.mpf(-12), mpmath.mpf(30)
        for _ in range(200):
            third = (high - low) / 3
            low, high = (
                (low, high - third) if bound(low + third) < bound(high - third) else (low + third, high)
            )
        return bound((low + high) / 2)


CASES = [(F(1, 2), F(1, 10**6)), (F(1, 1000), F(1, 10**9)), (F(5), F(1, 100)), (F(1, 10**7), F(1, 10**12))]


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_epsilon_of_rho_is_rounded_up_and_by_next_to_nothing(rho, delta):
    with mpmath.workdps(40):
        found, least = epsilon_of(rho, delta), least_epsilon(rho, delta)
        found = mpmath.mpf(found.numerator) / found.denominator
        assert least <= found <= least * (1 + mpmath.mpf("1e-12"))


@pytest.mark.parametrize(("rho", "delta"), CASES[:3])
def test_epsilon_of_rho_agrees_with_the_renyi_accountant(rho, delta):
    orders = [1 + x / 200 for x in range(1, 40_000)]
    other, _ = rdp.compute_epsilon(orders, [order * float(rho) for order in orders], float(delta))
    assert float(epsilon_of(rho, delta)) == pytest.approx(other, rel=1e-4)


@given(st.fractions(F(1, 1000), 20), st.integers(2, 30).map(lambda k: F(1, 10**k)))
def test_the_rho_for_an_epsilon_never_exceeds_it_and_nearly_reaches_it(epsilon, delta):
    back = epsilon_of(rho_for(epsilon, delta), delta)
    assert epsilon * (1 - F(1, 10**9)) <= back <= epsilon * (1 + F(1, 10**13))
    assert epsilon_of(rho_for(epsilon, delta) * (1 + F(1, 10**6)), delta) > epsilon


def test_a_delta_below_every_float_is_no_obstacle():
    assert 0 < rho_for(1, "1e-400") < rho_for(1, "1e-300")


def test_a_delta_that_promises_nothing_is_refused():
    with pytest.raises(ParameterError, match="delta must be less than 1"):
        rho_for(1, 1)


@given(st.fractions(F(1, 10**9), 100))
def test_the_pure_epsilon_of_rho_costs_at_most_rho(rho):
    epsilon = pure_epsilon(rho)
    assert epsilon**2 / 2 <= rho
    assert float(epsilon) == pytest.approx(sqrt(2 * rho), abs=1e-12)


def test_a_rho_that_buys_nothing_is_refused():
    with pytest.raises(ParameterError, match="too little"):
        pure_epsilon(F(1, 10**60))
