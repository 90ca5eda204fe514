"""Budget of a release, and epsilon held in a ledger while it runs: one object with a start and an end."""

import getpass
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

from wayveil.errors import BudgetExceededError, ParameterError, RefusedError, plain
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.accounting import require_accounting
from wayveil.privacy.budget import Budget, Rational, exact, release_epsilon
from wayveil.privacy.ledger import Days, Ledger, LedgerError, LineFacts, Policy, Reservation
from wayveil.privacy.ledger.fingerprint import Fingerprint, Fingerprinter
from wayveil.privacy.units import Unit
from wayveil.privacy.zcdp import rho_for
from wayveil.releases.accounts import init_command, missing_policy
from wayveil.trips.trips import Trips
from wayveil.world.world import World

Currency = Literal["epsilon", "rho"]
DEFAULT_DELTA = Fraction(1, 1_000_000)


@dataclass(frozen=True)
class Price:
    """Epsilon from 0.001 to 1000, its delta (None: the default, where one is needed), and the currency of the sum.

    In rho (zCDP, Gaussian noise) the same epsilon holds at the delta; this suits mechanisms with many small counts.

    >>> Price.of("1/2").epsilon
    Fraction(1, 2)
    """

    epsilon: Fraction
    delta: Fraction | None = None
    currency: Currency = "epsilon"

    @classmethod
    def of(cls, epsilon: Rational, delta: Rational | None = None, currency: str = "epsilon") -> "Price":
        """Check and keep exactly what was said."""
        if currency not in get_args(Currency):
            raise ParameterError(f"a release is counted in epsilon or rho, not in {currency!r}")
        said = None if delta is None else exact(delta, "delta")
        return cls(release_epsilon(epsilon), said, currency)  # type: ignore[arg-type]

    def budget(self, mechanism: Mechanism) -> Budget:
        """Make the budget of one run of this mechanism."""
        if self.currency == "epsilon" and not mechanism.trained:
            if self.delta is not None:
                raise ParameterError(
                    f"{mechanism.name} satisfies pure epsilon and needs no delta; omit it, or count in rho"
                )
            return Budget(self.epsilon)
        if self.currency == "rho" and mechanism.trained:
            raise ParameterError(f"{mechanism.name} is trained and counted in epsilon and delta, not in rho")
        delta = DEFAULT_DELTA if self.delta is None else self.delta
        if self.currency == "rho":
            return Budget(rho_for(self.epsilon, delta), currency="rho", delta=delta)
        require_accounting()
        return Budget(self.epsilon, delta=delta)


Known = Trips | Fingerprint


@dataclass(frozen=True)
class Booking:
    """Where a release is booked, under which name, by whom, and for which days of data.

    ledger       None: in none, and the datasheet says so
    new_people   nobody of these rows is in another dataset of the ledger, although it may look so
    policy       what may be spent in all, for a dataset that the ledger does not know yet
    """

    ledger: Ledger | None = None
    dataset: str = "trips"
    actor: str = field(default_factory=getpass.getuser)
    purpose: str = ""
    new_people: bool = False
    days: Days | None = None
    policy: str | None = None


@dataclass
class Hold:
    """Reservation that one run makes, starts and ends in a ledger; without a ledger it does nothing.

    `asked` is what is asked of the rows (`ledger.terms`). A failure leaves nothing open. A run whose noise is kept
    (`same_noise`) stays open when it is stopped, and `again` takes up what it held.
    """

    booking: Booking
    price: Price
    budget: Budget
    unit: Unit
    mechanism: str
    asked: Mapping[str, Any] | None = None
    private: bool = True
    same_noise: bool = False
    again: bool = False
    reservation: Reservation | None = field(default=None, init=False)
    looks: int = field(default=0, init=False)
    started: bool = field(default=False, init=False)
    # Once the measured model is on disk, the run can be finished without spending again.
    kept: bool = field(default=False, init=False)

    def fingerprinter(self, world: World) -> Fingerprinter | None:
        """Make the one by which rows are known that are never in memory together."""
        return None if self.booking.ledger is None else self.booking.ledger.fingerprinter(world)

    @contextmanager
    def reserved(self, rows: Known | None) -> Iterator[None]:
        """Reserve for these rows; they must not be known under another name, and the dataset must have a policy."""
        if self.booking.ledger is None:
            if self.booking.policy is not None:
                raise ParameterError("a policy (--policy-epsilon) is set in a ledger, and there is none")
            yield
            return
        if rows is None:
            raise ParameterError("a ledger knows a dataset by its rows, and there are none to know it by")
        self._reserve(self.booking.ledger, rows)
        try:
            yield
        except BaseException as error:
            self._end(error)
            raise

    def start(self) -> None:
        """Tell the ledger, right before the first noise. Set first: a start that half failed is not given back."""
        if self.reservation is not None:
            self.started = True
            self.reservation.start()

    def describe(self) -> dict[str, object] | None:
        """Say where the spend can be found again, and how often the raw data was looked at before."""
        if self.reservation is None:
            return None
        ledger, dataset = self.reservation.ledger, self.reservation.dataset
        facts: dict[str, object] = {
            "dataset": dataset,
            "reservation": self.reservation.id,
            "head": str(self.reservation.head),
            "looks_before": self.looks,
        }
        policy, days = ledger.policy(dataset), self.reservation.days
        if policy is not None and policy.unit is not None:
            facts["spent_so_far_for"] = policy.unit
        if policy is not None and policy.total_epsilon is not None:
            facts["allowed"] = plain(policy.total_epsilon)
        if days is not None:
            facts["days"] = str(days)
            for span in (span for span in ledger.spans(dataset) if span.days.meets(days)):
                if span.allowed.epsilon:
                    facts["allowed"] = plain(span.allowed.epsilon)
                return {**facts, "data_of": span.label, "spent_so_far": plain(span.spent.epsilon)}
        return {**facts, "spent_so_far": plain(ledger.spent(dataset))}

    def _reserve(self, ledger: Ledger, rows: Known) -> None:
        booking, price = self.booking, self.price
        if isinstance(rows, Trips):  # fingerprinted once
            rows = ledger.fingerprinter(rows.world).of(rows)
        if booking.days is not None:
            rows.require_days(booking.days)
        if ledger.policy(booking.dataset) is None and not booking.new_people:
            ledger.refuse_known(booking.dataset, rows)  # they need no second budget
        policy = missing_policy(ledger, booking.dataset, self.unit, booking.policy)
        if policy is not None:
            self._refuse_above(policy, ledger)
            ledger.set_policy(booking.dataset, policy, actor=booking.actor)
        content = ledger.take_in(booking.dataset, rows, actor=booking.actor, new_people=booking.new_people)
        self.reservation = ledger.reserve(
            booking.dataset,
            price.epsilon,
            self.budget.delta,
            actor=booking.actor,
            mechanism=self.mechanism,
            unit=self.unit,
            facts=LineFacts(
                purpose=booking.purpose,
                rho=self.budget.total if self.budget.currency == "rho" else None,
                private=self.private,
                content=content,
                days=booking.days,
                asked=self.asked,
            ),
            again=self.again,
        )
        self.looks = len(ledger.looks(booking.dataset, content))

    def _refuse_above(self, policy: Policy, ledger: Ledger) -> None:
        """Refuse a run that a new policy would not allow, before the policy is in the ledger."""
        dataset, delta = self.booking.dataset, "1e-5"
        init = init_command(ledger, dataset, str(policy.unit), "--total-delta", delta)
        limits = [
            (self.price.epsilon, policy.total_epsilon or Fraction(0), "epsilon", ""),
            (self.budget.delta, policy.total_delta or Fraction(0), "delta", f"Allow some: `{init}`."),
        ]
        for requested, allowed, currency, remedy in limits:
            if self.private and requested > allowed:
                raise BudgetExceededError(
                    self.mechanism,
                    requested=requested,
                    remaining=allowed,
                    where=f"the ledger for {dataset}",
                    currency=currency,
                    remedy=remedy,
                )

    def _end(self, error: BaseException) -> None:
        """End a run that failed, unless it can go on: with its model kept, or with the same noise."""
        assert self.reservation is not None
        taken_up = self.reservation.started and not self.started
        if self.kept or (self.same_noise and (taken_up or not isinstance(error, Exception))):
            return
        try:
            self._settle(self.reservation, error)
        except LedgerError as problem:
            error.add_note(f"The ledger could not be told of it ({problem}): everything held stays spent.")

    def _settle(self, reservation: Reservation, error: BaseException) -> None:
        """Book a run that failed, so that nothing stays open.

        Before the first noise everything is given back. A mechanism that refuses because of its noisy answers, and a
        person who stops the run, cost what was bought; prices are booked before their noise is drawn. Any other failure
        may have come from the raw rows, and then so would the amount: it costs everything that was held.
        """
        what = type(error).__name__
        if not self.started:
            reservation.cancel(f"failed before the first noise: {what}")
            return
        known = isinstance(error, RefusedError | KeyboardInterrupt)
        bought = self.budget.spent if known else Fraction(0)
        if self.budget.currency == "rho" or self.budget.delta:
            bought = Fraction(0)  # the ledger settles parts of pure epsilon only: it costs everything
        reason = "stopped after its noisy answers" if known else "failed after the first noise"
        reservation.settle(bought or reservation.epsilon, f"{reason}: {what}")
