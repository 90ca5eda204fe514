"""What may be spent on one dataset, how fast, and by whom."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any, Self

from wayveil.errors import ParameterError
from wayveil.privacy.budget import Rational, exact


@dataclass(frozen=True, init=False)
class Policy:
    """Limits on the plain sum of everything ever reserved for a dataset and not cancelled before it started.

    total_epsilon       for ever
    per_period_epsilon  within any `period_days` days in a row: a sliding window, so the turn of a month
                        doubles nothing
    actors              who may reserve; None is everybody. The ledger records names and checks no passports:
                        access to the file or the database is what keeps people out
    total_delta         for ever; 0 allows pure epsilon only
    """

    total_epsilon: Fraction
    per_period_epsilon: Fraction | None
    period_days: int | None
    actors: tuple[str, ...] | None
    total_delta: Fraction

    def __init__(
        self,
        total_epsilon: Rational,
        per_period_epsilon: Rational | None = None,
        period_days: int | None = None,
        actors: tuple[str, ...] | list[str] | None = None,
        total_delta: Rational = 0,
    ) -> None:
        if (per_period_epsilon is None) != (period_days is None):
            raise ParameterError("a limit per period needs both per_period_epsilon and period_days")
        if period_days is not None and (type(period_days) is not int or not 1 <= period_days <= 36_500):
            raise ParameterError(f"period_days must be a whole number from 1 to 36500, not {period_days!r}")
        if isinstance(actors, str) or (
            actors is not None and not all(isinstance(a, str) and a for a in actors)
        ):
            raise ParameterError("actors must be a list of names; leave it out to let everybody spend")
        per_period = per_period_epsilon
        for name, value in {
            "total_epsilon": exact_or_zero(total_epsilon, "total_epsilon"),
            "per_period_epsilon": None
            if per_period is None
            else exact_or_zero(per_period, "per_period_epsilon"),
            "period_days": period_days,
            "actors": None if actors is None else tuple(actors),
            "total_delta": exact_or_zero(total_delta, "total_delta"),
        }.items():
            object.__setattr__(self, name, value)
        if self.total_delta >= 1:
            raise ParameterError("a total_delta of 1 or more promises nothing; use a small one such as 1e-6")

    @property
    def period(self) -> timedelta | None:
        return None if self.period_days is None else timedelta(days=self.period_days)

    def payload(self) -> dict[str, Any]:
        """As it stands on a ledger line."""
        per_period = self.per_period_epsilon
        return {
            "total_epsilon": str(self.total_epsilon),
            "per_period_epsilon": None if per_period is None else str(per_period),
            "period_days": self.period_days,
            "actors": None if self.actors is None else list(self.actors),
            "total_delta": str(self.total_delta),
        }

    @classmethod
    def from_payload(cls, payload: Any) -> Self:
        try:
            return cls(**payload)
        except TypeError as error:
            raise ParameterError(f"this is not a policy: {error}") from error


def exact_or_zero(value: Rational, name: str) -> Fraction:
    """Read a number exactly as written, like `exact`, and let 0 pass."""
    with suppress(ValueError, TypeError, ZeroDivisionError, OverflowError):
        if Fraction(value) == 0:
            return Fraction(0)
    return exact(value, name)
