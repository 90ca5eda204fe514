"""The ledger: reserve before the run, start before the first noise, commit after publishing.

What is reserved counts as spent from that moment on. A cancellation before the start gives it back, because
then nothing has been drawn. A run in pure epsilon that ends itself because of its noisy answers may settle for
what it has bought so far: prices add up also when answers decide where to stop. A crash at any point costs the
whole reservation and never creates budget.
"""

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

from wayveil.privacy.budget import Rational, exact
from wayveil.privacy.ledger.book import Book
from wayveil.privacy.ledger.chain import SCHEMA, Chain, Clock, key_bytes, new_key
from wayveil.privacy.ledger.composition import Composition, Cost, compose
from wayveil.privacy.ledger.conversion import BookedUnit, Terms
from wayveil.privacy.ledger.data_limit import SpanStatement
from wayveil.privacy.ledger.data_time import Days
from wayveil.privacy.ledger.fingerprint import Fingerprint, Fingerprinter
from wayveil.privacy.ledger.lines import Head, LedgerError, Line, LineFacts, canonical, digest, moment_text
from wayveil.privacy.ledger.policy import Policy, exact_or_zero
from wayveil.privacy.ledger.roles import EVERY_DATASET
from wayveil.privacy.ledger.statements import (
    Booked,
    DatasetSummary,
    OpenReservation,
    booked,
    open_reservation,
    summarise,
)
from wayveil.privacy.ledger.storage import PostgresStorage, SqliteStorage, Storage
from wayveil.privacy.units import Unit
from wayveil.privacy.without_guarantee import refuse_without_guarantee
from wayveil.showing import show
from wayveil.trips.trips import Trips
from wayveil.world.world import World


def open_ledger(place: str | Path, *, create: bool = True, clock: Clock | None = None) -> "Ledger":
    """The ledger in a file, or in the database behind a postgresql:// address; made if it is not there.

    `clock` replaces the computer's (an aware datetime) in tests.

    >>> ledger = wv.open_ledger(folder / "ledger")
    >>> head = ledger.set_policy("trips", wv.Policy(10, unit="rider"), actor="officer")
    >>> ledger.datasets()
    ['trips']
    """
    storage: Storage
    scheme, separator, _ = str(place).partition("://")
    if isinstance(place, Path) or not separator:
        storage = SqliteStorage(Path(place))
    elif scheme in ("postgresql", "postgres"):
        storage = PostgresStorage(str(place))
    else:
        raise LedgerError(f"a ledger is a file or a postgresql:// address, not {scheme}://")
    clock = clock or (lambda: datetime.now(UTC))
    if not storage.exists():
        if not create:
            raise LedgerError(f"there is no ledger at {storage.name}: make one with `wayveil ledger init`")
        birth = {"id": uuid4().hex, "created": moment_text(clock())}
        head = str(Head(0, digest(canonical(birth))))
        storage.create({"schema": str(SCHEMA), **birth, "head": head, "content_key": new_key()})
    return Ledger(storage, clock)


class Ledger(Chain):
    """Every spend on every dataset, in order, for good. Safe to share between threads, forks and processes.

    A dataset without a policy has no limit: its spends are recorded and nothing is refused.
    """

    def __repr__(self) -> str:
        return f"Ledger({self._storage.name})"

    def _repr_html_(self) -> str:
        return show(self)

    # --- spending

    def set_policy(self, dataset: str, policy: Policy, actor: str) -> Head:
        """Put a policy in force. It may be lower than what is spent; then nothing more can be spent."""
        return self._append("policy", actor, dataset=dataset, payload=policy.payload()).head

    def appoint(self, officer: str | None, actor: str) -> Head:
        """Name the officer by her public key; None: nobody is. Once there is one, only she can name the next.

        From here on policies, new datasets, confirmations of new people and revocations need her signature (`roles`).
        """
        return self._append("key", actor, dataset=EVERY_DATASET, payload={"officer": officer}).head

    def revoke(self, fingerprint: str, reason: str, actor: str) -> Head:
        """Say that a signing key is not to be believed any more: `verify` reports what it signed."""
        payload = {"revoked": fingerprint, "reason": reason}
        return self._append("key", actor, dataset=EVERY_DATASET, payload=payload).head

    def reserve(
        self,
        dataset: str,
        epsilon: Rational,
        delta: Rational = 0,
        *,
        actor: str,
        mechanism: str,
        unit: Unit | BookedUnit | None = None,
        facts: LineFacts | None = None,
        again: bool = False,
    ) -> "Reservation":
        """Set budget aside, or refuse with the requested, the remaining and the missing amount.

        `unit` is whom the run protects. With `again`, the reservation of a run that died and was for exactly the same
        is taken up, if there is one: only for a run that draws the very same noise.
        """
        refuse_without_guarantee(mechanism)
        fields: dict[str, Any] = {
            "epsilon": exact_or_zero(epsilon, "epsilon"),
            "delta": exact_or_zero(delta, "delta"),
            "mechanism": mechanism,
            "unit": None if unit is None else BookedUnit.of(unit).payload(),
            **(LineFacts() if facts is None else facts).fields(),
        }
        if again:
            with self._reading() as book:
                for held in book.reservations.values():
                    line = held.line
                    same = all(
                        canonical(_said(getattr(line, f))) == canonical(_said(v)) for f, v in fields.items()
                    )
                    if held.is_open and line.dataset == dataset and same:
                        return self._handle(line, started=held.started is not None)
        line = self._append("reserve", actor, dataset=dataset, reservation=secrets.token_hex(8), **fields)
        return self._handle(line)

    def fingerprinter(self, world: World) -> Fingerprinter:
        """For rows that are never in memory together: fingerprint their parts, join them, and bring that."""
        return Fingerprinter(world, key_bytes(self._content_key()))

    def take_in(
        self, dataset: str, trips: "Trips | Fingerprint", *, actor: str, new_people: bool = False
    ) -> str:
        """Book that these rows belong to a dataset, and return their name (see `fingerprint`).

        Refused if the same people are known under another name, unless somebody confirms that they are `new_people`:
        the confirmation stands on the line with the name of the actor.
        """
        found, key = self._fingerprint(trips)
        with self._reading() as book:
            if found.name in book.account(dataset).contents:
                return found.name
        payload: dict[str, Any] = {"key": key, **({"new_people": True} if new_people else {})}

        def refuse_known(book: Book) -> None:  # by the rows at hand: a line does not hold all of them
            if not new_people:
                book.refuse_known(dataset, found)

        self._append_rows("content", actor, dataset, found, payload, check=refuse_known)
        return found.name

    def refuse_known(self, dataset: str, trips: "Trips | Fingerprint") -> None:
        """Raise if these rows are known under another name. Writes nothing."""
        found, _ = self._fingerprint(trips)
        with self._reading() as book:
            book.refuse_known(dataset, found)

    def look(self, dataset: str, what: str, trips: Trips, *, actor: str) -> Head:
        """Book that somebody compared with the raw data. It costs nothing, and it was seen."""
        found, key = self._fingerprint(trips)
        return self._append_rows("look", actor, dataset, found, {"key": key}, purpose=what)

    def looks(self, dataset: str, content: str | None = None) -> list[Line]:
        """The looks at a dataset, under its name or at rows of the same people."""
        with self._reading() as book:
            return book.looks_at(dataset, content)

    def start(self, reservation: str, *, actor: str) -> Head:
        """See `Reservation.start`."""
        return self._append("start", actor, reservation=reservation).head

    def cancel(self, reservation: str, *, actor: str, reason: str) -> Head:
        """See `Reservation.cancel`; by id, for a run that died before its start."""
        return self._append("cancel", actor, reservation=reservation, payload={"reason": reason}).head

    def settle(self, reservation: str, epsilon: Fraction, *, actor: str, reason: str) -> Head:
        """See `Reservation.settle`."""
        payload = {"reason": reason}
        return self._append(
            "settle", actor, reservation=reservation, epsilon=exact(epsilon), payload=payload
        ).head

    def commit(self, reservation: str, *, actor: str, release_hash: str, summary: Any = None) -> Head:
        """See `Reservation.commit`."""
        payload = {"release": release_hash, "summary": summary}
        return self._append("commit", actor, reservation=reservation, payload=payload).head

    # --- reading

    @property
    def officer(self) -> str | None:
        """The public key of the officer; None if there is none."""
        with self._reading() as book:
            return book.roles.officer

    def revoked(self) -> dict[str, Line]:
        """The signing keys that were revoked, by fingerprint, with the line that did it."""
        with self._reading() as book:
            return dict(book.roles.revoked)

    def spent(self, dataset: str) -> Fraction:
        """Return what one unit has lost: all that was reserved and not cancelled. A settled run counts as settled.

        In the unit of the policy, converted where needed. An error where the units of the releases cannot be added up.
        """
        with self._reading() as book:
            account = book.account(dataset)
            if account.unsummed() is not None:
                raise LedgerError(f"the releases of {dataset} protect units that cannot be added up")
            return account.spent

    def remaining(self, dataset: str) -> Fraction | None:
        """Epsilon that one reservation could take now (in total and in the period); None without a policy."""
        with self._reading() as book:
            return book.account(dataset).remaining(book.clock(self._clock()))

    def spans(self, dataset: str) -> list[SpanStatement]:
        """Return what one unit has lost from each span of data time; empty where the policy does not limit it."""
        with self._reading() as book:
            sums = book.account(dataset).data_time
            return [] if sums is None else sums.statements()

    def policy(self, dataset: str) -> Policy | None:
        """The policy in force."""
        with self._reading() as book:
            return book.account(dataset).policy

    def reservation(self, reservation: str) -> "Reservation":
        """A reservation by its id."""
        with self._reading() as book:
            return self._handle(book.held(reservation).line)

    def line_of(self, reservation: "Reservation") -> Line:
        """The line that made a reservation; refused if it is of another ledger."""
        with self._reading() as book:
            line = book.held(reservation.id).line
        if line.head != reservation.head:
            raise LedgerError(f"the reservation {reservation.id} is of another ledger")
        return line

    def committed(self, release_hash: str) -> Line | None:
        """The reservation that was committed with this release; None if there is none."""
        with self._reading() as book:
            for held in book.reservations.values():
                if held.committed is not None and held.committed.payload["release"] == release_hash:
                    return held.line
        return None

    def open_reservations(self, dataset: str | None = None) -> list[OpenReservation]:
        """Return what was neither committed nor settled nor cancelled, oldest first, of one dataset or of all."""
        with self._reading() as book:
            now = book.clock(self._clock())
            return [
                open_reservation(held, now)
                for held in book.reservations.values()
                if held.is_open and dataset in (None, held.line.dataset)
            ]

    def booked(self, dataset: str, days: Days | None = None) -> list[Booked]:
        """Every reservation of a dataset that says its days, oldest first; only those that meet `days`, if given."""
        with self._reading() as book:
            every = [booked(held) for held in book.account(dataset).held]
        dated = [each for each in every if each.days is not None]
        return [each for each in dated if days is None or (each.days is not None and each.days.meets(days))]

    def datasets(self) -> list[str]:
        """The datasets that have a policy, by name."""
        with self._reading() as book:
            return sorted(name for name, account in book.accounts.items() if account.known)

    def summary(self) -> list[DatasetSummary]:
        """Every dataset, by name."""
        with self._reading() as book:
            now = book.clock(self._clock())
            return [summarise(dataset, account, now) for dataset, account in sorted(book.accounts.items())]

    def composition(self, dataset: str, delta: Rational) -> Composition:
        """Return what all releases of a dataset cost together at this delta; see `composition`.

        A run that settled counts whole here: its price followed from its answers, which only the plain sum allows.
        """
        with self._reading() as book:
            account = book.account(dataset)
            if account.unsummed() is not None:
                raise LedgerError(f"the releases of {dataset} protect units that cannot be added up")
            costs = [
                Cost((held.factor or 1) * held.epsilon, held.delta, held.line.rho)
                for held in account.spending()
            ]
        return compose(costs, delta)

    def _handle(self, line: Line, *, started: bool = False) -> "Reservation":
        return Reservation(
            id=line.reservation or "",
            dataset=line.dataset,
            epsilon=line.epsilon or Fraction(0),
            delta=line.delta or Fraction(0),
            actor=line.actor,
            head=line.head,
            ledger=self,
            days=line.days,
            started=started,
        )


@dataclass(frozen=True)
class Reservation:
    """Budget set aside for one run. Call `start` right before the first noise, `commit` after publishing."""

    id: str
    dataset: str
    epsilon: Fraction
    delta: Fraction
    actor: str
    head: Head
    ledger: Ledger = field(repr=False, compare=False)
    days: Days | None = field(default=None, compare=False)
    # Taken up from a run that died after its start; its one run goes on with the same noise.
    started: bool = field(default=False, repr=False, compare=False)

    def start(self) -> Head:
        """From here on the budget is gone, whatever happens. A reservation pays for one run, so only once."""
        if self.started:
            return self.head
        return self.ledger.start(self.id, actor=self.actor)

    def cancel(self, reason: str) -> Head:
        """Give the budget back; refused after `start`."""
        return self.ledger.cancel(self.id, actor=self.actor, reason=reason)

    def settle(self, epsilon: Fraction, reason: str) -> Head:
        """End a run that publishes nothing: it has bought noisy answers for so much, and gives back the rest.

        Only for a run that stopped because of those answers. One that failed otherwise may have failed because of
        the raw trips, and stays spent whole.
        """
        return self.ledger.settle(self.id, epsilon, actor=self.actor, reason=reason)

    def require(self, terms: Terms) -> None:
        """Refuse a release whose datasheet states other terms than those that were reserved."""
        differing = terms.differing(self.ledger.line_of(self))
        if differing is not None:
            raise LedgerError(f"the release states {differing}: it is not the one that was paid for")

    def commit(self, release_hash: str, summary: Any = None, terms: Terms | None = None) -> Head:
        """Say what was published with it, and on which terms; refused if those were not reserved."""
        if terms is not None:
            self.require(terms)
        return self.ledger.commit(self.id, actor=self.actor, release_hash=release_hash, summary=summary)


def _said(value: Any) -> Any:
    """A field as it stands on a line."""
    return str(value) if isinstance(value, Fraction) else value
