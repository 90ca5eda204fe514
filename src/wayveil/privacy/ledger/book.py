"""The state that the lines add up to, and which line may come next. No storage here: lines in, answers out.

The same rules admit a new line and replay an old one, so a ledger can be judged again from its lines alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from itertools import islice

from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy.ledger.lines import BrokenLedgerError, Head, LedgerError, Line
from wayveil.privacy.ledger.policy import Policy

ZERO = Fraction(0)


@dataclass
class Held:
    """One reservation: the line that made it and what became of it. It is spent unless it was cancelled, and whole
    unless a run that stopped early settled for what it had bought.
    """

    line: Line
    at: datetime
    position: int
    started: Line | None = None
    settled: Line | None = None
    committed: Line | None = None
    cancelled: Line | None = None

    @property
    def id(self) -> str:
        return self.line.reservation or ""

    @property
    def epsilon(self) -> Fraction:
        return self.line.epsilon or ZERO

    @property
    def delta(self) -> Fraction:
        return self.line.delta or ZERO

    @property
    def spent(self) -> Fraction:
        if self.cancelled is not None:
            return ZERO
        return self.epsilon if self.settled is None else self.settled.epsilon or ZERO

    @property
    def is_open(self) -> bool:
        return self.committed is None and self.cancelled is None and self.settled is None


@dataclass
class Account:
    """One dataset: its policy in force and its reservations, oldest first.

    The oldest `expired` reservations lie before the current period for good, because accounting time only moves
    forward; what they spent is kept as one number, so that a long ledger is read in one pass.
    """

    policy: Policy | None = None
    held: list[Held] = field(default_factory=list)
    spent: Fraction = ZERO
    spent_delta: Fraction = ZERO
    expired: int = 0
    expired_spent: Fraction = ZERO

    def spending(self) -> Iterator[Held]:
        """Every reservation that counts as spent."""
        return (held for held in self.held if held.cancelled is None)

    def spent_since(self, moment: datetime) -> Fraction:
        """Epsilon reserved strictly after `moment`, in accounting time."""
        total = self.spent - self.expired_spent
        for held in islice(self.held, self.expired, None):
            if held.at > moment:
                break
            total -= held.spent
        return total

    def set_policy(self, policy: Policy) -> None:
        self.policy, self.expired, self.expired_spent = policy, 0, ZERO

    def reserve(self, held: Held) -> None:
        self.held.append(held)
        self.spent += held.epsilon
        self.spent_delta += held.delta
        if self.policy is not None and self.policy.period is not None:
            while self.held[self.expired].at <= held.at - self.policy.period:
                self.expired_spent += self.held[self.expired].spent
                self.expired += 1

    def cancel(self, held: Held, line: Line) -> None:
        self.spent_delta -= held.delta
        self._give_back(held, held.epsilon)
        held.cancelled = line

    def settle(self, held: Held, line: Line) -> None:
        self._give_back(held, held.epsilon - (line.epsilon or ZERO))
        held.settled = line

    def _give_back(self, held: Held, epsilon: Fraction) -> None:
        self.spent -= epsilon
        if held.position < self.expired:
            self.expired_spent -= epsilon

    def remaining_in_period(self, now: datetime) -> Fraction | None:
        policy = self.policy
        if policy is None or policy.period is None or policy.per_period_epsilon is None:
            return None
        return max(policy.per_period_epsilon - self.spent_since(now - policy.period), ZERO)

    def remaining_in_total(self) -> Fraction | None:
        return None if self.policy is None else max(self.policy.total_epsilon - self.spent, ZERO)

    def remaining(self, now: datetime) -> Fraction | None:
        limits = [self.remaining_in_total(), self.remaining_in_period(now)]
        return min((limit for limit in limits if limit is not None), default=None)

    def remaining_delta(self) -> Fraction | None:
        return None if self.policy is None else max(self.policy.total_delta - self.spent_delta, ZERO)


class Book:
    """Everything the first `head.count` lines say."""

    def __init__(self, genesis: str) -> None:
        self.head = Head(0, genesis)
        self.time = datetime.min.replace(tzinfo=UTC)
        self.accounts: dict[str, Account] = {}
        self.reservations: dict[str, Held] = {}

    def account(self, dataset: str) -> Account:
        return self.accounts.get(dataset) or Account()

    def clock(self, now: datetime) -> datetime:
        """Accounting time: now, or the latest moment ever recorded if that is later.

        A clock set back therefore brings no budget back. A clock set forward is believed from then on: it can
        end a period early, and then holds the next one until real time has caught up; the total is untouched.
        """
        return max(self.time, now)

    def held(self, reservation: str | None) -> Held:
        held = self.reservations.get(reservation or "")
        if held is None:
            raise LedgerError(f"the ledger has no reservation {reservation!r}")
        return held

    def admit(self, line: Line) -> None:
        """Raise unless this line may be the next one. Changes nothing."""
        if not line.actor or not line.dataset:
            raise ParameterError("a ledger line needs the name of a dataset and of the actor who writes it")
        if line.kind == "policy":
            Policy.from_payload(line.payload)
        elif line.kind == "reserve":
            self._admit_reserve(line)
        else:
            self._admit_step(line, self.held(line.reservation))

    def _admit_reserve(self, line: Line) -> None:
        if line.reservation is None or line.reservation in self.reservations:
            raise LedgerError("a reservation needs a new id")
        if line.epsilon is None or line.delta is None or line.epsilon < 0 or not 0 <= line.delta < 1:
            raise ParameterError("a reservation needs an epsilon of 0 or more and a delta from 0 to below 1")
        if line.epsilon == line.delta == 0:
            raise ParameterError("a reservation of epsilon 0 and delta 0 buys nothing")
        account = self.account(line.dataset)
        policy = account.policy
        if policy is None:
            return
        if policy.actors is not None and line.actor not in policy.actors:
            named = ", ".join(policy.actors) or "nobody"
            raise LedgerError(f"{line.actor} may not spend on {line.dataset}: its policy names {named}")
        place = f"the ledger for {line.dataset}"
        limits = [
            (line.epsilon, account.remaining_in_total(), "epsilon", place),
            (line.delta, account.remaining_delta(), "delta", place),
            (
                line.epsilon,
                account.remaining_in_period(self.clock(line.time)),
                "epsilon",
                f"{place}, in any {policy.period_days} days,",
            ),
        ]
        for requested, remaining, currency, where in limits:
            if remaining is not None and requested > remaining:
                raise BudgetExceededError(
                    line.mechanism or "the release",
                    requested=requested,
                    remaining=remaining,
                    where=where,
                    currency=currency,
                )

    def _admit_step(self, line: Line, held: Held) -> None:
        if line.dataset != held.line.dataset:
            raise LedgerError(f"reservation {held.id} is for {held.line.dataset}, not for {line.dataset}")
        if held.cancelled is not None:
            raise LedgerError(f"reservation {held.id} was cancelled: reserve again")
        if held.committed is not None:
            raise LedgerError(f"reservation {held.id} was committed already: its release is published")
        if held.settled is not None:
            raise LedgerError(f"reservation {held.id} was settled: its run is over and published nothing")
        if line.kind == "start" and held.started is not None:
            raise LedgerError(f"reservation {held.id} was started already: each one pays for a single run")
        if line.kind == "cancel" and held.started is not None:
            raise LedgerError(
                f"reservation {held.id} was started, so noise may have been drawn: it stays spent for ever"
            )
        if line.kind == "settle":
            self._admit_settle(line, held)
        if line.kind == "commit" and held.started is None:
            raise LedgerError(
                f"reservation {held.id} was never started: start it before the first noise is drawn"
            )

    def _admit_settle(self, line: Line, held: Held) -> None:
        """What a run bought is more than nothing and at most what it reserved, and it is known in epsilon."""
        if held.started is None:
            raise LedgerError(f"reservation {held.id} was never started: cancel it")
        if held.delta or held.line.rho is not None:
            raise LedgerError(f"reservation {held.id} is not in pure epsilon: it stays spent whole")
        if line.epsilon is None or not 0 < line.epsilon <= held.epsilon:
            raise LedgerError(f"reservation {held.id} settles for more than 0 and at most what it reserved")

    def apply(self, line: Line) -> None:
        """Take over a line that `admit` accepts."""
        self.time = self.clock(line.time)
        account = self.accounts.setdefault(line.dataset, Account())
        if line.kind == "policy":
            account.set_policy(Policy.from_payload(line.payload))
        elif line.kind == "reserve":
            held = Held(line, self.time, position=len(account.held))
            self.reservations[held.id] = held
            account.reserve(held)
        elif line.kind == "start":
            self.held(line.reservation).started = line
        elif line.kind == "settle":
            account.settle(self.held(line.reservation), line)
        elif line.kind == "commit":
            self.held(line.reservation).committed = line
        else:
            account.cancel(self.held(line.reservation), line)
        self.head = line.head

    def replay(self, sequence: int, text: str, stored_hash: str) -> Line:
        """Take over one stored line, or say in a sentence what is wrong with it."""
        expected = self.head.count + 1
        if sequence != expected:
            raise BrokenLedgerError(f"line {expected} is missing: line {sequence} comes next")
        try:
            line = Line.parse(text)
        except BrokenLedgerError as error:
            raise BrokenLedgerError(f"line {expected} was edited: {error}") from error
        if line.sequence != expected:
            raise BrokenLedgerError(
                f"line {expected} carries the number {line.sequence}: lines were re-ordered or edited"
            )
        if line.hash != stored_hash:
            raise BrokenLedgerError(f"line {expected} was edited: its hash does not match its text")
        if line.previous != self.head.hash:
            raise BrokenLedgerError(
                f"line {expected} does not follow line {expected - 1}: one of the two was replaced or removed"
            )
        try:
            self.admit(line)
        except (LedgerError, ParameterError, BudgetExceededError) as error:
            raise BrokenLedgerError(f"line {expected} should never have been written: {error}") from error
        self.apply(line)
        return line

    def confirm(self, recorded: Head) -> None:
        """Compare the end of the lines with the head record kept beside them."""
        if recorded.count > self.head.count:
            raise BrokenLedgerError(
                f"the ledger ends at line {self.head.count}, but its head record says {recorded.count}: "
                f"the last {recorded.count - self.head.count} lines were deleted"
            )
        if recorded != self.head:
            raise BrokenLedgerError(
                f"the head record (line {recorded.count}) does not match the last line ({self.head.count}): "
                "lines were added, replaced or removed behind the ledger's back"
            )
