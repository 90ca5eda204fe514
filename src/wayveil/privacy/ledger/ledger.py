"""The ledger: reserve before the run, start before the first noise, commit after publishing.

What is reserved counts as spent from that moment on. A cancellation before the start gives it back, because
then nothing has been drawn. A run in pure epsilon that ends itself because of its noisy answers may settle for
what it has bought so far: prices add up also when answers decide where to stop. A crash at any point costs the
whole reservation and never creates budget.
"""

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

from wayveil.privacy.budget import Rational, exact
from wayveil.privacy.ledger.book import Book
from wayveil.privacy.ledger.composition import Composition, Cost, compose
from wayveil.privacy.ledger.facts import (
    SCHEMA,
    fresh_book,
    key_bytes,
    new_key,
    read_facts,
    replay,
    upgrade,
)
from wayveil.privacy.ledger.fingerprint import Fingerprint, Fingerprinter, fingerprint
from wayveil.privacy.ledger.lines import (
    BrokenLedgerError,
    Head,
    Kind,
    LedgerError,
    Line,
    canonical,
    digest,
    moment_text,
)
from wayveil.privacy.ledger.policy import Policy, exact_or_zero
from wayveil.privacy.ledger.statements import (
    DatasetSummary,
    OpenReservation,
    Verification,
    open_reservation,
    summarise,
)
from wayveil.privacy.ledger.storage import PostgresStorage, Session, SqliteStorage, Storage
from wayveil.privacy.units import Unit
from wayveil.privacy.without_guarantee import refuse_without_guarantee
from wayveil.showing import show
from wayveil.trips.trips import Trips
from wayveil.world.world import World

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Reservation:
    """Budget set aside for one run. Call `start` right before the first noise, `commit` after publishing."""

    id: str
    dataset: str
    epsilon: Fraction
    delta: Fraction
    actor: str
    head: Head
    ledger: "Ledger" = field(repr=False, compare=False)

    def start(self) -> Head:
        """From here on the budget is gone, whatever happens. A reservation pays for one run, so only once."""
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

    def commit(self, release_hash: str, summary: Any = None) -> Head:
        """Say what was published with it."""
        return self.ledger.commit(self.id, actor=self.actor, release_hash=release_hash, summary=summary)


def open_ledger(place: str | Path, *, create: bool = True, clock: Clock | None = None) -> "Ledger":
    """The ledger in a file, or in the database behind a postgresql:// address; made if it is not there.

    `clock` replaces the computer's (an aware datetime) in tests.
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


class Ledger:
    """Every spend on every dataset, in order, for good. Safe to share between threads, forks and processes.

    A dataset without a policy has no limit: its spends are recorded and nothing is refused.
    """

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._lock = threading.RLock()
        with self._broken_named(), storage.transaction(write=False) as session:
            self._book = fresh_book(session)

    def __repr__(self) -> str:
        return f"Ledger({self._storage.name})"

    def _repr_html_(self) -> str:
        return show(self)

    @property
    def name(self) -> str:
        """The file or the database, without password."""
        return self._storage.name

    # --- spending

    def set_policy(self, dataset: str, policy: Policy, actor: str) -> Head:
        """Put a policy in force. It may be lower than what is spent; then nothing more can be spent."""
        return self._append("policy", actor, dataset=dataset, payload=policy.payload()).head

    def reserve(
        self,
        dataset: str,
        epsilon: Rational,
        delta: Rational = 0,
        *,
        actor: str,
        mechanism: str,
        purpose: str = "",
        rho: Rational | None = None,
        unit: Unit | None = None,
        private: bool = True,
        content: str | None = None,
    ) -> Reservation:
        """Set budget aside, or refuse with the requested, the remaining and the missing amount.

        A run that is accounted in zCDP names its `rho` beside the (epsilon, delta) that it is charged as. `unit` is
        whom the run protects; `private` is false for one that protects nobody, which is recorded and in no sum;
        `content` names the rows, as `take_in` returned them.
        """
        refuse_without_guarantee(mechanism)
        line = self._append(
            "reserve",
            actor,
            dataset=dataset,
            reservation=secrets.token_hex(8),
            epsilon=exact_or_zero(epsilon, "epsilon"),
            delta=exact_or_zero(delta, "delta"),
            rho=None if rho is None else exact(rho, "rho"),
            mechanism=mechanism,
            purpose=purpose,
            unit=None if unit is None else {"name": unit.name, "bounds": unit.describe()["bounds"]},
            private=private,
            payload=None if content is None else {"content": content},
        )
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
        confirmed = {"new_people": True} if new_people else {}
        self._append_rows("content", actor, dataset, found, {"key": key, **confirmed})
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

    def spent(self, dataset: str) -> Fraction:
        """What one unit has lost: the sum of all that was reserved and not cancelled. A settled run counts as settled.

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

    def policy(self, dataset: str) -> Policy | None:
        """The policy in force."""
        with self._reading() as book:
            return book.account(dataset).policy

    def reservation(self, reservation: str) -> Reservation:
        """A reservation by its id."""
        with self._reading() as book:
            return self._handle(book.held(reservation).line)

    def open_reservations(self, dataset: str | None = None) -> list[OpenReservation]:
        """What was neither committed nor settled nor cancelled, oldest first, of one dataset or of all."""
        with self._reading() as book:
            now = book.clock(self._clock())
            return [
                open_reservation(held, now)
                for held in book.reservations.values()
                if held.is_open and dataset in (None, held.line.dataset)
            ]

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
        """What all releases of a dataset cost together at this delta; see `composition`.

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

    def entries(self, dataset: str | None = None) -> list[Line]:
        """The lines in order, of one dataset or of all."""
        with self._broken_named(), self._storage.transaction(write=False) as session:
            lines = list(replay(session, fresh_book(session)))
        return [line for line in lines if dataset in (None, line.dataset)]

    def head(self) -> Head:
        """The number of lines and the last hash, to be noted elsewhere."""
        with self._reading() as book:
            return book.head

    def verify(self, known_heads: Iterable[Head | str] = ()) -> Verification:
        """Read everything again and report the first line that was edited, removed, re-ordered or cut off.

        `known_heads` were noted earlier elsewhere (datasheets hold one); each must still be in the chain.
        """
        known = sorted(
            (Head.parse(h) if isinstance(h, str) else h for h in known_heads), key=lambda h: h.count
        )
        head = Head(0, "")
        try:
            with self._storage.transaction(write=False) as session:
                book = fresh_book(session)
                hashes = [book.head.hash]
                for line in replay(session, book):
                    head = line.head
                    hashes.append(line.hash)
        except BrokenLedgerError as error:
            return Verification(head, str(error))
        for noted in known:
            if noted.count >= len(hashes) or hashes[noted.count] != noted.hash:
                problem = (
                    f"the head noted at line {noted.count} is not in this ledger: it was rewritten or cut off"
                )
                return Verification(book.head, problem)
        return Verification(book.head, None)

    # --- the two ways to storage

    def _append(
        self,
        kind: Kind,
        actor: str,
        *,
        dataset: str | None = None,
        reservation: str | None = None,
        **fields: Any,
    ) -> Line:
        """Write one line if the book admits it. The book takes it over only after it is safely stored."""
        with self._lock:
            with self._broken_named(), self._storage.transaction(write=True) as session:
                upgrade(session)
                book = self._catch_up(session)
                line = Line(
                    sequence=book.head.count + 1,
                    time=self._clock(),
                    actor=actor,
                    kind=kind,
                    dataset=book.held(reservation).line.dataset if dataset is None else dataset,
                    previous=book.head.hash,
                    reservation=reservation,
                    **fields,
                )
                book.admit(line)
                session.append(line.sequence, line.text, line.hash)
                session.change_fact("head", str(line.head))
            book.apply(line)
            return line

    def _append_rows(
        self, kind: Kind, actor: str, dataset: str, found: Fingerprint, payload: dict[str, Any], **fields: Any
    ) -> Head:
        """A line about rows. Their fingerprint is written once; later lines name it."""
        with self._reading() as book:
            known = found.name in book.contents
        described = {} if known else {"fingerprint": found.payload()}
        payload = {"content": found.name, **payload, **described}
        return self._append(kind, actor, dataset=dataset, payload=payload, **fields).head

    def _fingerprint(self, trips: "Trips | Fingerprint") -> tuple[Fingerprint, str]:
        """The rows under this ledger's key, and the digest of the key."""
        key = self._content_key()
        found = trips if isinstance(trips, Fingerprint) else fingerprint(trips, key_bytes(key))
        return found, digest(key)

    def _content_key(self) -> str:
        with self._broken_named(), self._storage.transaction(write=False) as session:
            key = read_facts(session).get("content_key")
        if key is None:
            with self._lock, self._broken_named(), self._storage.transaction(write=True) as session:
                upgrade(session)
                key = read_facts(session)["content_key"]
        return key

    @contextmanager
    def _reading(self) -> Iterator[Book]:
        with self._lock:
            with self._broken_named(), self._storage.transaction(write=False) as session:
                book = self._catch_up(session)
            yield book

    def _catch_up(self, session: Session) -> Book:
        """Replay what was written since the last look; refuse a ledger that does not hold together."""
        for _ in replay(session, self._book):
            pass
        return self._book

    @contextmanager
    def _broken_named(self) -> Iterator[None]:
        try:
            yield
        except BrokenLedgerError as error:
            raise BrokenLedgerError(
                f"{self.name}: {error}. Nothing may be spent from a broken ledger"
            ) from error

    def _handle(self, line: Line) -> Reservation:
        return Reservation(
            id=line.reservation or "",
            dataset=line.dataset,
            epsilon=line.epsilon or Fraction(0),
            delta=line.delta or Fraction(0),
            actor=line.actor,
            head=line.head,
            ledger=self,
        )
