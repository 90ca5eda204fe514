"""Cost of a plan to people: the policy that holds it, what a daily rider's year loses, and noise per release.

Every figure is a bound that holds, rounded so that it can only be too large.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from wayveil.errors import WayveilError, plain
from wayveil.plan.plan import Plan
from wayveil.privacy.ledger import DataLimit, Policy
from wayveil.privacy.ledger.composition import Cost, compose
from wayveil.privacy.ledger.conversion import BookedUnit, Stated, steps
from wayveil.privacy.ledger.data_time import span_of, spans_in
from wayveil.privacy.zcdp import epsilon_of, rho_for

# How fine the search for an epsilon per release is, relative; it ends on the safe side.
PRECISION = Fraction(1, 200)
# Above this, an epsilon says nothing any more and its loss distribution is not worth computing.
MEANINGLESS = 100


def policy_of(plan: Plan) -> Policy:
    """The plan's budget as a policy of the ledger: per span of data time, without a lifetime total."""
    allowed, in_rho = plan.allowance, plan.protection.currency == "rho"
    limit = DataLimit(
        plan.span,
        epsilon=None if in_rho else allowed.epsilon,
        rho=rho_for(allowed.epsilon, plan.delta) if in_rho else None,
        delta=plan.delta if in_rho else 0,
        carried_over=allowed.carried_over,
        since=plan.cadence.first if allowed.carried_over else None,
    )
    return Policy(
        None,
        unit=allowed.unit,
        data=limit,
        days_per_rider=allowed.days_per_rider,
        trips_per_day=allowed.trips_per_day,
        visits_per_day=allowed.visits_per_day,
    )


def rho_of_release(plan: Plan) -> Fraction:
    """Return what one release is in rho: pure epsilon e is e^2 / 2."""
    epsilon = plan.protection.epsilon
    return rho_for(epsilon, plan.delta) if plan.protection.currency == "rho" else epsilon**2 / 2


def releases_in_a_period(plan: Plan) -> int:
    """Return how many releases the budget's period has."""
    whole = span_of(plan.span, plan.cadence.first)
    return sum(whole.covers(each) for each in spans_in(plan.cadence.every, whole))


@dataclass(frozen=True)
class UnitCost:
    """Cost of releases for one unit to a daily rider, in epsilon: for one tap, one day, one release, a year of them.

    by_zcdp, by_pld  the year at delta: by zero-concentrated privacy, and by privacy loss distribution (for pure
                     epsilon, where dp-accounting is installed and the sum is not beyond all meaning)
    """

    unit: str
    tap: Fraction
    day: Fraction
    release: Fraction
    year: Fraction
    by_zcdp: Fraction
    by_pld: float | None
    chosen: bool


def costs_by_unit(plan: Plan) -> list[UnitCost]:
    """The year of a rider who taps every day, if releases of this price protected an event, a rider-day or a rider."""
    return [_cost_of(plan, unit) for unit in ("event", "rider-day", "rider")]


def _cost_of(plan: Plan, unit: str) -> UnitCost:
    epsilon, number = plan.protection.epsilon, releases_in_a_period(plan)
    days = len(span_of(plan.cadence.every, plan.cadence.first))
    present = min(plan.allowance.days_per_rider, number * days)  # days of the year on which this rider taps
    releases = min(number, present)
    in_one = min(days, present)
    said = plan.protection
    bounds = {"max_trips": said.max_trips or said.max_taps or 1, "bounding": said.bounding or "draw"}
    taps = plan.allowance.daily_taps
    booked, stated = BookedUnit(unit, bounds), Stated(visits_per_day=taps)
    # How many steps of the unit one tap, one day and one release's worth of days of this rider are.
    # A day of taps of one card is one trip; of a rider who has others, it is no more than that.
    one_day = "trip" if unit == "rider" else "rider-day"
    tap, day = (steps(booked, of, stated, days=1) or 1 for of in ("event", one_day))
    period = {"event": taps * in_one, "rider-day": in_one, "rider": 1}[unit]
    total = {"event": taps * present, "rider-day": present, "rider": releases}[unit]
    # In zCDP a group of k costs k^2 rho. The days are spread over the releases as unevenly as they can be.
    full, rest = divmod(present, days) if unit != "rider" else (releases, 0)
    each = {"event": taps * days, "rider-day": days, "rider": 1}[unit]
    left = {"event": taps * rest, "rider-day": rest, "rider": 0}[unit]
    rho = rho_of_release(plan) * (full * each**2 + left**2)
    costs = [Cost(each * epsilon)] * full + ([Cost(left * epsilon)] if left else [])
    return UnitCost(
        unit,
        tap * epsilon,
        day * epsilon,
        period * epsilon,
        total * epsilon,
        epsilon_of(rho, plan.delta),
        _by_loss_distribution(costs, plan) if plan.protection.currency == "epsilon" else None,
        unit == plan.protected,
    )


def _by_loss_distribution(costs: list[Cost], plan: Plan) -> float | None:
    if sum(cost.epsilon for cost in costs) > MEANINGLESS:
        return None
    try:
        return compose(costs, plan.delta).epsilon
    except WayveilError:  # dp-accounting is not installed
        return None


@dataclass(frozen=True)
class NoisePerRelease:
    """One way to share out the same guarantee: epsilon of one release, and the noise on a count that a unit moves by 1.

    `spread` is the standard deviation.
    """

    accounting: str
    epsilon: float
    delta: Fraction
    spread: float


def noise_by_accounting(plan: Plan) -> list[NoisePerRelease]:
    """Share one guarantee for a unit that is there all year evenly, under each accounting."""
    total, delta, number = plan.allowance.epsilon, plan.delta, releases_in_a_period(plan)
    rho = rho_for(total, delta) / number
    pure = float(total / number)
    by_rho = sqrt(2 * float(rho))
    rows = [NoisePerRelease("plain sum, Laplace", pure, Fraction(0), sqrt(2) / pure)]
    by_pld = _largest_epsilon(total, delta, number)
    if by_pld is not None:
        rows.append(NoisePerRelease("privacy loss distribution, Laplace", by_pld, delta, sqrt(2) / by_pld))
    rows.append(NoisePerRelease("zCDP, Laplace", by_rho, delta, sqrt(2) / by_rho))
    gaussian = NoisePerRelease(
        "zCDP, Gaussian", float(epsilon_of(rho, delta)), delta, sqrt(1 / (2 * float(rho)))
    )
    return [*rows, gaussian]


def _largest_epsilon(total: Fraction, delta: Fraction, number: int) -> float | None:
    """The largest epsilon of one release such that all of them cost no more than the total, by loss distribution."""
    low, grown = total / number, Fraction(2)

    def fits(epsilon: Fraction) -> bool:
        return compose([Cost(epsilon)] * number, delta).epsilon <= total

    try:
        while grown - 1 > PRECISION:
            if low * grown <= total and fits(low * grown):
                low *= grown
            else:
                grown = 1 + (grown - 1) / 2
    except WayveilError:  # dp-accounting is not installed
        return None
    return float(low)


def budget_words(plan: Plan) -> str:
    """The budget in a sentence."""
    allowed, number, every = plan.allowance, releases_in_a_period(plan), plan.cadence.every
    delta = f" at delta {float(plan.delta):g}" if plan.protection.currency == "rho" else ""
    carried = ", and what is left is carried over" if allowed.carried_over else ""
    return (
        f"Every release costs epsilon {plain(plan.protection.epsilon)}{delta} for one {plan.protected}. From the data "
        f"of one {allowed.span} a {allowed.unit} may lose epsilon {plain(allowed.epsilon)}{delta} in all; the "
        f"{allowed.span} has {number} {every}{'s' if number > 1 else ''}{carried}."
    )
