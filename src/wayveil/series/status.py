"""Where a series stands: what is published, what is missing, what is spent and left, what comes next."""

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, Literal

from wayveil.errors import decimal
from wayveil.plan.plan import Plan
from wayveil.privacy.ledger import Ledger, SpanStatement
from wayveil.privacy.ledger.data_limit import DataTimeSums
from wayveil.privacy.ledger.data_time import Days, label, span_of, spans_in
from wayveil.privacy.zcdp import epsilon_of
from wayveil.series.accounting import budget_words, policy_of
from wayveil.series.folder import SeriesFolder, days_of

State = Literal["published", "unfinished", "lost", "gap", "next", "to come"]
WRONG: tuple[State, ...] = ("gap", "unfinished", "lost")
SIGNS: dict[State, str] = {
    "published": "■",
    "unfinished": "◧",
    "lost": "✗",
    "gap": "□",
    "next": "▷",
    "to come": "·",
}


@dataclass(frozen=True)
class PeriodStatus:
    """One period of the series."""

    label: str
    days: Days
    state: State


@dataclass(frozen=True)
class Year:
    """One span of data time that the budget is for, with its periods and what was spent on its data."""

    label: str
    days: Days
    periods: tuple[PeriodStatus, ...]
    money: SpanStatement
    currency: Literal["epsilon", "rho"]
    delta: Fraction

    def amount(self, of: str) -> Fraction:
        """`spent`, `remaining` or `allowed`, in the currency of the budget."""
        found: Fraction = getattr(getattr(self.money, of), self.currency)
        return found

    @property
    def stated(self) -> Fraction:
        """Return what was spent, as epsilon: at delta, where the budget is in rho."""
        spent = self.amount("spent")
        return spent if self.currency == "epsilon" or spent == 0 else epsilon_of(spent, self.delta)

    def of(self, state: State) -> list[str]:
        """The periods in a state."""
        return [period.label for period in self.periods if period.state == state]

    @property
    def strip(self) -> str:
        """The periods as signs, for a terminal."""
        return "".join(SIGNS[period.state] for period in self.periods)


@dataclass(frozen=True)
class Status:
    """The whole series."""

    name: str
    budget: str
    years: tuple[Year, ...]
    next_due: PeriodStatus

    def words(self) -> list[str]:
        """For people."""
        said = [self.budget]
        for year in self.years:
            at = "" if year.currency == "epsilon" else f" at delta {float(year.delta):g}"
            said.append(f"{year.label}  {year.strip}")
            said.append(
                f"  {len(year.of('published'))} of {len(year.periods)} published; {year.currency} "
                f"{decimal(year.amount('spent'))} spent, {decimal(year.amount('remaining'))} left of "
                f"{decimal(year.amount('allowed'))}; stated as epsilon {decimal(year.stated)}{at}"
            )
            wrong = [(state, year.of(state)) for state in WRONG]
            said += [f"  {state}: {', '.join(names)}" for state, names in wrong if names]
        after = self.next_due.days.last + timedelta(days=1)
        return [*said, f"Next: {self.next_due.label} ({self.next_due.days}), due from {after} on."]

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "series": self.name,
            "budget": self.budget,
            "next_due": self.next_due.label,
            "years": [
                {
                    "year": year.label,
                    "days": str(year.days),
                    "currency": year.currency,
                    **{of: str(year.amount(of)) for of in ("spent", "remaining", "allowed")},
                    "stated_epsilon": str(year.stated),
                    "delta": str(year.delta),
                    "periods": {period.label: period.state for period in year.periods},
                }
                for year in self.years
            ],
        }


def status_of(plan: Plan, ledger: Ledger) -> Status:
    """Look at the folder and the ledger; changes nothing."""
    folder = SeriesFolder(plan.home)
    published = {name: days_of(folder.published(name)) for name in folder.labels()}
    booked = {
        days: state for days, state in ((each.days, each.state) for each in ledger.booked(plan.name)) if days
    }
    ends = [days.last for days in published.values()]
    after = max(ends) + timedelta(days=1) if ends else plan.cadence.first
    coming = span_of(plan.cadence.every, after)
    next_due = PeriodStatus(plan.label(coming), coming, "next")
    limit = policy_of(plan).data
    assert limit is not None
    money = {statement.days: statement for statement in ledger.spans(plan.name)}
    years = []
    for whole in spans_in(plan.span, Days(plan.cadence.first, coming.last)):
        inside = [
            days
            for days in spans_in(plan.cadence.every, whole)
            if whole.covers(days) and days.first >= plan.cadence.first
        ]
        if not inside:
            continue
        periods = [
            PeriodStatus(plan.label(days), days, _state(folder, plan.label(days), days, after, booked))
            for days in inside
        ]
        currency: Literal["epsilon", "rho"] = "epsilon" if limit.rho is None else "rho"
        found = money.get(whole) or _untouched(plan, whole)
        years.append(Year(label(plan.span, whole), whole, tuple(periods), found, currency, plan.delta))
    return Status(plan.name, budget_words(plan), tuple(years), next_due)


def _state(folder: SeriesFolder, name: str, days: Days, after: date, booked: dict[Days, str]) -> State:
    if folder.published(name).exists():
        return "published"
    paid = folder.paid(name)
    if paid.kept or paid.noise.exists() or paid.out.exists():
        return "unfinished"
    if booked.get(days) in ("started", "settled", "committed"):
        return "lost"
    if days.first < after:
        return "gap"
    return "next" if days.first == after else "to come"


def _untouched(plan: Plan, whole: Days) -> SpanStatement:
    """A span that nothing was spent on yet; what an earlier one leaves to it shows once something is."""
    limit = policy_of(plan).data
    assert limit is not None
    sums = DataTimeSums(limit, plan.allowance.unit)
    left = sums.remaining(whole)
    return SpanStatement(label(plan.span, whole), whole, left, sums.lost(whole), left)
