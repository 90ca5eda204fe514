"""The chain of lines: how a ledger reads it, adds to it and checks it. What lines mean is in `book` and `ledger`."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from wayveil.privacy.ledger.book import Book
from wayveil.privacy.ledger.facts import fresh_book, key_bytes, read_facts, replay, upgrade
from wayveil.privacy.ledger.fingerprint import Fingerprint, fingerprint
from wayveil.privacy.ledger.lines import BrokenLedgerError, Head, Kind, Line, digest
from wayveil.privacy.ledger.statements import Verification
from wayveil.privacy.ledger.storage import Session, Storage
from wayveil.trips.trips import Trips

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
        """What tells this ledger from every other, wherever it lies."""
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
