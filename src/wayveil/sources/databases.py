"""Tables and queries of SQLite, DuckDB and PostgreSQL, every value as text, in pieces of constant size.

sqlite:///data/taps.db?table=taps    duckdb:///data/taps.duckdb?query=SELECT * FROM taps
postgresql://host/city?table=public.taps
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import polars as pl

from wayveil.disclosures import DAMAGED, LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.sources.header_words import column_for

DATABASES = {
    ".db": "sqlite",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".gpkg": "sqlite",
    ".duckdb": "duckdb",
}
ROWS = 1 << 17
_LISTED_BY_DUCKDB = (
    "SELECT CASE table_schema WHEN 'main' THEN '' ELSE table_schema || '.' END || table_name "
    "FROM information_schema.tables"
)
Pieces = Callable[[list[str]], Iterator[pl.DataFrame]]


@dataclass(frozen=True)
class DatabaseAddress:
    """A database (`kind`, and its file or address) and what is read of it."""

    kind: str
    place: str
    table: str | None = None
    query: str | None = None

    @property
    def name(self) -> str:
        """Return what errors and ledgers call it."""
        return self.table or Path(self.place.split("?")[0]).stem

    def source(self, tables: list[str]) -> str:
        """Return what stands after FROM; without a name the only table is meant."""
        if self.query is not None:
            return f"({self.query.rstrip('; ')}) AS rows_of_query"
        if self.table is None and len(tables) != 1:
            raise SeveralTablesError(self, tables)
        return ".".join(quoted(part) for part in (self.table or tables[0]).split("."))


class SeveralTablesError(InputError):
    """A database of several tables (`tables`), none of which was named."""

    def __init__(self, address: DatabaseAddress, tables: list[str]) -> None:
        self.tables = tables
        listed = ", ".join(tables) or "none"
        said = f"has {len(tables)} tables ({listed}): add ?table= to its address, or say --with sheet=TABLE"
        super().__init__(said, file=address.place, tells=LAYOUT)


def guess_table(address: DatabaseAddress) -> str | None:
    """Return the table whose columns say most of rows; None where one was named or is the only one."""

    def known(table: str) -> int:
        columns, _ = open_database(replace(address, table=table))
        return len({column_for(name) for name in columns} - {None})

    try:
        open_database(address)
    except SeveralTablesError as error:
        return max(error.tables, key=known, default=None)
    return None


def is_address(text: str) -> bool:
    """Tell whether a text is the address of a database."""
    return text.startswith(("sqlite:", "duckdb:", "postgresql:", "postgres:")) and "//" in text


def database_address(place: Path | str, table: str | None = None) -> DatabaseAddress:
    """Read an address, or the path of a database file."""
    if isinstance(place, Path):
        return DatabaseAddress(DATABASES[place.suffix.lower()], str(place), table)
    parts = urlsplit(place)
    asked = dict(parse_qsl(parts.query))
    table, query = asked.pop("table", table), asked.pop("query", None)
    if parts.scheme in ("postgresql", "postgres"):
        kept = urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(asked), ""))
        return DatabaseAddress("postgresql", kept, table, query)
    if parts.scheme not in ("sqlite", "duckdb"):
        raise ParameterError(
            f"unknown kind of database {parts.scheme!r}; choose one of sqlite, duckdb, postgresql"
        )
    return DatabaseAddress(
        parts.scheme, parts.path[1:] if parts.path.startswith("/") else parts.path, table, query
    )


def open_database(address: DatabaseAddress) -> tuple[list[str], Pieces]:
    """Return the columns of a table or query, and its rows in pieces."""
    try:
        return _OPENERS[address.kind](address)
    except sqlite3.Error as error:
        raise _refused(address, error) from error


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _refused(address: DatabaseAddress, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return InputError(f"cannot be read as {address.kind} ({reason})", file=address.name, tells=DAMAGED)


def _sqlite(address: DatabaseAddress) -> tuple[list[str], Pieces]:
    if not Path(address.place).is_file():
        raise InputError("no such file", file=address.place, tells=LAYOUT)

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(f"{Path(address.place).absolute().as_uri()}?mode=ro", uri=True)

    connection = connect()
    try:
        listed = connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' "
            "AND name NOT LIKE 'gpkg_%' AND name NOT LIKE 'rtree_%'"
        )
        source = address.source([name for (name,) in listed])
        columns = [each[0] for each in connection.execute(f"SELECT * FROM {source} LIMIT 0").description]
    finally:
        connection.close()

    def pieces(names: list[str]) -> Iterator[pl.DataFrame]:
        chosen = ", ".join(f"CAST({quoted(name)} AS TEXT)" for name in names)
        connection = connect()
        try:
            cursor = connection.execute(f"SELECT {chosen} FROM {source}")
            yield from _fetched(cursor.fetchmany, names)
        except sqlite3.Error as error:
            raise _refused(address, error) from error
        finally:
            connection.close()

    return columns, pieces


def _duckdb(address: DatabaseAddress) -> tuple[list[str], Pieces]:
    try:
        import duckdb
    except ImportError as error:
        raise ParameterError("DuckDB is read with: pip install 'wayveil[stream]'") from error
    if not Path(address.place).is_file():
        raise InputError("no such file", file=address.place, tells=LAYOUT)
    try:
        with duckdb.connect(address.place, read_only=True) as connection:
            source = address.source([row[0] for row in connection.execute(_LISTED_BY_DUCKDB).fetchall()])
            described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
            columns = [row[0] for row in described]
    except duckdb.Error as error:
        raise _refused(address, error) from error

    def pieces(names: list[str]) -> Iterator[pl.DataFrame]:
        chosen = ", ".join(f"CAST({quoted(name)} AS VARCHAR)" for name in names)
        try:
            with duckdb.connect(address.place, read_only=True) as connection:
                yield from _fetched(connection.execute(f"SELECT {chosen} FROM {source}").fetchmany, names)
        except duckdb.Error as error:
            raise _refused(address, error) from error

    return columns, pieces


def _postgresql(address: DatabaseAddress) -> tuple[list[str], Pieces]:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError as error:
        raise ParameterError("PostgreSQL is read with: pip install 'wayveil[postgres]'") from error

    @contextmanager
    def reading() -> Iterator[Any]:
        try:
            with dbapi.connect(address.place) as connection, connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
                yield cursor
        except dbapi.Error as error:
            raise _refused(address, error) from error

    with reading() as cursor:
        cursor.execute(
            "SELECT format('%s.%s', table_schema, table_name) FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        )
        source = address.source([row[0] for row in cursor.fetchall()])
        cursor.execute(f"SELECT * FROM {source} LIMIT 0")
        columns = [each[0] for each in cursor.description]

    def pieces(names: list[str]) -> Iterator[pl.DataFrame]:
        chosen = ", ".join(f"CAST({quoted(name)} AS text) AS {quoted(name)}" for name in names)
        with reading() as cursor:
            cursor.execute(f"SELECT {chosen} FROM {source}")
            for batch in cursor.fetch_record_batch():
                yield pl.DataFrame(batch)

    return columns, pieces


def _fetched(
    fetch: Callable[[int], list[tuple[str | None, ...]]], names: list[str]
) -> Iterator[pl.DataFrame]:
    schema = dict.fromkeys(names, pl.String)
    while rows := fetch(ROWS):
        yield pl.DataFrame(rows, schema=schema, orient="row")


_OPENERS = {"sqlite": _sqlite, "duckdb": _duckdb, "postgresql": _postgresql}
