"""The life of a reservation, policies, periods and clocks, on both kinds of storage."""

from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.ledger_tools import FakeClock
from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy.ledger import Ledger, LedgerError, LineFacts, Policy, open_ledger
from wayveil.privacy.ledger.book import Book
from wayveil.privacy.ledger.lines import Kind, Line

pytest_plugins = ["privacy.ledger_places"]

TAPS = "taps"


@pytest.fixture
def ledger(place: str, clock: FakeClock) -> Ledger:
    return open_ledger(place, clock=clock)


def reserve(ledger: Ledger, epsilon: object = 1, delta: object = 0, actor: str = "ana", **more: object):
    facts = LineFacts(**more)
    return ledger.reserve(TAPS, epsilon, delta, actor=actor, mechanism="prefix tree", facts=facts)


def test_a_release_walks_from_reserve_to_commit_and_every_step_is_a_line(ledger: Ledger) -> None:
    ledger.set_policy(TAPS, Policy("3/2"), actor="officer")
    reservation = reserve(ledger, "0.1", purpose="monthly figures")
    reservation.start()
    head = reservation.commit("cafe", {"trips": 12})

    lines = ledger.entries(TAPS)
    assert [line.kind for line in lines] == ["policy", "reserve", "start", "commit"]
    assert [line.sequence for line in lines] == [1, 2, 3, 4]
    assert lines[1].epsilon == Fraction(1, 10)
    assert '"epsilon":"1/10"' in lines[1].text
    assert lines[1].purpose == "monthly figures"
    assert lines[3].payload == {"release": "cafe", "summary": {"trips": 12}}
    assert {line.reservation for line in lines[1:]} == {reservation.id}
    assert head == ledger.head() == lines[3].head
    assert reservation.head == lines[1].head
    assert ledger.spent(TAPS) == Fraction(1, 10)
    assert ledger.remaining(TAPS) == Fraction(14, 10)
    assert ledger.verify().ok


def test_a_run_that_settles_has_spent_what_it_bought_and_is_over(ledger: Ledger) -> None:
    ledger.set_policy(TAPS, Policy(1), actor="officer")
    reservation = reserve(ledger, 1)
    reservation.start()
    assert ledger.remaining(TAPS) == 0
    head = reservation.settle(Fraction(1, 25), "too few trips")
    assert ledger.spent(TAPS) == Fraction(1, 25)
    assert ledger.remaining(TAPS) == Fraction(24, 25)
    assert ledger.open_reservations() == []
    line = ledger.entries(TAPS)[-1]
    assert (line.kind, line.epsilon, line.payload) == ("settle", Fraction(1, 25), {"reason": "too few trips"})
    assert [summary.settled for summary in ledger.summary()] == [1]
    assert ledger.verify([head]).ok
    # With a delta, a price that followed from answers counts as if all of it had been spent.
    assert ledger.composition(TAPS, "1e-9").epsilon > 0.9
    for step in (reservation.start, lambda: reservation.commit("cafe"), lambda: reservation.cancel("no")):
        with pytest.raises(LedgerError, match="was settled"):
            step()
    with pytest.raises(LedgerError, match="was settled"):
        reservation.settle(Fraction(1, 50), "again, for less")
    reserve(ledger, "24/25")
    assert ledger.remaining(TAPS) == 0


def test_nothing_is_settled_before_the_start_or_for_nothing_or_for_more_than_was_reserved(
    ledger: Ledger,
) -> None:
    reservation = reserve(ledger, "1/2")
    with pytest.raises(LedgerError, match="never started"):
        reservation.settle(Fraction(1, 4), "early")
    reservation.start()
    with pytest.raises(LedgerError, match="at most what it reserved"):
        reservation.settle(Fraction(3, 4), "more")
    with pytest.raises(ParameterError, match="greater than 0"):
        reservation.settle(Fraction(0), "nothing")
    with pytest.raises(LedgerError, match="more than 0"):  # a line that somebody else wrote
        ledger._append("settle", "ana", reservation=reservation.id, epsilon=Fraction(-1, 2), payload={})
    assert ledger.spent(TAPS) == Fraction(1, 2)


def test_what_is_not_in_pure_epsilon_stays_spent_whole(ledger: Ledger) -> None:
    for more in ({"delta": "1/1000"}, {"rho": "1/8"}):
        reservation = reserve(ledger, 1, **more)
        reservation.start()
        with pytest.raises(LedgerError, match="not in pure epsilon"):
            reservation.settle(Fraction(1, 4), "stopped")
    assert ledger.spent(TAPS) == 2


def test_a_settlement_gives_back_inside_a_period_too(ledger: Ledger, clock: FakeClock) -> None:
    ledger.set_policy(TAPS, Policy(10, period_days=7, per_period_epsilon=1), actor="officer")
    reservation = reserve(ledger, 1)
    reservation.start()
    reservation.settle(Fraction(1, 4), "stopped")
    assert ledger.remaining(TAPS) == Fraction(3, 4)
    clock.now += timedelta(days=8)
    reserve(ledger, 1)
    assert ledger.remaining(TAPS) == 0
    assert ledger.spent(TAPS) == Fraction(5, 4)


def test_a_refusal_says_requested_remaining_and_difference_and_spends_nothing(ledger: Ledger) -> None:
    ledger.set_policy(TAPS, Policy(1), actor="officer")
    reserve(ledger, "3/4")
    with pytest.raises(BudgetExceededError, match=r"tree needs epsilon 0.5, .* has 0.25 left: 0.25 too much"):
        reserve(ledger, "1/2")
    assert ledger.spent(TAPS) == Fraction(3, 4)
    assert ledger.head().count == 2
    reserve(ledger, "1/4")
    assert ledger.remaining(TAPS) == 0


def test_a_crash_after_reserve_leaves_the_budget_spent(place: str, clock: FakeClock) -> None:
    first = open_ledger(place, clock=clock)
    first.set_policy(TAPS, Policy(1), actor="officer")
    reserve(first)
    clock.move(hours=2)
    later = open_ledger(place, clock=clock)
    assert later.spent(TAPS) == 1
    (open_one,) = later.open_reservations(TAPS)
    assert open_one.age == timedelta(hours=2)
    assert open_one.may_be_cancelled
    assert open_one.reserved_at == clock.now - timedelta(hours=2)
    with pytest.raises(BudgetExceededError):
        reserve(later)


def test_a_reservation_that_never_started_can_be_cancelled_by_hand_from_elsewhere(place: str) -> None:
    reservation = reserve(open_ledger(place))
    ledger = open_ledger(place)
    ledger.cancel(reservation.id, actor="officer", reason="the machine died")
    assert ledger.spent(TAPS) == 0
    assert ledger.open_reservations() == []
    assert ledger.entries()[-1].actor == "officer"
    assert ledger.entries()[-1].payload == {"reason": "the machine died"}
    with pytest.raises(LedgerError, match="was cancelled: reserve again"):
        reservation.start()


def test_a_started_reservation_stays_spent_for_ever(ledger: Ledger) -> None:
    reservation = reserve(ledger)
    reservation.start()
    with pytest.raises(LedgerError, match="noise may have been drawn"):
        reservation.cancel("changed my mind")
    assert ledger.spent(TAPS) == 1
    assert [item.started for item in ledger.open_reservations(TAPS)] == [True]


def test_a_reservation_pays_for_a_single_run(ledger: Ledger) -> None:
    reservation = reserve(ledger)
    reservation.start()
    with pytest.raises(LedgerError, match="each one pays for a single run"):
        ledger.reservation(reservation.id).start()
    reservation.commit("cafe")
    for step in (reservation.start, lambda: reservation.commit("beef"), lambda: reservation.cancel("no")):
        with pytest.raises(LedgerError, match="was committed already"):
            step()


def test_a_commit_without_start_and_an_unknown_reservation_are_refused(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="was never started"):
        reserve(ledger).commit("cafe")
    with pytest.raises(LedgerError, match="has no reservation 'nope'"):
        ledger.start("nope", actor="ana")


def test_without_a_policy_everything_is_recorded_and_nothing_refused(ledger: Ledger) -> None:
    reserve(ledger, 1000)
    assert ledger.spent(TAPS) == 1000
    assert ledger.remaining(TAPS) is None
    assert ledger.policy(TAPS) is None


def test_a_policy_lowered_below_what_is_spent_stops_all_spending(ledger: Ledger) -> None:
    ledger.set_policy(TAPS, Policy(5), actor="officer")
    reserve(ledger, 3)
    ledger.set_policy(TAPS, Policy(2), actor="officer")
    assert ledger.remaining(TAPS) == 0
    with pytest.raises(BudgetExceededError, match="0 left"):
        reserve(ledger, "1/1000")
    ledger.set_policy(TAPS, Policy(4), actor="officer")
    assert ledger.remaining(TAPS) == 1
    assert ledger.policy(TAPS) == Policy(4)


def test_only_the_named_actors_may_spend(ledger: Ledger) -> None:
    ledger.set_policy(TAPS, Policy(5, actors=["ana", "ben"]), actor="officer")
    reserve(ledger, actor="ben")
    with pytest.raises(LedgerError, match="eve may not spend on taps: its policy names ana, ben"):
        reserve(ledger, actor="eve")
    ledger.set_policy(TAPS, Policy(5, actors=[]), actor="officer")
    with pytest.raises(LedgerError, match="names nobody"):
        reserve(ledger, actor="ana")
    assert ledger.spent(TAPS) == 1


def test_delta_has_its_own_limit_and_zero_allows_none(ledger: Ledger) -> None:
    ledger.set_policy(TAPS, Policy(5), actor="officer")
    with pytest.raises(BudgetExceededError, match="delta"):
        reserve(ledger, 1, "1e-9")
    ledger.set_policy(TAPS, Policy(5, total_delta="1e-6"), actor="officer")
    reserve(ledger, 1, "1e-6", rho="1/20")
    assert ledger.entries()[-1].rho == Fraction(1, 20)
    with pytest.raises(BudgetExceededError, match=r"needs delta 1e-09, .* has 0 left.*--total-delta 1e-5`"):
        reserve(ledger, 1, "1e-9")
    (summary,) = ledger.summary()
    assert (summary.spent, summary.spent_delta, summary.remaining_delta) == (1, Fraction(1, 10**6), 0)


def test_the_period_is_a_sliding_window(ledger: Ledger, clock: FakeClock) -> None:
    ledger.set_policy(TAPS, Policy(10, per_period_epsilon=1, period_days=30), actor="officer")
    reserve(ledger, "1/2")
    clock.move(days=20)
    reserve(ledger, "1/2")
    with pytest.raises(BudgetExceededError, match="in any 30 days, has 0 left"):
        reserve(ledger, "1/2")
    clock.move(days=10, microseconds=-1)
    assert ledger.remaining(TAPS) == 0
    clock.move(microseconds=1)
    assert ledger.remaining(TAPS) == Fraction(1, 2)
    reserve(ledger, "1/2")
    with pytest.raises(BudgetExceededError):
        reserve(ledger, "1/1000")
    assert ledger.spent(TAPS) == Fraction(3, 2)


def test_the_total_binds_even_when_the_period_has_room(ledger: Ledger, clock: FakeClock) -> None:
    ledger.set_policy(TAPS, Policy("3/2", per_period_epsilon=1, period_days=1), actor="officer")
    reserve(ledger, 1)
    clock.move(days=2)
    assert ledger.remaining(TAPS) == Fraction(1, 2)
    with pytest.raises(BudgetExceededError, match=r"has 0\.5 left"):
        reserve(ledger, 1)


def test_a_cancelled_reservation_frees_its_period_too(ledger: Ledger, clock: FakeClock) -> None:
    ledger.set_policy(TAPS, Policy(10, per_period_epsilon=1, period_days=30), actor="officer")
    reservation = reserve(ledger, 1)
    reservation.cancel("wrong file")
    assert ledger.remaining(TAPS) == 1


@pytest.mark.parametrize("days", [-40, -1, -10_000])
def test_a_clock_set_back_brings_no_budget_back(place: str, clock: FakeClock, days: int) -> None:
    ledger = open_ledger(place, clock=clock)
    ledger.set_policy(TAPS, Policy(10, per_period_epsilon=1, period_days=30), actor="officer")
    reserve(ledger, "1/2")
    clock.move(days=days)
    reserve(ledger, "1/2")
    assert ledger.entries()[-1].time == clock.now, "the line says what the clock said"
    for opened in (ledger, open_ledger(place, clock=clock)):
        assert opened.remaining(TAPS) == 0
        with pytest.raises(BudgetExceededError):
            reserve(opened, "1/2")
    # The line written in the "past" counts from the latest time known then, not from its own time stamp.
    clock.move(days=-days + 29)
    assert ledger.remaining(TAPS) == 0
    clock.move(days=1)
    assert ledger.remaining(TAPS) == 1
    assert ledger.verify().ok


steps = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), st.integers(1, 9)),
        st.tuples(st.just("cancel"), st.integers(0, 30)),
        st.tuples(st.just("move"), st.integers(-20, 40)),
        st.tuples(st.just("period"), st.integers(1, 50)),
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None, database=None)
@given(steps)
def test_what_remains_in_the_period_is_what_a_slow_recount_says(walk: list[tuple[str, int]]) -> None:
    book, clock = Book("genesis"), FakeClock()
    reserved: list[tuple[str, datetime, int]] = []
    written: list[datetime] = []
    days = None

    def write(kind: Kind, **fields: object) -> None:
        line = Line(book.head.count + 1, clock.now, "ana", kind, TAPS, book.head.hash, **fields)
        book.admit(line)
        book.apply(line)
        written.append(clock.now)

    for word, number in walk:
        if word == "move":
            clock.move(days=number)
        elif word == "cancel" and number < len(reserved):
            write("cancel", reservation=reserved.pop(number)[0])
        elif word == "period":
            days = number
            write("policy", payload=Policy(10_000, per_period_epsilon=5_000, period_days=days).payload())
        elif word == "reserve":
            write("reserve", reservation=str(len(written)), epsilon=Fraction(number), delta=Fraction(0))
            reserved.append((str(len(written) - 1), max(written), number))
        start = max([clock.now, *written]) - timedelta(days or 0)
        recount = 5_000 - sum(epsilon for _, at, epsilon in reserved if at > start)
        assert book.account(TAPS).remaining_in_period(book.clock(clock.now)) == (recount if days else None)


def test_datasets_do_not_share_budgets(ledger: Ledger) -> None:
    ledger.set_policy(TAPS, Policy(1), actor="officer")
    ledger.set_policy("gps", Policy(2), actor="officer")
    reserve(ledger).start()
    other = ledger.reserve("gps", 1, actor="ana", mechanism="n-grams")
    other.start()
    other.commit("cafe")
    assert ledger.remaining("gps") == 1
    assert [(s.dataset, s.committed, s.open, s.cancelled) for s in ledger.summary()] == [
        ("gps", 1, 0, 0),
        (TAPS, 0, 1, 0),
    ]
    assert {line.dataset for line in ledger.entries("gps")} == {"gps"}
    assert [item.dataset for item in ledger.open_reservations()] == [TAPS]
    assert ledger.open_reservations("gps") == []


def test_two_ledger_objects_see_each_others_lines_at_once(place: str) -> None:
    one, two = open_ledger(place), open_ledger(place)
    one.set_policy(TAPS, Policy(1), actor="officer")
    assert two.remaining(TAPS) == 1
    reserve(two, "2/3")
    assert one.remaining(TAPS) == Fraction(1, 3)
    with pytest.raises(BudgetExceededError, match="1/3 left"):
        reserve(one, "2/3")


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(-1, 0), ("much", 0), (float("nan"), 0), (0, 0), (1, 1), (1, -1), (None, 0)]
)
def test_amounts_without_meaning_are_refused(ledger: Ledger, epsilon: object, delta: object) -> None:
    with pytest.raises(ParameterError):
        reserve(ledger, epsilon, delta)
    assert ledger.head().count == 0


def test_a_line_needs_names_and_plain_json(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match="needs the name"):
        reserve(ledger, actor="")
    reservation = reserve(ledger)
    reservation.start()
    for summary in ({"x": float("nan")}, {"x": object()}):
        with pytest.raises(ParameterError, match="plain JSON"):
            reservation.commit("cafe", summary)
    reservation.commit("cafe", {"näme": "\x00 \ud800 ☃"})
    assert ledger.entries()[-1].payload["summary"] == {"näme": "\x00 \ud800 ☃"}
    assert ledger.verify().ok


@pytest.mark.parametrize(
    "arguments",
    [
        {"total_epsilon": -1},
        {"total_epsilon": 1, "per_period_epsilon": 1},
        {"total_epsilon": 1, "period_days": 3},
        {"total_epsilon": 1, "per_period_epsilon": 1, "period_days": 0},
        {"total_epsilon": 1, "per_period_epsilon": 1, "period_days": 2.5},
        {"total_epsilon": 1, "actors": "ana"},
        {"total_epsilon": 1, "actors": [""]},
        {"total_epsilon": 1, "total_delta": 1},
    ],
)
def test_a_policy_without_meaning_is_refused(arguments: dict) -> None:
    with pytest.raises(ParameterError):
        Policy(**arguments)


def test_a_policy_survives_its_line_exactly(ledger: Ledger) -> None:
    policy = Policy("1/3", per_period_epsilon=0.1, period_days=7, actors=("ana",), total_delta="1e-7")
    ledger.set_policy(TAPS, policy, actor="officer")
    assert ledger.policy(TAPS) == policy
    assert Policy.from_payload(policy.payload()) == policy
    with pytest.raises(ParameterError, match="not a policy"):
        Policy.from_payload({"generosity": "endless"})
