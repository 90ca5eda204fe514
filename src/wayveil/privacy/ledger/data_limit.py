"""Limit on what one unit may lose from the data of one span of data time, and what it has lost there.

Which losses add up follows from where a unit lies (the proof is in docs/ledger.md).

event, trip, rider-day   lie in one day. Releases of other days cannot tell whether the unit exists, so its loss is the
                         sum over the releases whose days contain its day, and the account keeps the largest of these.
rider                    may be there every day: all releases of the span add up.

In epsilon, losses are summed with their deltas. In rho (zero-concentrated differential privacy), rho is summed; a
release in pure epsilon e is e^2 / 2 of it, and one with a delta but without rho has none and is refused. The sum in rho
is turned into (epsilon, delta) once, at the end, which is what makes many releases of the same riders cheaper.
"""

from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any, NamedTuple, Self

from wayveil.errors import ParameterError
from wayveil.privacy.budget import Rational, exact
from wayveil.privacy.ledger.data_time import SPANS, Days, Span, label, span_of, spans_in
from wayveil.privacy.zcdp import epsilon_of

ZERO = Fraction(0)
IN_ONE_DAY = ("event", "trip", "rider-day")


class Loss(NamedTuple):
    """Cost of releases to one unit."""

    epsilon: Fraction = ZERO
    delta: Fraction = ZERO
    rho: Fraction = ZERO

    def plus(self, other: "Loss", sign: int = 1) -> "Loss":
        return Loss(*(mine + sign * theirs for mine, theirs in zip(self, other, strict=True)))

    def largest(self, other: "Loss") -> "Loss":
        return Loss(*map(max, self, other))


@dataclass(frozen=True, init=False)
class DataLimit:
    """A limit per span of data time. No lifetime total is needed beside it: old data is never released again.

    span          day, week, month, year or iso-year (whole weeks)
    epsilon       what one unit may lose from the data of one span, with at most `delta`; or
    rho           the same in rho. `delta` then is the one at which rho is stated as an epsilon
    carried_over  whether what a span leaves unspent may be spent in later ones, for units that live that long
    since         the first day of data from which on budget is carried over
    """

    span: Span
    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    carried_over: bool
    since: date | None

    def __init__(
        self,
        span: str,
        epsilon: Rational | None = None,
        rho: Rational | None = None,
        delta: Rational = 0,
        carried_over: bool = False,
        since: date | str | None = None,
    ) -> None:
        if span not in SPANS:
            raise ParameterError(f"a span of data time is one of {', '.join(SPANS)}, not {span!r}")
        if (epsilon is None) == (rho is None):
            raise ParameterError("a limit per span of data time is in epsilon or in rho, one of them")
        if rho is not None and not delta:
            raise ParameterError("a limit in rho needs the delta at which it is stated, such as 1e-6")
        if carried_over and since is None:
            raise ParameterError("budget is carried over from a first day on: say which (since)")
        if type(carried_over) is not bool:
            raise ParameterError(f"carried_over is true or false, not {carried_over!r}")
        try:
            first = date.fromisoformat(since) if isinstance(since, str) else since
        except ValueError as error:
            raise ParameterError(f"since is a date such as 2026-01-05, not {since!r}") from error
        for name, value in {
            "span": span,
            "epsilon": None if epsilon is None else exact(epsilon),
            "rho": None if rho is None else exact(rho, "rho"),
            "delta": exact(delta, "delta") if delta else ZERO,
            "carried_over": carried_over,
            "since": first,
        }.items():
            object.__setattr__(self, name, value)
        if self.delta >= 1:
            raise ParameterError("a delta of 1 or more promises nothing; use a small one such as 1e-6")

    @property
    def guarantee(self) -> tuple[Fraction, Fraction]:
        """The epsilon and delta that one unit loses at most from one span."""
        if self.rho is None:
            return self.epsilon or ZERO, self.delta
        return epsilon_of(self.rho, self.delta), self.delta

    def check_unit(self, unit: str | None) -> None:
        """Refuse a limit that has no meaning for the unit of its policy."""
        if unit is None:
            raise ParameterError("a limit per span of data time says whose loss it limits: name the unit")
        if self.carried_over and unit in IN_ONE_DAY:
            raise ParameterError(
                f"one {unit} lies in one day, so there is nothing to carry over: leave carried_over out"
            )

    def payload(self) -> dict[str, Any]:
        """Return it as it stands on a ledger line."""
        facts = {
            "span": self.span,
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "rho": None if self.rho is None else str(self.rho),
            "delta": str(self.delta) if self.delta else None,
            "carried_over": self.carried_over or None,
            "since": None if self.since is None else self.since.isoformat(),
        }
        return {name: value for name, value in facts.items() if value is not None}

    @classmethod
    def from_payload(cls, payload: Any) -> Self:
        try:
            return cls(**payload)
        except TypeError as error:
            raise ParameterError(f"this is no limit per span of data time: {error}") from error


@dataclass(frozen=True)
class SpanStatement:
    """One span of data time: what may be lost from its data, what was, and what is left."""

    label: str
    days: Days
    allowed: Loss
    spent: Loss
    remaining: Loss


@dataclass
class DataTimeSums:
    """Loss of one unit, by where in data time it lies."""

    limit: DataLimit
    unit: str
    undated: Loss = field(default_factory=Loss)
    by_day: dict[date, Loss] = field(default_factory=dict)
    by_span: dict[Days, Loss] = field(default_factory=dict)

    def change(self, days: Days | None, loss: Loss, sign: int = 1) -> None:
        """Add a release, or take one back; one that does not say its days may be of any day."""
        if days is None:
            self.undated = self.undated.plus(loss, sign)
            return
        for span in spans_in(self.limit.span, days):
            self.by_span[span] = self.by_span.get(span, Loss()).plus(loss, sign)
        if self.unit in IN_ONE_DAY:
            for day in days:
                self.by_day[day] = self.by_day.get(day, Loss()).plus(loss, sign)

    def lost(self, days: Days) -> Loss:
        """The most that a unit lost that lies within these days, which are a span or part of one."""
        if self.unit not in IN_ONE_DAY:
            return self.undated.plus(self.by_span.get(span_of(self.limit.span, days.first), Loss()))
        worst = Loss()
        for day in days:
            worst = worst.largest(self.by_day.get(day, Loss()))
        return self.undated.plus(worst)

    def remaining(self, days: Days) -> Loss:
        """Return what may still be spent on days that lie within one span."""
        allowed = Loss(self.limit.epsilon or ZERO, self.limit.delta, self.limit.rho or ZERO)
        if not self.limit.carried_over:
            return _not_below_zero(allowed.plus(self.lost(days), -1))
        # Carried over, the first n spans together may cost n times the limit, for every n from this span on.
        here = span_of(self.limit.span, days.first)
        start = span_of(self.limit.span, self.limit.since or days.first)
        late = [span for span in self.by_span if span.last >= start.first]
        slack, total = None, Loss().plus(self.undated, -1)
        for span in (
            spans_in(self.limit.span, Days(start.first, max([here, *late]).last)) if here >= start else ()
        ):
            total = total.plus(self.by_span.get(span, Loss()), -1).plus(allowed)
            if span >= here:
                slack = total if slack is None else Loss(*map(min, slack, total))
        return Loss() if slack is None else _not_below_zero(slack)

    def statements(self) -> list[SpanStatement]:
        """Every span that something was released of, in order."""
        found = []
        for span in sorted(self.by_span):
            spent, remaining = self.lost(span), self.remaining(span)
            name = label(self.limit.span, span)
            found.append(SpanStatement(name, span, spent.plus(remaining), spent, remaining))
        return found


def _not_below_zero(loss: Loss) -> Loss:
    return loss.largest(Loss())
