"""Budgets per span of data time: what adds up, what does not, calculated by hand."""

from datetime import date, timedelta
from fractions import Fraction

import pytest

from privacy.ledger_tools import FakeClock
from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy.ledger import DataLimit, Days, Ledger, LedgerError, LineFacts, Policy, open_ledger
from wayveil.privacy.ledger.data_time import label, span_of, spans_in
from wayveil.privacy.units import Event, Rider, RiderDay, Trip, Unit, Window
from wayveil.privacy.zcdp import epsilon_of, rho_for

pytest_plugins = ["privacy.ledger_places"]

TAPS = "taps"
MONDAY = date(2025, 12, 29)  # of the first ISO week of 2026, a year with 53 weeks


def week(number: int) -> Days:
    first = MONDAY + timedelta(days=7 * (number - 1))
    return Days(first, first + timedelta(days=6))


@pytest.fixture
def ledger(tmp_path, clock: FakeClock) -> Ledger:
    return open_ledger(tmp_path / "ledger", clock=clock)


def limited(ledger: Ledger, unit: str, limit: DataLimit, **stated: int) -> None:
    ledger.set_policy(TAPS, Policy(None, unit=unit, data=limit, **stated), actor="officer")


def reserve(
    ledger: Ledger, unit: Unit, days: Days | None, epsilon: object = 1, rho: object = None, **more: object
):
    facts = LineFacts(days=days, rho=rho)
    return ledger.reserve(TAPS, epsilon, actor="ana", mechanism="counts", unit=unit, facts=facts, **more)


def test_weeks_and_years_are_those_of_the_calendar() -> None:
    assert str(span_of("week", date(2026, 1, 1))) == "2025-12-29/2026-01-04"
    assert str(span_of("iso-year", date(2026, 1, 1))) == "2025-12-29/2027-01-03"
    assert len(span_of("iso-year", date(2026, 6, 1))) == 53 * 7
    assert len(span_of("iso-year", date(2025, 6, 1))) == 52 * 7
    assert str(span_of("month", date(2028, 2, 3))) == "2028-02-01/2028-02-29"
    assert [label("week", span) for span in spans_in("week", week(53))] == ["2026-W53"]
    assert [label("month", span) for span in spans_in("month", week(1))] == ["2025-12", "2026-01"]


def test_a_riders_weeks_add_up_and_the_53rd_is_refused(ledger: Ledger) -> None:
    limited(ledger, "rider", DataLimit("iso-year", 52))
    for number in range(1, 53):
        reserve(ledger, Rider(2), week(number))
    (year,) = ledger.spans(TAPS)
    assert (year.label, year.spent.epsilon, year.remaining.epsilon) == ("2026", 52, 0)
    with pytest.raises(BudgetExceededError, match="in the data of 2026, has 0 left: 1 too much") as refused:
        reserve(ledger, Rider(2), week(53))
    assert (refused.value.requested, refused.value.remaining) == (1, 0)
    reserve(ledger, Rider(2), Days(date(2027, 1, 4), date(2027, 1, 10)))
    assert [span.spent.epsilon for span in ledger.spans(TAPS)] == [52, 1]
    assert ledger.verify().ok


@pytest.mark.parametrize(
    ("named", "unit"), [("event", Event()), ("trip", Trip()), ("rider-day", RiderDay(2))]
)
def test_disjoint_weeks_cost_units_of_one_day_nothing_more(ledger: Ledger, named: str, unit: Unit) -> None:
    limited(ledger, named, DataLimit("iso-year", "1.5"))
    for number in range(1, 54):
        reserve(ledger, unit, week(number))
    assert ledger.spans(TAPS)[0].spent.epsilon == 1
    # A second look at days that were released adds up on those days: 1 + 1/2, and no more.
    again = Days(week(7).last, week(8).last)
    reserve(ledger, unit, again, "1/2")
    assert ledger.spans(TAPS)[0].spent.epsilon == Fraction(3, 2)
    with pytest.raises(BudgetExceededError, match=r"needs epsilon 0\.1, but .* has 0 left"):
        reserve(ledger, unit, Days(week(8).last, week(9).last), "0.1")
    reserve(ledger, unit, week(9), "0.1")


def test_a_release_across_new_year_costs_both_years(ledger: Ledger) -> None:
    limited(ledger, "rider", DataLimit("year", 2))
    reserve(ledger, Rider(1), week(1))
    assert {span.label: span.spent.epsilon for span in ledger.spans(TAPS)} == {"2025": 1, "2026": 1}


def test_a_release_that_does_not_say_its_days_is_refused_and_older_ones_count_everywhere(
    ledger: Ledger,
) -> None:
    ledger.set_policy(TAPS, Policy(10, unit="rider"), actor="officer")
    reserve(ledger, Rider(1), None, 2)
    limited(ledger, "rider", DataLimit("year", 3))
    with pytest.raises(LedgerError, match="which days its rows are of"):
        reserve(ledger, Rider(1), None)
    reserve(ledger, Rider(1), week(10))
    assert ledger.spans(TAPS)[0].spent.epsilon == 3
    with pytest.raises(BudgetExceededError):
        reserve(ledger, Rider(1), Days(date(2031, 5, 1), date(2031, 5, 7)), "1.5")


def test_what_is_left_is_carried_over_where_the_policy_says_so(ledger: Ledger) -> None:
    limited(ledger, "rider", DataLimit("month", 4, carried_over=True, since="2026-01-01"))

    def of(month: int) -> Days:
        return span_of("month", date(2026, month, 1))

    reserve(ledger, Rider(1), of(1), 1)
    reserve(ledger, Rider(1), of(2), 7)  # 4 of its own and 3 left from January
    with pytest.raises(BudgetExceededError) as refused:
        reserve(ledger, Rider(1), of(1), "0.5")  # January's rest is spent in February
    assert refused.value.remaining == 0
    with pytest.raises(BudgetExceededError) as refused:
        reserve(ledger, Rider(1), of(3), 5)
    assert refused.value.remaining == 4
    reserve(ledger, Rider(1), of(4), 8)
    assert [span.allowed.epsilon for span in ledger.spans(TAPS)] == [1, 7, 8]
    with pytest.raises(BudgetExceededError):
        reserve(ledger, Rider(1), Days(date(2025, 12, 1), date(2025, 12, 2)), 1)


def test_a_week_of_rider_days_is_seven_of_them_for_a_rider(ledger: Ledger) -> None:
    limited(ledger, "rider", DataLimit("iso-year", 100))
    reserve(ledger, RiderDay(2), week(3))
    assert ledger.spans(TAPS)[0].spent.epsilon == 7
    with pytest.raises(LedgerError, match="nobody has said how many"):
        reserve(ledger, Event(), week(4))
    limited(ledger, "rider", DataLimit("iso-year", 100), days_per_rider=5, visits_per_day=4)
    assert ledger.spans(TAPS)[0].spent.epsilon == 5
    reserve(ledger, Event(), week(4), "0.1")
    assert ledger.spans(TAPS)[0].spent.epsilon == 5 + 7 * 4 * Fraction(1, 10)


def test_a_window_is_charged_as_an_event_on_its_days(ledger: Ledger) -> None:
    limited(ledger, "event", DataLimit("year", 1))
    for number in (2, 3):
        reserve(ledger, Window(seconds=3600, max_visits=2), week(number))
    assert ledger.spans(TAPS)[0].spent.epsilon == 1


def test_deltas_of_one_span_add_up_and_have_a_limit_of_their_own(ledger: Ledger) -> None:
    limited(ledger, "rider", DataLimit("week", 10, delta="2e-6"))
    for _ in range(2):
        reserve(ledger, Rider(1), week(2), delta="1e-6")
    (span,) = ledger.spans(TAPS)
    assert (span.spent.delta, span.remaining.delta) == (Fraction(2, 10**6), 0)
    with pytest.raises(
        BudgetExceededError, match=r"needs delta 1e-09, .* in the data of 2026-W02, has 0 left"
    ):
        reserve(ledger, Rider(1), week(2), delta="1e-9")
    reserve(ledger, Rider(1), week(2))
    reserve(ledger, Rider(1), week(3), delta="2e-6")
    limited(ledger, "rider", DataLimit("week", 10))
    with pytest.raises(BudgetExceededError, match="needs delta"):
        reserve(ledger, Rider(1), week(4), delta="1e-9")


def test_a_limit_in_rho_adds_rho_and_is_stated_once(ledger: Ledger) -> None:
    yearly = rho_for(10, "1e-6")
    limited(ledger, "rider", DataLimit("iso-year", rho=yearly, delta="1e-6"))
    each = yearly / 52
    for number in range(1, 53):
        reserve(ledger, Rider(1), week(number), epsilon_of(each, "1e-6"), delta="1e-6", rho=each)
    (year,) = ledger.spans(TAPS)
    assert year.spent.rho == yearly
    assert year.remaining.rho == 0
    policy = ledger.policy(TAPS)
    assert policy is not None
    assert policy.data is not None
    assert policy.data.guarantee[0] <= Fraction("10.0001")
    with pytest.raises(BudgetExceededError, match="needs rho"):
        reserve(ledger, Rider(1), week(53), "0.1")
    assert year.spent.epsilon > 5 * 10, "summed one by one, the same releases would be stated far worse"


def test_pure_epsilon_is_half_its_square_in_rho_and_a_bare_delta_has_none(ledger: Ledger) -> None:
    limited(ledger, "rider", DataLimit("year", rho="1/2", delta="1e-6"))
    reserve(ledger, Rider(1), week(5), "0.5")
    assert ledger.spans(TAPS)[0].spent.rho == Fraction(1, 8)
    with pytest.raises(LedgerError, match="has a delta and no rho"):
        reserve(ledger, Rider(1), week(6), "0.1", delta="1e-9")


def test_what_was_cancelled_or_settled_is_given_back_to_its_days(ledger: Ledger) -> None:
    limited(ledger, "rider-day", DataLimit("year", 1))
    first = reserve(ledger, RiderDay(1), week(5))
    first.cancel("nothing drawn")
    second = reserve(ledger, RiderDay(1), week(5))
    second.start()
    second.settle(Fraction(1, 4), "stopped")
    assert ledger.spans(TAPS)[0].spent.epsilon == Fraction(1, 4)
    reserve(ledger, RiderDay(1), week(5), "3/4")
    reopened = Ledger(ledger._storage, ledger._clock)
    assert reopened.spans(TAPS) == ledger.spans(TAPS)


def test_a_dead_run_is_taken_up_only_for_exactly_the_same(ledger: Ledger) -> None:
    limited(ledger, "rider", DataLimit("year", 2))
    first = reserve(ledger, Rider(1), week(5), again=True)
    first.start()
    found = reserve(ledger, Rider(1), week(5), again=True)
    assert (found.id, found.started) == (first.id, True)
    found.start()  # writes no second line: it is the same run
    other = reserve(ledger, Rider(1), week(6), again=True)
    assert other.id != first.id
    found.commit("0" * 64)
    with pytest.raises(BudgetExceededError):
        reserve(ledger, Rider(1), week(5), again=True)


@pytest.mark.parametrize(
    "broken",
    [
        {"span": "fortnight", "epsilon": 1},
        {"span": "year"},
        {"span": "year", "epsilon": 1, "rho": 1},
        {"span": "year", "rho": 1},
        {"span": "year", "epsilon": 1, "carried_over": True},
        {"span": "year", "epsilon": 1, "since": "yesterday"},
        {"span": "year", "epsilon": 1, "colour": "red"},
    ],
)
def test_limits_without_meaning_are_refused(broken: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        DataLimit.from_payload(broken)


def test_policies_without_meaning_are_refused() -> None:
    with pytest.raises(ParameterError, match="in all, or per span"):
        Policy(None, unit="rider")
    with pytest.raises(ParameterError, match="name the unit"):
        Policy(None, data=DataLimit("year", 1))
    with pytest.raises(ParameterError, match="nothing to carry over"):
        Policy(None, unit="trip", data=DataLimit("year", 1, carried_over=True, since="2026-01-01"))
    policy = Policy(5, unit="rider", data={"span": "year", "epsilon": "1"}, visits_per_day=3)
    assert Policy.from_payload(policy.payload()) == policy
