"""The facts kept beside the lines (birth, head, schema, key), and reading the lines back into a book."""

import secrets
from collections.abc import Iterator

from wayveil.errors import ParameterError
from wayveil.privacy.ledger.book import Book
from wayveil.privacy.ledger.fingerprint import KEY_BYTES
from wayveil.privacy.ledger.lines import BrokenLedgerError, Head, LedgerError, Line, canonical, digest
from wayveil.privacy.ledger.storage import Session

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
