"""Admission of a reservation: by whom, for which unit, and within which limits of its dataset's policy."""

from datetime import datetime
from fractions import Fraction
from shlex import quote

from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy.ledger.account import Account, loss_of
from wayveil.privacy.ledger.conversion import BookedUnit, missing
from wayveil.privacy.ledger.data_limit import DataLimit, Loss
from wayveil.privacy.ledger.data_time import Days, label, spans_in
from wayveil.privacy.ledger.lines import LedgerError, Line
from wayveil.privacy.ledger.policy import Policy

MOST_DAYS = 36_500


def admit_reservation(line: Line, account: Account, now: datetime, replaying: bool) -> None:
    """Raise unless this reservation may be the next line of its account; `now` is accounting time."""
    _check_amounts(line)
    policy = account.policy
    if policy is not None and policy.actors is not None and line.actor not in policy.actors:
        named = ", ".join(policy.actors) or "nobody"
        raise LedgerError(f"{line.actor} may not spend on {line.dataset}: its policy names {named}")
    if not line.private:
        if policy is not None and not policy.not_private:
            raise LedgerError(
                f"a release without a guarantee may not be made of {line.dataset}: its policy does not allow it "
                "(`wayveil ledger policy --allow-not-private`; for made-up data, `--ledger none`)"
            )
        return
    if replaying and _converted_otherwise(line, account):
        return
    factor = _factor(line, account)
    if policy is None:
        return
    _admit_in_all(line, account, policy, factor, now)
    if policy.data is not None:
        _admit_in_data_time(line, account, policy.data, factor)


def _check_amounts(line: Line) -> None:
    if line.epsilon is None or line.delta is None or line.epsilon < 0 or not 0 <= line.delta < 1:
        raise ParameterError("a reservation needs an epsilon of 0 or more and a delta from 0 to below 1")
    if line.epsilon == line.delta == 0:
        raise ParameterError("a reservation of epsilon 0 and delta 0 buys nothing")
    if line.days is not None and len(line.days) > MOST_DAYS:
        raise ParameterError(f"the rows of a release are of at most {MOST_DAYS} days")


def _admit_in_all(line: Line, account: Account, policy: Policy, factor: int, now: datetime) -> None:
    """The limits for ever and per period."""
    place, epsilon = f"the ledger for {line.dataset}", factor * (line.epsilon or Fraction(0))
    in_period = f"{place}, in any {policy.period_days} days,"
    limits = [
        (epsilon, account.remaining_in_total(), "epsilon", place),
        (line.delta or Fraction(0), account.remaining_delta(), "delta", place),
        (epsilon, account.remaining_in_period(now), "epsilon", in_period),
    ]
    for requested, remaining, currency, where in limits:
        if remaining is not None and requested > remaining:
            raise BudgetExceededError(
                _said(line, factor, policy.unit),
                requested=requested,
                remaining=remaining,
                where=where,
                currency=currency,
                remedy=_allow_delta(line.dataset) if currency == "delta" else "",
            )


def _admit_in_data_time(line: Line, account: Account, limit: DataLimit, factor: int) -> None:
    """The limit per span of data time, for every span that the release has days of."""
    if line.days is None:
        raise LedgerError(
            f"the policy of {line.dataset} limits what the data of one {limit.span} may cost: a release must say "
            "which days its rows are of (--days 2026-01-05/2026-01-11), and rows of other days are refused"
        )
    if limit.rho is not None and line.delta and line.rho is None:
        raise LedgerError(
            f"the policy of {line.dataset} counts in rho, and {line.mechanism or 'the release'} has a delta and no "
            "rho: release in pure epsilon or with --currency rho"
        )
    loss = loss_of(line, factor * (line.epsilon or Fraction(0)))
    for span in spans_in(limit.span, line.days):
        inside = Days(max(span.first, line.days.first), min(span.last, line.days.last))
        left = account.remaining_of(inside) or Loss()
        in_epsilon = [("epsilon", loss.epsilon, left.epsilon), ("delta", loss.delta, left.delta)]
        in_rho = [("rho", loss.rho, left.rho)]
        for currency, requested, remaining in in_epsilon if limit.rho is None else in_rho:
            if requested > remaining:
                raise BudgetExceededError(
                    _said(line, factor, account.data_unit),
                    requested=requested,
                    remaining=remaining,
                    where=f"the ledger for {line.dataset}, in the data of {label(limit.span, span)},",
                    currency=currency,
                )


def _converted_otherwise(line: Line, account: Account) -> bool:
    """Tell whether an earlier version could count this line: it charged trained releases of riders once for a trip.

    Its lines stand. They have no sum any more, so that nothing can be added to them.
    """
    other = account.unsummed()
    return (line.trained and account.factor(line) is None) or (other is not None and other.line.trained)


def _factor(line: Line, account: Account) -> int:
    """Return how often the account is charged, or why nobody can say."""
    policy, name = account.policy, line.dataset
    new = None if line.unit is None else BookedUnit.from_payload(line.unit)
    other = account.unsummed()
    if policy is None:
        if account.factor(line) is None:
            raise LedgerError(
                f"the releases of {name} so far protect another unit than `{new}`: set a policy that names the "
                "unit whose loss counts"
            )
        return 1
    if policy.unit is None and new is not None:
        raise LedgerError(
            f"the policy of {name} does not say whose loss it limits: name the unit with "
            f"`wayveil ledger policy --dataset {quote(name)} --unit {new}`"
        )
    if other is not None and other.line.unit is None:
        raise LedgerError(
            f"{name} has releases whose lines do not say whom they protect (an earlier version wrote them), so no "
            f"sum is known: state it with `wayveil ledger policy --dataset {quote(name)} --earlier-unit UNIT`"
        )
    factor = account.factor(line)
    unsummed = line if factor is None else None if other is None else other.line
    if unsummed is not None:
        raise LedgerError(_not_convertible(unsummed, policy.unit))
    return factor or 1


def _not_convertible(line: Line, policy_unit: str | None) -> str:
    """Why a release cannot be charged to the policy's unit, and the way on."""
    name = line.dataset
    if line.unit is None or policy_unit is None:
        return f"a release of {name} must say whom it protects: its policy limits `{policy_unit}`"
    unit = BookedUnit.from_payload(line.unit)
    said = (
        f"a release that protects one `{unit}` cannot be added to what a `{policy_unit}` may lose of {name}: "
    )
    if line.delta or line.rho:
        return (
            f"{said}it would count several times, and a release with a delta can only count once. Release "
            f"{_wanted(policy_unit)}, in pure epsilon, or set a policy for the unit `{unit}`"
        )
    return (
        f"{said}nobody has said how many a {policy_unit} has. Release {_wanted(policy_unit)}, or state it with "
        f"`wayveil ledger policy --dataset {quote(name)} {missing(unit, policy_unit)} NUMBER`"
    )


def _wanted(policy_unit: str) -> str:
    """For which unit a release suits a policy: an element is none of a release."""
    return f"for the unit `{'rider' if policy_unit == 'element' else policy_unit}`"


def _said(line: Line, factor: int, unit: str | None) -> str:
    counted = f" ({factor} x, for the unit `{unit}`)" if factor > 1 else ""
    return (line.mechanism or "the release") + counted


def _allow_delta(dataset: str) -> str:
    """A policy allows pure epsilon only, unless it says more: whoever made one in passing does not know that."""
    return f"Allow some: `wayveil ledger policy --dataset {quote(dataset)} --total-delta 1e-5`."
