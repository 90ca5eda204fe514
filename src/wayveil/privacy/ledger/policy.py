"""Policy of what may be spent on one dataset, for which unit, how fast, and by whom."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from typing import Any, Self

from wayveil.errors import ParameterError
from wayveil.privacy.budget import Rational, exact
from wayveil.privacy.ledger.conversion import Stated, check_policy_unit
from wayveil.privacy.ledger.data_limit import DataLimit


@dataclass(frozen=True, init=False)
class Policy:
    """Limits on the sum of everything ever reserved for a dataset and not cancelled before it started.

    total_epsilon       for ever; None where `data` limits what the data of a span may cost, and only then
    per_period_epsilon  within any `period_days` days in a row: a sliding window, so the turn of a month
                        doubles nothing
    actors              who may reserve; None is everybody. The ledger records names and checks no passports:
                        access to the file or the database is what keeps people out
    total_delta         for ever; 0 allows pure epsilon only
    unit                whose loss is limited: rider, rider-day, trip, event or element. Releases in other units are
                        converted where that is sound and refused where it is not (see `conversion`). A policy
                        without a unit, as earlier versions wrote them, admits no release that has one
    data                what one unit may lose from the data of one day, week, month or year of data time
                        (see `data_limit`). Releases then say which days their rows are of
    not_private         whether releases without a guarantee may be made of this dataset at all; they are never summed
    stated              what the data holder states about the data, for conversions: days_per_rider, trips_per_rider,
                        visits_per_rider, trips_per_day, visits_per_day; and the earlier_unit of lines that an earlier
                        version wrote without one, without which they cannot be added up, and nothing more may be spent

    >>> wv.Policy(10, unit="rider").unit
    'rider'
    """

    total_epsilon: Fraction | None
    per_period_epsilon: Fraction | None
    period_days: int | None
    actors: tuple[str, ...] | None
    total_delta: Fraction
    unit: str | None = None
    not_private: bool = False
    data: DataLimit | None = None
    stated: Stated = field(default_factory=Stated)

    def __init__(
        self,
        total_epsilon: Rational | None,
        per_period_epsilon: Rational | None = None,
        period_days: int | None = None,
        actors: tuple[str, ...] | list[str] | None = None,
        total_delta: Rational = 0,
        unit: str | None = None,
        not_private: bool = False,
        data: DataLimit | dict[str, Any] | None = None,
        **stated: Any,
    ) -> None:
        if total_epsilon is None and data is None:
            raise ParameterError("a policy limits what is spent in all, or per span of data time, or both")
        limit = DataLimit.from_payload(data) if isinstance(data, dict) else data
        if limit is not None:
            limit.check_unit(unit)
        if (per_period_epsilon is None) != (period_days is None):
            raise ParameterError("a limit per period needs both per_period_epsilon and period_days")
        if period_days is not None and (type(period_days) is not int or not 1 <= period_days <= 36_500):
            raise ParameterError(f"period_days must be a whole number from 1 to 36500, not {period_days!r}")
        if isinstance(actors, str) or (
            actors is not None and not all(isinstance(a, str) and a for a in actors)
        ):
            raise ParameterError("actors must be a list of names; leave it out to let everybody spend")
        check_policy_unit("unit", unit)
        said = Stated(**stated)
        if said.earlier_unit is not None and unit is None:
            raise ParameterError("a policy that says the unit of earlier lines must name its own unit too")
        if type(not_private) is not bool:
            raise ParameterError(f"not_private is true or false, not {not_private!r}")
        per_period = per_period_epsilon
        for name, value in {
            "total_epsilon": None if total_epsilon is None else exact_or_zero(total_epsilon, "total_epsilon"),
            "per_period_epsilon": None
            if per_period is None
            else exact_or_zero(per_period, "per_period_epsilon"),
            "period_days": period_days,
            "actors": None if actors is None else tuple(actors),
            "total_delta": exact_or_zero(total_delta, "total_delta"),
            "unit": unit,
            "stated": said,
            "not_private": not_private,
            "data": limit,
        }.items():
            object.__setattr__(self, name, value)
        if self.total_delta >= 1:
            raise ParameterError("a total_delta of 1 or more promises nothing; use a small one such as 1e-6")

    @property
    def period(self) -> timedelta | None:
        return None if self.period_days is None else timedelta(days=self.period_days)

    def payload(self) -> dict[str, Any]:
        """Return it as it stands on a ledger line, without what came after the first version and is not used."""
        per_period = self.per_period_epsilon
        later = {
            "unit": self.unit,
            **vars(self.stated),
            "not_private": self.not_private or None,
            "data": None if self.data is None else self.data.payload(),
        }
        return {
            "total_epsilon": None if self.total_epsilon is None else str(self.total_epsilon),
            "per_period_epsilon": None if per_period is None else str(per_period),
            "period_days": self.period_days,
            "actors": None if self.actors is None else list(self.actors),
            "total_delta": str(self.total_delta),
        } | {name: value for name, value in later.items() if value is not None}

    def changed(self, **given: Any) -> "Policy":
        """This policy with the given parts changed and every other part kept."""
        return Policy.from_payload({**self.payload(), **given})

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
