"""Full disks, foreign files, locks and missing servers: a sentence each, and never a lost or doubled spend."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from wayveil.errors import WayveilError
from wayveil.privacy.ledger import (
    BrokenLedgerError,
    Ledger,
    LedgerError,
    LineFacts,
    Policy,
    open_ledger,
    storage,
)
from wayveil.privacy.ledger.chain import SCHEMA

pytest_plugins = ["privacy.ledger_places"]


def reserve(ledger: Ledger) -> None:
    ledger.reserve("taps", "1/7", actor="ana", mechanism="prefix tree", facts=LineFacts("x" * 500))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a small file system can only be mounted by root on Linux")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no small file system could be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def refusal(ledger: Ledger) -> str | None:
    """Reserve; the sentence if that was refused."""
    try:
        reserve(ledger)
    except LedgerError as error:
        return str(error)
    return None


def test_a_full_disk_refuses_the_reservation_and_loses_nothing(small_disk: Path) -> None:
    ledger = open_ledger(small_disk / "trips.ledger")
    stuffing = small_disk / "stuffing"
    answers = []
    for free_bytes in range(0, 120_000, 4096):
        before = ledger.head().count
        stuffing.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - free_bytes))
        answers.append(refusal(ledger))
        stuffing.unlink()
        opened_later = open_ledger(small_disk / "trips.ledger")
        assert opened_later.verify().ok
        assert ledger.head().count == opened_later.head().count == before + (answers[-1] is None)
    refused = [answer for answer in answers if answer is not None]
    assert 0 < len(refused) < len(answers)
    assert all("make room" in answer for answer in refused), refused
    assert ledger.spent("taps") * 7 == answers.count(None)


def test_a_database_at_its_size_limit_refuses_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(tmp_path / "trips.ledger")
    honest_connect = storage.SqliteStorage._connect

    @contextmanager
    def limited(self: storage.SqliteStorage) -> Iterator[sqlite3.Connection]:
        with honest_connect(self) as connection:
            connection.execute("PRAGMA max_page_count = 12")
            yield connection

    with monkeypatch.context() as patch:
        patch.setattr(storage.SqliteStorage, "_connect", limited)
        answers = [refusal(ledger) for _ in range(60)]
        written = answers.count(None)
        assert 0 < written < 60
        assert "the disk is full or failing" in (answers[-1] or "")
        assert ledger.spent("taps") * 7 == written
        assert ledger.verify().ok
    reserve(ledger)
    assert ledger.spent("taps") * 7 == written + 1


def test_the_file_waits_for_the_disk_and_is_one_file_at_rest(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "trips.ledger")
    reserve(ledger)
    assert [path.name for path in tmp_path.iterdir()] == ["trips.ledger"]
    with storage.SqliteStorage(tmp_path / "trips.ledger")._connect() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("this is not a database, " * 100)
    database = tmp_path / "other.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    for file in (text, database):
        content = file.read_bytes()
        with pytest.raises(LedgerError, match="not a Wayveil ledger"):
            open_ledger(file)
        assert file.read_bytes() == content
    with pytest.raises(LedgerError, match="is a folder"):
        open_ledger(tmp_path)
    with pytest.raises(LedgerError, match="does not exist: create it first"):
        open_ledger(tmp_path / "nowhere" / "trips.ledger")


def test_a_ledger_cut_short_on_disk_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "trips.ledger"
    ledger = open_ledger(file)
    for _ in range(20):
        reserve(ledger)
    file.write_bytes(file.read_bytes()[:-8192])
    assert "damaged" in (ledger.verify().problem or "")
    with pytest.raises(BrokenLedgerError):
        reserve(ledger)


def test_bytes_that_are_no_text_are_reported_as_an_edit(tmp_path: Path) -> None:
    file = tmp_path / "trips.ledger"
    ledger = open_ledger(file)
    reserve(ledger)
    file.write_bytes(file.read_bytes().replace(b"prefix tree", b"prefix\xff\xfetre"))
    assert (ledger.verify().problem or "").startswith("line 1 was edited")


def test_an_empty_file_left_by_a_crash_becomes_a_ledger(tmp_path: Path) -> None:
    file = tmp_path / "trips.ledger"
    file.touch()
    with pytest.raises(LedgerError, match="make one with `wayveil ledger init`"):
        open_ledger(file, create=False)
    reserve(open_ledger(file))
    assert open_ledger(file, create=False).verify().ok


def test_no_ledger_is_made_where_none_was_asked_for(place: str) -> None:
    with pytest.raises(LedgerError, match="there is no ledger at"):
        open_ledger(place, create=False)
    if not place.startswith("postgresql"):
        assert not Path(place).exists()
    open_ledger(place)
    assert open_ledger(place, create=False).head().count == 0


def test_a_ledger_that_disappears_while_in_use_stops_all_spending(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "trips.ledger")
    (tmp_path / "trips.ledger").unlink()
    with pytest.raises(LedgerError, match="is gone: nothing may be spent"):
        reserve(ledger)
    assert list(tmp_path.iterdir()) == []


def test_a_newer_schema_is_refused_in_a_sentence(place: str) -> None:
    ledger = open_ledger(place)
    with ledger._storage.transaction(write=True) as session:
        session.change_fact("schema", str(SCHEMA + 1))
    with pytest.raises(LedgerError, match=rf"written in schema {SCHEMA + 1} .* use the newer version"):
        open_ledger(place)
    with pytest.raises(LedgerError, match=f"schema {SCHEMA}"):
        reserve(ledger)


def test_an_unknown_kind_of_address_is_refused() -> None:
    with pytest.raises(LedgerError, match="not mysql://"):
        open_ledger("mysql://localhost/ledger")


def test_a_writer_that_never_lets_go_is_named_as_the_reason(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "WAIT_SECONDS", 1)
    ledger = open_ledger(place)
    with ledger._storage.transaction(write=True), pytest.raises(LedgerError, match="lock"):
        reserve(open_ledger(place))
    reserve(ledger)


def test_readers_do_not_wait_for_a_writer(place: str) -> None:
    ledger = open_ledger(place)
    reserve(ledger)
    with ledger._storage.transaction(write=True):
        assert ledger.spent("taps") * 7 == 1


def test_a_failed_step_leaves_no_trace(place: str) -> None:
    ledger = open_ledger(place)

    def stumble() -> None:
        with ledger._storage.transaction(write=True) as session:
            session.append(1, "half", "written")
            raise InterruptedError

    with pytest.raises(InterruptedError):
        stumble()
    assert ledger.head().count == 0
    assert ledger.verify().ok


def test_postgres_without_its_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(LedgerError, match=r"pip install 'wayveil\[postgres\]'"):
        open_ledger("postgresql://localhost/ledger")


def test_a_server_that_does_not_answer_is_a_sentence_without_the_password(tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_postgresql")
    with pytest.raises(WayveilError) as caught:
        open_ledger(f"postgresql://ana:secret@/ledger?host={tmp_path}")
    assert "postgresql:///ledger" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_postgres_commit_waits_for_the_disk_even_where_the_server_does_not(postgres_place: str) -> None:
    import psycopg

    ledger = open_ledger(postgres_place)
    with psycopg.connect(postgres_place, autocommit=True) as connection:
        (database,) = connection.execute("SELECT current_database()").fetchone() or ("",)
        connection.execute(f"ALTER DATABASE {database} SET synchronous_commit = off")
        try:
            with ledger._storage.transaction(write=True) as session:
                setting = session._execute("SELECT current_setting('synchronous_commit')", ()).fetchone()
            assert setting == ("on",)
        finally:
            connection.execute(f"ALTER DATABASE {database} RESET synchronous_commit")


def test_a_spender_with_few_rights_can_spend_but_not_rewrite(postgres_place: str) -> None:
    import psycopg

    open_ledger(postgres_place).set_policy("taps", Policy(1), actor="officer")
    with psycopg.connect(postgres_place) as connection:
        (schema,) = connection.execute("SELECT current_schema()").fetchone() or ("",)
        role = f"spender_{schema}"
        connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        connection.execute(f"GRANT SELECT, INSERT ON wayveil_ledger_lines TO {role}")
        connection.execute(f"GRANT SELECT, UPDATE ON wayveil_ledger_facts TO {role}")
    theirs = postgres_place.replace("wayveil@", f"{role}@")
    ledger = open_ledger(theirs)
    reserve(ledger)
    assert ledger.verify().ok
    with psycopg.connect(theirs) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("DELETE FROM wayveil_ledger_lines")


def test_a_connection_that_is_cut_before_the_commit_writes_nothing(postgres_place: str) -> None:
    import psycopg

    ledger = open_ledger(postgres_place)

    def lose_the_server() -> None:
        with ledger._storage.transaction(write=True) as session:
            session.append(1, "half", "written")
            (mine,) = session._execute("SELECT pg_backend_pid()", ()).fetchone()
            with psycopg.connect(postgres_place) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", (mine,))

    with pytest.raises(LedgerError, match="Nothing may be drawn"):
        lose_the_server()
    assert ledger.head().count == 0
