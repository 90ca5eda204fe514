"""Whom the ledger tests meet: a clock that obeys, and a burglar who does not."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

Row = tuple[int, str, str]


class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **amount: float) -> None:
        self.now += timedelta(**amount)


class Burglar:
    """Somebody with write access to the storage who goes around the ledger."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._is_postgres = place.startswith("postgresql://")
        disarm = (
            ["ALTER TABLE wayveil_ledger_lines DISABLE TRIGGER ALL"]
            if self._is_postgres
            else ["DROP TRIGGER wayveil_ledger_no_update", "DROP TRIGGER wayveil_ledger_no_delete"]
        )
        self.run(*((statement, ()) for statement in disarm))

    def run(self, *statements: tuple[str, tuple[object, ...]]) -> list[Any]:
        """Run statements in one transaction and return the rows of the last."""
        if self._is_postgres:
            import psycopg

            with psycopg.connect(self._place) as connection:
                for sql, values in statements:
                    cursor = connection.execute(sql.replace("?", "%s"), values)
                return cursor.fetchall() if cursor.description else []
        with closing(sqlite3.connect(self._place)) as connection, connection:
            for sql, values in statements:
                rows = connection.execute(sql, values).fetchall()
            return rows

    def rows(self) -> list[Row]:
        return self.run(("SELECT sequence, text, hash FROM wayveil_ledger_lines ORDER BY sequence", ()))

    def head(self) -> str:
        head: str = self.run(("SELECT value FROM wayveil_ledger_facts WHERE name = 'head'", ()))[0][0]
        return head

    def set_fact(self, name: str, value: str) -> None:
        self.run(("UPDATE wayveil_ledger_facts SET value = ? WHERE name = ?", (value, name)))

    def rewrite(self, rows: list[Row]) -> None:
        insert = "INSERT INTO wayveil_ledger_lines (sequence, text, hash) VALUES (?, ?, ?)"
        self.run(("DELETE FROM wayveil_ledger_lines", ()), *((insert, row) for row in rows))
