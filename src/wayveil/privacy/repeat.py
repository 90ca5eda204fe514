"""Repeat a private draw until it is good enough: the threshold search of Liu and Talwar (2019), Algorithm 1.

A draw that costs epsilon_1 returns a candidate with a score, both already private. The search returns the
first candidate whose score reaches a public threshold. After every rejected draw a coin of public probability
gamma may end it with nothing. Then the whole search, however many draws it took, costs

    2 epsilon_1              without a cap on the rounds;
    2 epsilon_1 + epsilon_0  with at most T rounds, where 0 < epsilon_0 <= 1
                             and T >= max(ln(2 / epsilon_0) / gamma, 1 + 1 / (e gamma)).

Why: with p the chance that one draw is accepted, x is returned with probability q(x) / (p + gamma (1 - p)),
and both q(x) and the denominator change by a factor of at most exp(epsilon_1) between neighbours. Without the
coin the chance of returning nothing would vanish or appear with the data, at any cost.

The argument needs draws that are independent and alike: a draw must not learn from the ones before it. The
number of rounds is not private: it must not leave, and neither may the time that the search took. Nothing
found is an answer like any other; to search again is a new purchase.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import TypeVar

from wayveil.errors import ParameterError, plain

Candidate = TypeVar("Candidate")
Score = Fraction | int

_DIGITS = 60
_MARGIN = Decimal("1e-40")  # far above the rounding errors of 60 digits


@dataclass(frozen=True)
class Stopping:
    """When a search gives up. Public, and fixed before the first draw.

    gamma   probability to end with nothing after each rejected draw; about 1/gamma draws are made at most
    rounds  most draws, or None for no cap, which is the better choice where time allows: it costs no slack
    slack   epsilon_0, the price of the cap
    """

    gamma: Fraction
    rounds: int | None = None
    slack: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not isinstance(self.gamma, Fraction) or not 0 < self.gamma < 1:
            raise ParameterError(f"gamma must be a Fraction between 0 and 1, not {self.gamma!r}")
        if self.rounds is None:
            if self.slack != 0:
                raise ParameterError("a search without a cap on its rounds needs no slack")
        elif self.rounds < (least := rounds_needed(self.gamma, self.slack)):
            raise ParameterError(
                f"a search with gamma {plain(self.gamma)} and slack {plain(self.slack)} "
                f"needs at least {least} rounds to be private, not {self.rounds}"
            )

    def price(self, draw_price: Fraction) -> Fraction:
        """Return what a search costs whose every draw costs `draw_price` (epsilon)."""
        return 2 * draw_price + self.slack

    def draw_price(self, price: Fraction) -> Fraction:
        """Return what every draw may cost in a search that costs `price` (epsilon)."""
        if price <= self.slack:
            raise ParameterError(
                f"a search for epsilon {plain(price)} leaves nothing for its draws after slack "
                f"{plain(self.slack)}"
            )
        return (price - self.slack) / 2


def rounds_needed(gamma: Fraction, slack: Fraction) -> int:
    """The least cap that `slack` pays for, rounded up."""
    if not isinstance(slack, Fraction) or not 0 < slack <= 1:
        raise ParameterError(
            f"a cap on the rounds needs a slack (a Fraction) above 0 and at most 1, not {slack!r}"
        )
    with localcontext(Context(prec=_DIGITS)):
        by_slack = _decimal(2 / slack).ln() / _decimal(gamma)
        by_coin = 1 + (-Decimal(1)).exp() / _decimal(gamma)
        bound = max(by_slack, by_coin) * (1 + _MARGIN) + _MARGIN
        return int(bound.to_integral_value(ROUND_CEILING))


def repeat_until(
    draw: Callable[[], tuple[Candidate, Score]],
    threshold: Score,
    stopping: Stopping,
    flip: Callable[[Fraction], bool],
) -> Candidate | None:
    """The first drawn candidate whose score reaches the threshold, or None. Nothing else comes back.

    `flip(gamma)` is an exact coin. Use `Gate.search`, which books the price and holds every draw to its
    share.
    """
    done = 0
    while stopping.rounds is None or done < stopping.rounds:
        candidate, score = draw()
        if score >= threshold:
            return candidate
        if flip(stopping.gamma):
            return None
        done += 1
    return None


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
