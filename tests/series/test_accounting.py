"""What a plan costs: figures calculated by hand, and bounds checked against an independent accountant."""

from fractions import Fraction
from math import sqrt
from pathlib import Path

import pytest

from series.series_worlds import write_plan
from wayveil.plan.plan import Plan
from wayveil.privacy.ledger.composition import Cost, compose
from wayveil.privacy.zcdp import epsilon_of, rho_for
from wayveil.series.accounting import (
    costs_by_unit,
    noise_by_accounting,
    policy_of,
    releases_in_a_period,
)

DELTA = Fraction(1, 10**6)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return write_plan(tmp_path, epsilon="0.1", period_epsilon="5.2")


def test_the_policy_is_per_year_of_whole_weeks_and_has_no_total(plan: Plan) -> None:
    policy = policy_of(plan)
    assert policy.total_epsilon is None
    assert policy.unit == "rider"
    assert policy.data is not None
    assert (policy.data.span, policy.data.epsilon) == ("iso-year", Fraction(26, 5))


def test_a_daily_riders_year_under_each_unit_is_what_a_hand_calculation_says(plan: Plan) -> None:
    assert releases_in_a_period(plan) == 53
    costs = {cost.unit: cost for cost in costs_by_unit(plan)}
    tenth = Fraction(1, 10)
    # 366 days of the 371 in 53 weeks, two taps each: 52 full weeks and two days.
    assert costs["event"].release == 14 * tenth
    assert costs["event"].year == 2 * 366 * tenth
    assert costs["event"].by_zcdp == epsilon_of(tenth**2 / 2 * (52 * 14**2 + 4**2), DELTA)
    assert costs["rider-day"].day == tenth
    assert costs["rider-day"].release == 7 * tenth
    assert costs["rider-day"].year == 366 * tenth
    assert costs["rider-day"].by_zcdp == epsilon_of(tenth**2 / 2 * (52 * 7**2 + 2**2), DELTA)
    assert costs["rider"].tap == tenth
    assert costs["rider"].day == tenth, "one day is one of the three that are counted: a swap of two trips"
    assert costs["rider"].release == tenth
    assert costs["rider"].year == 53 * tenth
    assert costs["rider"].by_zcdp == epsilon_of(53 * tenth**2 / 2, DELTA)
    assert costs["rider"].chosen
    # By loss distribution the year is cheaper than by zCDP, and both are cheaper than the sum.
    assert costs["rider"].by_pld is not None
    assert costs["rider"].by_pld < costs["rider"].by_zcdp < costs["rider"].year


def test_the_plan_in_rho_of_the_docs_pays_for_every_week_of_the_longest_year() -> None:
    assert 53 * rho_for("1.09", DELTA) <= rho_for(10, DELTA)


def test_the_noise_of_each_accounting_is_what_a_hand_calculation_says(plan: Plan) -> None:
    rows = {row.accounting: row for row in noise_by_accounting(plan)}
    rho = float(rho_for("5.2", DELTA)) / 53
    assert rows["plain sum, Laplace"].spread == pytest.approx(sqrt(2) * 53 / 5.2)
    assert rows["zCDP, Gaussian"].spread == pytest.approx(1 / sqrt(2 * rho))
    assert rows["zCDP, Laplace"].spread == pytest.approx(sqrt(2) / sqrt(2 * rho))
    by_pld = rows["privacy loss distribution, Laplace"]
    assert rows["zCDP, Laplace"].spread > by_pld.spread, (
        "a loss distribution is the sharper account of Laplace noise"
    )
    together = compose([Cost(Fraction(by_pld.epsilon))] * 53, DELTA).epsilon
    assert 5.1 < together <= 5.2
    assert max(rows.values(), key=lambda row: row.spread).accounting == "plain sum, Laplace"
