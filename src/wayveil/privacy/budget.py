"""The privacy budget: exact rationals, a line for every spend, never below zero.

What happened (`Spend`, plain data) is kept apart from how it is added up (`Budget`), so that an accountant or
an audit can read the same lines again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Literal

from wayveil.errors import BudgetExceededError, ParameterError, plain

Rational = Fraction | int | str | float | Decimal


def exact(value: Rational, name: str = "epsilon") -> Fraction:
    """Read a positive number exactly as written: 0.1 is one tenth, not the nearest binary fraction."""
    try:
        if isinstance(value, float):
            # Shortest digits that name this float. NumPy's floats are floats too, with a longer repr.
            fraction = Fraction(repr(float(value)))
        else:
            fraction = Fraction(value)
            # NumPy's integers would go on to overflow inside a Fraction.
            fraction = Fraction(int(fraction.numerator), int(fraction.denominator))
    except (ValueError, ZeroDivisionError, InvalidOperation, TypeError, OverflowError) as error:
        raise ParameterError(f"{name} must be a number such as 0.5 or 1/2, not {value!r}") from error
    if fraction <= 0:
        raise ParameterError(f"{name} must be greater than 0, not {plain(fraction)}")
    return fraction


# What a release may cost. Below, counts drown in noise of thousands of trips, which would be written out as trips;
# above, the factor that the guarantee allows has more than four hundred digits.
LEAST_EPSILON, MOST_EPSILON = Fraction(1, 1_000), Fraction(1_000)
EPSILON_RANGE = "from 0.001 to 1000"


def release_epsilon(value: Rational) -> Fraction:
    """The epsilon of a release, exactly as written; outside the public range it is refused before anything is held."""
    epsilon = exact(value)
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        shown = plain(epsilon) if len(plain(epsilon)) < 40 else f"about 1e{_magnitude(epsilon)}"
        raise ParameterError(
            f"the epsilon of a release must be {EPSILON_RANGE}, not {shown}. Nothing was spent"
        )
    return epsilon


def _magnitude(value: Fraction) -> int:
    return len(str(value.numerator)) - len(str(value.denominator))


@dataclass(frozen=True)
class Spend:
    """One purchase: `price` bought `label` from counts that one unit can move by `sensitivity`.

    `scale` is what followed from it: the noise scale (pure epsilon) or the variance sigma^2 (zCDP) of noisy
    counts, or of the nodes of a tree; for a selection, the gap in utility that makes a candidate e times less
    likely; for a search, the epsilon of each of its draws; for a training, its noise in multiples of the clip.
    `delta` is the chance that only trainings need on top of their price.

    Spends of one `group` share one unit's influence: the distances by which a unit can move their counts, each
    divided by its own sensitivity, add up to at most one. Disjoint parts of the data are such a group (no unit
    is in two of them), and so are the levels of a tree that are each noised for more than they can move. Hence
    the group costs its dearest part.
    """

    label: str
    price: Fraction
    sensitivity: int
    scale: Fraction
    group: str | None = None
    kind: Literal["counts", "selection", "search", "tree", "training"] = "counts"
    delta: Fraction = Fraction(0)


class Budget:
    """Amount that may be spent, in one currency: pure `epsilon`, or zCDP `rho`.

    >>> budget = wv.Budget(1)
    >>> [str(part) for part in budget.split([3, 1])]
    ['3/4', '1/4']
    """

    def __init__(self, total: Rational, *, currency: str = "epsilon", delta: Rational | None = None) -> None:
        if currency not in ("epsilon", "rho"):
            raise ParameterError(f"a budget is counted in epsilon or rho, not in {currency!r}")
        self.currency = currency
        self.total = exact(total, currency)
        self.delta = Fraction(0) if delta is None else exact(delta, "delta")
        if self.delta >= 1:
            raise ParameterError("a delta of 1 or more promises nothing; use a small one such as 1e-6")
        self._spends: list[Spend] = []
        self._spent = self._spent_delta = Fraction(0)
        self._groups: dict[str, dict[str, Fraction]] = {}

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every spend so far, in order."""
        return tuple(self._spends)

    @property
    def spent(self) -> Fraction:
        """Sum of all spends; a group of disjoint parts counts once, at its dearest."""
        return self._spent

    @property
    def spent_delta(self) -> Fraction:
        """Sum of the deltas of all spends: 0 unless something was trained."""
        return self._spent_delta

    @property
    def remaining(self) -> Fraction:
        return self.total - self.spent

    def spend(self, spend: Spend) -> None:
        """Book a spend, or refuse it with the requested, the remaining and the missing amount."""
        if not isinstance(spend.price, Fraction | int):
            raise ParameterError(
                f"{spend.label}: a price is an exact Fraction, not {type(spend.price).__name__} {spend.price}"
            )
        if spend.price <= 0:
            raise ParameterError(f"{spend.label}: a spend must be greater than 0, not {plain(spend.price)}")
        if spend.sensitivity < 1:
            raise ParameterError(
                f"{spend.label}: the sensitivity must be at least 1, not {spend.sensitivity}"
            )
        parts = {} if spend.group is None else self._groups.get(spend.group, {})
        part = parts.get(spend.label, Fraction(0)) + spend.price
        dearest = max(parts.values(), default=Fraction(0))
        extra = max(part - dearest, Fraction(0))
        if extra > self.remaining:
            raise BudgetExceededError(
                spend.label, requested=extra, remaining=self.remaining, currency=self.currency
            )
        if spend.delta > self.delta - self.spent_delta:
            raise BudgetExceededError(
                spend.label,
                requested=spend.delta,
                remaining=self.delta - self.spent_delta,
                currency="delta",
            )
        if spend.group is not None:
            self._groups.setdefault(spend.group, {})[spend.label] = part
        self._spent += extra
        self._spent_delta += spend.delta
        self._spends.append(spend)

    def split(self, weights: Sequence[Rational]) -> list[Fraction]:
        """Shares of what remains, in proportion to the weights; they add up to it exactly."""
        exact_weights = [exact(weight, "weight") for weight in weights]
        whole = sum(exact_weights, Fraction(0))
        return [self.remaining * weight / whole for weight in exact_weights]


def total_price(spends: Sequence[Spend]) -> Fraction:
    """Sequential composition of the spends, parallel inside each group: parts are told apart by label."""
    alone = sum((spend.price for spend in spends if spend.group is None), Fraction(0))
    dearest: dict[str, dict[str, Fraction]] = {}
    for spend in spends:
        if spend.group is not None:
            parts = dearest.setdefault(spend.group, {})
            parts[spend.label] = parts.get(spend.label, Fraction(0)) + spend.price
    return alone + sum((max(parts.values()) for parts in dearest.values()), Fraction(0))
