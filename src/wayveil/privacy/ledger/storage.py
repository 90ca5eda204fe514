"""Where the lines are kept: an SQLite file or a PostgreSQL database. Storage only; every rule is in `book`.

Each transaction opens its own connection and closes it. That costs some milliseconds, a few times per
release, and buys much: no connection is ever shared between threads or inherited through a fork, and a ledger
file at rest is one file without companions.
"""

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from wayveil.privacy.ledger.lines import BrokenLedgerError, LedgerError

WAIT_SECONDS = 30
CREATE = """
CREATE TABLE wayveil_ledger_facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE wayveil_ledger_lines (sequence BIGINT PRIMARY KEY, text TEXT NOT NULL, hash TEXT NOT NULL);
"""
# Lines are only ever added. The triggers stop accidents; the hash chain exposes the rest.
APPEND_ONLY_SQLITE = """
CREATE TRIGGER wayveil_ledger_no_update BEFORE UPDATE ON wayveil_ledger_lines
BEGIN SELECT RAISE(ABORT, 'ledger lines are never changed'); END;
CREATE TRIGGER wayveil_ledger_no_delete BEFORE DELETE ON wayveil_ledger_lines
BEGIN SELECT RAISE(ABORT, 'ledger lines are never deleted'); END;
"""
APPEND_ONLY_POSTGRES = (
    """CREATE FUNCTION wayveil_ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'ledger lines are never changed or deleted'; END $$""",
    """CREATE TRIGGER wayveil_ledger_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON wayveil_ledger_lines
    FOR EACH STATEMENT EXECUTE FUNCTION wayveil_ledger_refuse()""",
)
POSTGRES_LOCK = 0x77617976_65696C  # "wayveil"

Execute = Callable[[str, Sequence[object]], Any]


class Session:
    """The few statements a ledger needs, inside one transaction."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute

    def facts(self) -> dict[str, str]:
        return dict(self._execute("SELECT name, value FROM wayveil_ledger_facts", ()).fetchall())

    def add_fact(self, name: str, value: str) -> None:
        self._execute("INSERT INTO wayveil_ledger_facts (name, value) VALUES (?, ?)", (name, value))

    def change_fact(self, name: str, value: str) -> None:
        self._execute("UPDATE wayveil_ledger_facts SET value = ? WHERE name = ?", (value, name))

    def lines(self, after: int) -> list[tuple[int, str, str]]:
        """Stored lines beyond number `after`: number, text, hash."""
        query = "SELECT sequence, text, hash FROM wayveil_ledger_lines WHERE sequence > ? ORDER BY sequence"
        return list(self._execute(query, (after,)).fetchall())

    def append(self, sequence: int, text: str, line_hash: str) -> None:
        query = "INSERT INTO wayveil_ledger_lines (sequence, text, hash) VALUES (?, ?, ?)"
        self._execute(query, (sequence, text, line_hash))


class Storage(Protocol):
    """One ledger's place. `name` is how messages call it and never holds a password."""

    name: str

    def exists(self) -> bool:
        """Tell whether a ledger is there; a place that holds something else is an error."""

    def create(self, facts: dict[str, str]) -> None:
        """Make an empty ledger, unless another process just did."""

    def transaction(self, *, write: bool) -> AbstractContextManager[Session]:
        """All or nothing. Writers exclude each other until the end; readers see one moment."""


class SqliteStorage:
    """A file. Its folder must be on a local disk: file locks of network drives are not to be trusted."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.name = str(path)

    def exists(self) -> bool:
        if not self.path.parent.is_dir():
            raise LedgerError(f"the folder {self.path.parent} for the ledger does not exist: create it first")
        if self.path.is_dir():
            raise LedgerError(f"{self.name} is a folder, not a ledger file")
        if not self.path.exists():
            return False
        with self._connect() as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
        if tables and "wayveil_ledger_lines" not in tables:
            raise LedgerError(
                f"{self.name} is an SQLite database but not a Wayveil ledger: name another file"
            )
        # A file without tables is what a process leaves that was killed while it made the ledger.
        return bool(tables)

    def create(self, facts: dict[str, str]) -> None:
        # Its key of fingerprints is for the data holder's eyes; who shares a ledger opens it up on purpose.
        with suppress(OSError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with self._connect() as connection:
            self._use_write_ahead_log(connection)
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                return
            for statement in _statements(CREATE + APPEND_ONLY_SQLITE):
                connection.execute(statement)
            for name, value in facts.items():
                Session(connection.execute).add_fact(name, value)
            connection.execute("COMMIT")

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Session]:
        if not self.path.exists():
            raise LedgerError(f"the ledger {self.name} is gone: nothing may be spent until it is back")
        with self._connect() as connection:
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            yield Session(connection.execute)
            connection.execute("COMMIT")

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """A connection in autocommit; closing it without COMMIT rolls back."""
        try:
            with closing(
                sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None)
            ) as connection:
                connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA fullfsync = ON")  # macOS: only this reaches the disk itself
                yield connection
        except sqlite3.Error as error:
            damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT
            problem = BrokenLedgerError if damaged else LedgerError
            raise problem(f"{self.name}: {_sqlite_sentence(error)}") from error
        except UnicodeDecodeError as error:  # from the words in which sqlite names a damaged part of the file
            raise BrokenLedgerError(f"{self.name}: the file is damaged") from error

    def _use_write_ahead_log(self, connection: sqlite3.Connection) -> None:
        """Kept in the file for good. Two processes that make one ledger may collide here, so try again."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)


class PostgresStorage:
    """A database shared by a team. The tables live in the first schema of the connection's search path."""

    def __init__(self, url: str) -> None:
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError as error:
            raise LedgerError(
                "a ledger in PostgreSQL needs a driver: install it with `pip install 'wayveil[postgres]'`"
            ) from error
        self._driver = dbapi
        parts = urlsplit(url)
        self._url = f"{url}{'&' if parts.query else '?'}connect_timeout={WAIT_SECONDS}"
        self.name = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def exists(self) -> bool:
        with self._connect() as cursor:
            return self._has_tables(cursor)

    def create(self, facts: dict[str, str]) -> None:
        with self._connect() as cursor:
            self._lock(cursor)
            if self._has_tables(cursor):
                return
            for statement in (*_statements(CREATE), *APPEND_ONLY_POSTGRES):
                cursor.execute(statement)
            for name, value in facts.items():
                self._session(cursor).add_fact(name, value)

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Session]:
        with self._connect() as cursor:
            if write:
                self._lock(cursor)
            else:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield self._session(cursor)

    @contextmanager
    def _connect(self) -> Iterator[Any]:
        """Give a cursor in a transaction: committed at the end, rolled back by an error."""
        try:
            with self._driver.connect(self._url) as connection, connection.cursor() as cursor:
                yield cursor
                connection.commit()
        except self._driver.Error as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise LedgerError(f"{self.name}: {reason}. Nothing may be drawn against this step") from error

    @staticmethod
    def _lock(cursor: Any) -> None:
        """One writer at a time, until the transaction ends; what follows sees all earlier commits."""
        cursor.execute(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
        # A server that acknowledges commits before they are on disk forgets reservations in a power cut.
        cursor.execute(
            "SELECT set_config('synchronous_commit', 'on', true) "
            "WHERE current_setting('synchronous_commit') = 'off'"
        )
        cursor.fetchall()
        cursor.execute(f"SELECT pg_advisory_xact_lock({POSTGRES_LOCK})")
        cursor.fetchall()

    @staticmethod
    def _has_tables(cursor: Any) -> bool:
        cursor.execute("SELECT to_regclass('wayveil_ledger_lines') IS NOT NULL")
        return bool(cursor.fetchone()[0])

    @staticmethod
    def _session(cursor: Any) -> Session:
        def execute(sql: str, values: Sequence[object]) -> Any:
            numbers = count(1)
            cursor.execute(re.sub(r"\?", lambda _: f"${next(numbers)}", sql), values or None)
            return cursor

        return Session(execute)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: `executescript` would commit the transaction it runs in."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _sqlite_sentence(error: sqlite3.Error) -> str:
    """Say what went wrong and what to do, for the cases that people meet."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return f"the disk is full or failing ({error}). Nothing was written; make room and try again"
    if code == sqlite3.SQLITE_BUSY:
        return f"another process kept the ledger locked for {WAIT_SECONDS} seconds; try again when it is done"
    if code == sqlite3.SQLITE_NOTADB:
        return "this file is not a Wayveil ledger: name another one"
    if code == sqlite3.SQLITE_CORRUPT:
        return f"the ledger file is damaged ({error}); restore it from a backup"
    return f"the ledger cannot be used ({error}); check that the file and its folder may be written"
