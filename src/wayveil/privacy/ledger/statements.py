"""Answers of a ledger when it is asked how things stand."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from wayveil.privacy.ledger.account import Account, Held
from wayveil.privacy.ledger.data_limit import SpanStatement
from wayveil.privacy.ledger.data_time import Days
from wayveil.privacy.ledger.lines import Head
from wayveil.privacy.ledger.policy import Policy


@dataclass(frozen=True)
class OpenReservation:
    """A reservation that was neither committed, settled nor cancelled: a run in progress, or one that died."""

    id: str
    dataset: str
    epsilon: Fraction
    delta: Fraction
    actor: str
    mechanism: str
    purpose: str
    reserved_at: datetime
    age: timedelta
    started: bool

    @property
    def may_be_cancelled(self) -> bool:
        """Nothing was drawn yet, so the budget may still be given back."""
        return not self.started


@dataclass(frozen=True)
class Booked:
    """A reservation and what became of it: reserved, started, committed, settled or cancelled."""

    id: str
    days: Days | None
    spent: Fraction
    state: str


@dataclass(frozen=True)
class DatasetSummary:
    """Where one dataset stands; `None` amounts mean that no policy limits them.

    spent        what one `unit` has lost, converted from the units of the releases; None where no sum is sound
    by_unit      what was spent on releases for each unit, as they state it; not to be added up
    not_private  releases without any guarantee: in no sum
    spans        what was lost from the data of each span of data time, where the policy limits that
    looks        comparisons with the raw data that were booked under this name
    """

    dataset: str
    policy: Policy | None
    unit: str | None
    spent: Fraction | None
    by_unit: dict[str, Fraction]
    not_private: int
    looks: int
    spent_delta: Fraction
    remaining: Fraction | None
    remaining_delta: Fraction | None
    spans: tuple[SpanStatement, ...]
    committed: int
    open: int
    cancelled: int
    settled: int


@dataclass(frozen=True)
class Verification:
    """The verdict on a whole ledger: the lines that hold together, and the first thing that does not."""

    head: Head
    problem: str | None

    @property
    def ok(self) -> bool:
        return self.problem is None


def open_reservation(held: Held, now: datetime) -> OpenReservation:
    line = held.line
    return OpenReservation(
        id=held.id,
        dataset=line.dataset,
        epsilon=held.epsilon,
        delta=held.delta,
        actor=line.actor,
        mechanism=line.mechanism,
        purpose=line.purpose,
        reserved_at=line.time,
        age=now - held.at,
        started=held.started is not None,
    )


def booked(held: Held) -> Booked:
    ends = {
        "cancelled": held.cancelled,
        "committed": held.committed,
        "settled": held.settled,
        "started": held.started,
    }
    state = next((name for name, line in ends.items() if line is not None), "reserved")
    return Booked(held.id, held.line.days, held.spent, state)


def summarise(dataset: str, account: Account, now: datetime) -> DatasetSummary:
    by_unit: dict[str, Fraction] = {}
    for held in account.spending():
        name = "not said" if held.unit is None else held.unit.name
        by_unit[name] = by_unit.get(name, Fraction(0)) + held.spent
    first = next(iter(by_unit), "not said")
    named = (None if first == "not said" else first) if account.policy is None else account.policy.unit
    return DatasetSummary(
        dataset=dataset,
        policy=account.policy,
        unit=named,
        spent=account.spent if account.unsummed() is None else None,
        by_unit=by_unit,
        not_private=sum(not held.line.private and held.cancelled is None for held in account.held),
        looks=len(account.looks),
        spent_delta=account.spent_delta,
        remaining=account.remaining(now),
        remaining_delta=account.remaining_delta(),
        spans=() if account.data_time is None else tuple(account.data_time.statements()),
        committed=sum(held.committed is not None for held in account.held),
        open=sum(held.is_open for held in account.held),
        cancelled=sum(held.cancelled is not None for held in account.held),
        settled=sum(held.settled is not None for held in account.held),
    )
