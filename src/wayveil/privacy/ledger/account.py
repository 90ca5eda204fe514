"""One dataset's account: its reservations, what they add up to in its unit, what was in it and who looked at it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from itertools import islice

from wayveil.privacy.ledger.conversion import BookedUnit, steps
from wayveil.privacy.ledger.data_limit import DataTimeSums, Loss
from wayveil.privacy.ledger.data_time import Days
from wayveil.privacy.ledger.fingerprint import Fingerprint
from wayveil.privacy.ledger.lines import Line
from wayveil.privacy.ledger.policy import Policy

ZERO = Fraction(0)


@dataclass
class Held:
    """One reservation: the line that made it and what became of it. It is spent unless it was cancelled, and whole
    unless a run that stopped early settled for what it had bought.

    `factor` is how many times its epsilon the account is charged (see `conversion`); None where no number is sound.
    """

    line: Line
    at: datetime
    position: int
    factor: int | None = 1
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
    def unit(self) -> BookedUnit | None:
        return None if self.line.unit is None else BookedUnit.from_payload(self.line.unit)

    @property
    def spent(self) -> Fraction:
        """Epsilon for the release's own unit."""
        if self.cancelled is not None:
            return ZERO
        return self.epsilon if self.settled is None else self.settled.epsilon or ZERO

    @property
    def summed(self) -> bool:
        """Tell whether it is part of a sum: it has a guarantee, and the account's unit can be charged for it."""
        return self.line.private and self.factor is not None

    @property
    def charge(self) -> Fraction:
        """Epsilon for the account's unit."""
        return self.spent * (self.factor or 0) if self.summed else ZERO

    @property
    def loss(self) -> Loss:
        """Return it with delta, and in rho: its own, or that of pure epsilon. Rho of a delta alone is not known, and
        is never asked for: a policy in rho admits none.
        """
        if not self.summed or self.cancelled is not None:
            return Loss()
        return loss_of(self.line, self.charge)

    @property
    def is_open(self) -> bool:
        return self.committed is None and self.cancelled is None and self.settled is None


@dataclass
class Account:
    """One dataset: its policy in force, its reservations, oldest first, what was in it, and who looked at it.

    Sums are in the unit of the policy. Without a policy they are in the unit of the first reservation, and only that.

    The oldest `expired` reservations lie before the current period for good, because accounting time only moves
    forward; what they spent is kept as one number, so that a long ledger is read in one pass.
    """

    policy: Policy | None = None
    held: list[Held] = field(default_factory=list)
    spent: Fraction = ZERO
    spent_delta: Fraction = ZERO
    expired: int = 0
    expired_spent: Fraction = ZERO
    contents: dict[str, Fingerprint] = field(default_factory=dict)
    looks: list[Line] = field(default_factory=list)
    data_time: DataTimeSums | None = None
    _unsummed: list[Held] = field(default_factory=list)

    @property
    def known(self) -> bool:
        """Tell whether somebody has said what may be spent."""
        return self.policy is not None

    def spending(self) -> Iterator[Held]:
        """Every reservation that counts as spent."""
        return (held for held in self.held if held.cancelled is None and held.line.private)

    def factor(self, line: Line) -> int | None:
        """Return how many times its epsilon a line costs this account; None where no number is sound."""
        if self.policy is None:
            first = next((held.line for held in self.held if held.line.private), line)
            return 1 if _unit_name(first) == _unit_name(line) else None
        policy, unit = self.policy, line.unit
        if unit is None and policy.stated.earlier_unit is not None:
            unit = {"name": policy.stated.earlier_unit, "bounds": {"max_trips": 1}}
        if policy.unit is None or unit is None:
            return 1 if policy.unit is None and unit is None else None
        days = None if line.days is None else len(line.days)
        booked = BookedUnit.from_payload(unit)
        times = steps(booked, policy.unit, policy.stated, days, trained=line.trained)
        return times if times == 1 or not (line.delta or line.rho) else None

    def unsummed(self) -> Held | None:
        """A reservation that cannot be added up with the others, if there is one."""
        return next((held for held in self._unsummed if held.cancelled is None), None)

    def spent_since(self, moment: datetime) -> Fraction:
        """Epsilon reserved strictly after `moment`, in accounting time."""
        total = self.spent - self.expired_spent
        for held in islice(self.held, self.expired, None):
            if held.at > moment:
                break
            total -= held.charge
        return total

    def set_policy(self, policy: Policy) -> None:
        """From now on sums are in the policy's unit."""
        self.policy, self.expired, self.expired_spent = policy, 0, ZERO
        self.spent = self.spent_delta = ZERO
        self.data_time = None if policy.data is None else DataTimeSums(policy.data, policy.unit or "")
        for held in self.held:
            held.factor = self.factor(held.line)
            self._change_data_time(held)
            self.spent += held.charge
            self.spent_delta += held.delta if held.summed and held.cancelled is None else ZERO
        # No new reservation is admitted that cannot be summed: only another policy or version can make such ones.
        self._unsummed = [held for held in self.held if held.line.private and held.factor is None]

    def reserve(self, held: Held) -> None:
        held.factor = self.factor(held.line)
        self.held.append(held)
        self._change_data_time(held)
        if not held.summed:
            self._unsummed += [held] if held.line.private else []
            return
        self.spent += held.charge
        self.spent_delta += held.delta
        if self.policy is not None and self.policy.period is not None:
            while self.held[self.expired].at <= held.at - self.policy.period:
                self.expired_spent += self.held[self.expired].charge
                self.expired += 1

    def cancel(self, held: Held, line: Line) -> None:
        self.spent_delta -= held.delta if held.summed else ZERO
        self._give_back(held, held.epsilon)
        self._change_data_time(held, -1)
        held.cancelled = line

    def settle(self, held: Held, line: Line) -> None:
        self._give_back(held, held.epsilon - (line.epsilon or ZERO))
        self._change_data_time(held, -1)
        held.settled = line
        self._change_data_time(held)

    def _change_data_time(self, held: Held, sign: int = 1) -> None:
        if self.data_time is not None:
            self.data_time.change(held.line.days, held.loss, sign)

    def _give_back(self, held: Held, epsilon: Fraction) -> None:
        given = epsilon * (held.factor or 0) if held.summed else ZERO
        self.spent -= given
        if held.position < self.expired:
            self.expired_spent -= given

    def take_in(self, content: Fingerprint) -> None:
        """These rows belong to the dataset from now on."""
        self.contents[content.name] = content

    def likeness(self, new: Fingerprint) -> str | None:
        """Say in words why these rows are of people in this dataset; None if nothing shows it."""
        for content in self.contents.values():
            if any(content.totals.get(of) == total for of, total in new.totals.items()):
                return "the trips are the same"
        return next(filter(None, (content.likeness(new) for content in self.contents.values())), None)

    def remaining_in_period(self, now: datetime) -> Fraction | None:
        policy = self.policy
        if policy is None or policy.period is None or policy.per_period_epsilon is None:
            return None
        return max(policy.per_period_epsilon - self.spent_since(now - policy.period), ZERO)

    def remaining_in_total(self) -> Fraction | None:
        if self.policy is None or self.policy.total_epsilon is None:
            return None
        return max(self.policy.total_epsilon - self.spent, ZERO)

    def remaining(self, now: datetime) -> Fraction | None:
        if self.policy is not None and self.unsummed() is not None:
            return ZERO
        limits = [self.remaining_in_total(), self.remaining_in_period(now)]
        return min((limit for limit in limits if limit is not None), default=None)

    def remaining_delta(self) -> Fraction | None:
        if self.policy is None or self.policy.total_epsilon is None:
            return None
        return max(self.policy.total_delta - self.spent_delta, ZERO)

    @property
    def data_unit(self) -> str:
        """Whose loss the limit per span of data time is about."""
        return "" if self.data_time is None else self.data_time.unit

    def remaining_of(self, days: Days) -> Loss | None:
        """Return what may still be spent on these days of data, which lie in one span; None without such a limit."""
        return None if self.data_time is None else self.data_time.remaining(days)


def loss_of(line: Line, charge: Fraction) -> Loss:
    """Return what a reservation costs that is charged so much epsilon."""
    rho = charge**2 / 2 if line.rho is None else line.rho
    return Loss(charge, line.delta or ZERO, rho)


def _unit_name(line: Line) -> str | None:
    return None if line.unit is None else BookedUnit.from_payload(line.unit).name
