"""The chain of lines: how a ledger reads it, adds to it and checks it. What lines mean is in `book` and `ledger`."""

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from wayveil.errors import ParameterError
from wayveil.privacy.ledger.book import Book
from wayveil.privacy.ledger.fingerprint import KEY_BYTES, Fingerprint, fingerprint
from wayveil.privacy.ledger.lines import BrokenLedgerError, Head, Kind, LedgerError, Line, canonical, digest
from wayveil.privacy.ledger.statements import Verification
from wayveil.privacy.ledger.storage import Session, Storage
from wayveil.trips.trips import Trips

# Schema 2 has units, contents and looks on its lines, and a key of fingerprints. A ledger of schema 1 is read as it
# is and becomes one of the newest when the next line is written; its lines and their hashes stay as they are. Schema 3
# has officers: earlier versions do not ask for their signatures, and must not write to it.
SCHEMA = 3
READABLE = ("1", "2", "3")


def replay(session: Session, book: Book) -> Iterator[Line]:
    """Bring the book up to date with the stored lines, and compare its end with the head record."""
    facts = read_facts(session)
    book.content_key = digest(facts["content_key"]) if "content_key" in facts else None
    seen = book.head
    rows = session.lines(after=max(seen.count - 1, 0))
    # A process that lives for long must notice when the last line it knows is taken away.
    if seen.count and (not rows or (rows[0][0], rows[0][2]) != (seen.count, seen.hash)):
        raise BrokenLedgerError(f"line {seen.count} was changed or deleted behind the ledger's back")
    for row in rows[1:] if seen.count else rows:
        yield book.replay(*row)
    try:
        recorded = Head.parse(facts["head"])
    except ParameterError as error:
        raise BrokenLedgerError(f"the head record was edited: {error}") from error
    book.confirm(recorded)


def fresh_book(session: Session) -> Book:
    """An empty book on this ledger's birth record, which the first line is chained to."""
    facts = read_facts(session)
    return Book(digest(canonical({"id": facts["id"], "created": facts["created"]})))


def read_facts(session: Session) -> dict[str, str]:
    facts = session.facts()
    missing = {"schema", "id", "created", "head"} - facts.keys()
    if missing:
        raise BrokenLedgerError(f"its records of {', '.join(sorted(missing))} are missing")
    if facts["schema"] not in READABLE:
        raise LedgerError(
            f"this ledger is written in schema {facts['schema']} and this Wayveil reads schema {SCHEMA}: "
            "use the newer version that wrote it"
        )
    if facts["schema"] != "1" and "content_key" not in facts:
        raise BrokenLedgerError("its key of fingerprints is missing")
    return facts


def upgrade(session: Session) -> None:
    """Make an earlier ledger one of this schema. No line changes, so the chain and every noted head still hold."""
    schema = read_facts(session)["schema"]
    if schema == "1":
        session.add_fact("content_key", new_key())
    if schema != str(SCHEMA):
        session.change_fact("schema", str(SCHEMA))


def new_key() -> str:
    return secrets.token_hex(KEY_BYTES)


def key_bytes(key: str) -> bytes:
    try:
        return bytes.fromhex(key)
    except ValueError as error:
        raise BrokenLedgerError("its key of fingerprints was edited") from error


Clock = Callable[[], datetime]


class Chain:
    """Lines in order, for good. Safe to share between threads, forks and processes."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._lock = threading.RLock()
        with self._broken_named(), storage.transaction(write=False) as session:
            self._book = fresh_book(session)

    @property
    def name(self) -> str:
        """The file or the database, without password."""
        return self._storage.name

    @property
    def id(self) -> str:
        """Return what tells this ledger from every other, wherever it lies."""
        with self._broken_named(), self._storage.transaction(write=False) as session:
            return read_facts(session)["id"]

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
        check: Callable[[Book], None] = lambda book: None,
        **fields: Any,
    ) -> Line:
        """Write one line if the book admits it. The book takes it over only after it is safely stored.

        `check` may refuse it too, by what the book says right before.
        """
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
                check(book)
                line = book.roles.sign(line)
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
