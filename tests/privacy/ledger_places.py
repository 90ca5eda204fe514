"""Fixtures of the ledger tests: a place for a ledger in each kind of storage, and a clock under control."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from privacy.ledger_tools import FakeClock
from privacy.postgres_server import running_server


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a real server, started once; skipped with a clear word where there is none."""
    pytest.importorskip("adbc_driver_postgresql", reason="no driver: pip install 'wayveil[postgres]'")
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'wayveil[dev]'")
    with ExitStack() as stack:
        try:
            url = stack.enter_context(running_server())
        except RuntimeError as problem:
            pytest.skip(str(problem))
        yield url


@pytest.fixture
def postgres_place(postgres: str) -> str:
    """An empty schema of its own on the server."""
    import psycopg

    schema = f"s{uuid4().hex[:12]}"
    with psycopg.connect(postgres) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{postgres}&options=-csearch_path%3D{schema}"


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger can be opened; every test that asks for it runs on both kinds of storage."""
    if request.param == "sqlite":
        return str(tmp_path / "trips.ledger")
    url: str = request.getfixturevalue("postgres_place")
    return url
