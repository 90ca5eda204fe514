"""zCDP: what rho means as (epsilon, delta), and the other way round, rounded to the safe side.

A rho-zCDP mechanism is (epsilon, delta)-differentially private for every alpha > 1 with

    ln delta = (alpha - 1) (alpha rho - epsilon) - ln(alpha - 1) + alpha ln(1 - 1/alpha)

(Canonne, Kamath and Steinke 2020, Corollary 13). Any alpha gives a true statement; the best gives the
strongest. So the best alpha is searched in floats, where an error costs a little accuracy and no privacy. The
statement at that alpha is then evaluated with 60 digits, and 15 of them are kept, rounded to the safe side.
"""

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from math import exp, isqrt, log, log1p

import scipy

from wayveil.errors import ParameterError, plain
from wayveil.privacy.budget import Rational, exact

_EXACT = Context(prec=60)
_UP = Context(prec=15, rounding=ROUND_CEILING)
_DOWN = Context(prec=15, rounding=ROUND_FLOOR)
# Relative, and far above the error of 60 digits.
_MARGIN = Decimal("1e-30")


def epsilon_of(rho: Rational, delta: Rational) -> Fraction:
    """The smallest epsilon, rounded up, such that rho-zCDP gives (epsilon, delta)-differential privacy."""
    rate, chance = exact(rho, "rho"), _chance(delta)
    with localcontext(_EXACT):
        log_delta = _decimal(chance).ln()
        alpha = _best_alpha(lambda a: _excess(a, float(log_delta)) - a * float(rate))
        epsilon = alpha * _decimal(rate) - _exact_excess(alpha, log_delta)
        return Fraction(_UP.create_decimal(max(epsilon * (1 + _MARGIN), Decimal(0))))


def rho_for(epsilon: Rational, delta: Rational) -> Fraction:
    """The largest rho, rounded down, such that rho-zCDP gives (epsilon, delta)-differential privacy."""
    claim, chance = exact(epsilon), _chance(delta)
    with localcontext(_EXACT):
        log_delta = _decimal(chance).ln()
        alpha = _best_alpha(lambda a: (float(claim) + _excess(a, float(log_delta))) / a)
        rho = (_decimal(claim) + _exact_excess(alpha, log_delta)) / alpha
        found = Fraction(_DOWN.create_decimal(rho * (1 - _MARGIN)))
    if found <= 0:
        raise ParameterError(f"epsilon {plain(claim)} with delta {plain(chance)} is too little for any rho")
    return found


def pure_epsilon(rho: Fraction) -> Fraction:
    """The largest epsilon, rounded down, that costs at most rho: epsilon-DP implies (epsilon^2 / 2)-zCDP."""
    places = 10**18
    epsilon = Fraction(isqrt(2 * rho.numerator * places**2 // rho.denominator), places)
    if epsilon == 0:
        raise ParameterError(f"rho {plain(rho)} is too little to choose anything")
    return epsilon


def _chance(delta: Rational) -> Fraction:
    value = exact(delta, "delta")
    if value >= 1:
        raise ParameterError(f"delta must be less than 1, not {plain(value)}")
    return value


def _excess(alpha: float, log_delta: float) -> float:
    """alpha rho - epsilon, where the statement holds with equality."""
    return (log_delta + log(alpha - 1) - alpha * log1p(-1 / alpha)) / (alpha - 1)


def _exact_excess(alpha: Decimal, log_delta: Decimal) -> Decimal:
    return (log_delta + (alpha - 1).ln() - alpha * (1 - 1 / alpha).ln()) / (alpha - 1)


def _best_alpha(strength: Callable[[float], float]) -> Decimal:
    found = scipy.optimize.minimize_scalar(
        lambda t: -strength(1 + exp(t)), bounds=(-12.0, 30.0), method="bounded", options={"xatol": 1e-10}
    )
    return Decimal(1 + exp(float(found.x)))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
