"""Tables and queries of a real PostgreSQL server: every value as text, in pieces."""

import pytest

from wayveil.errors import InputError
from wayveil.sources.databases import database_address, open_database

pytest_plugins = ["privacy.ledger_places"]


@pytest.fixture
def taps(postgres_place):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_place) as connection:
        connection.execute('CREATE TABLE taps (card BIGINT, "Stop ""A""" TEXT, at TIMESTAMP, fare NUMERIC)')
        connection.execute(
            "INSERT INTO taps SELECT i, CASE i WHEN 1 THEN NULL WHEN 2 THEN '' ELSE 'é, \"x\"' END, "
            "timestamp '2026-05-01 08:00' + i * interval '1 second', i / 4.0 FROM generate_series(1, 300000) i"
        )
    return postgres_place


def test_every_value_comes_as_its_text_in_pieces(taps):
    columns, pieces = open_database(database_address(f"{taps}&table=taps"))
    assert columns == ["card", 'Stop "A"', "at", "fare"]
    made = list(pieces([*columns[1:], "card"]))
    assert len(made) > 1
    assert sum(map(len, made)) == 300_000
    rows = made[0].rows()
    assert rows[:3] == [
        (None, "2026-05-01 08:00:01", "0.25000000000000000000", "1"),
        ("", "2026-05-01 08:00:02", "0.50000000000000000000", "2"),
        ('é, "x"', "2026-05-01 08:00:03", "0.75000000000000000000", "3"),
    ]


def test_a_query_is_read_and_cannot_write(taps):
    query = "WITH gone AS (DELETE FROM taps RETURNING card) SELECT card FROM gone"
    with pytest.raises(InputError, match="cannot be read as postgresql"):
        open_database(database_address(f"{taps}&query={query.replace(' ', '+')}"))
    columns, pieces = open_database(database_address(f"{taps}&query=SELECT+card+FROM+taps+WHERE+card<4;"))
    assert [row for piece in pieces(columns) for row in piece.rows()] == [("1",), ("2",), ("3",)]


def test_a_table_that_is_not_there_is_named(taps):
    with pytest.raises(InputError, match=r"relation .* does not exist"):
        open_database(database_address(f"{taps}&table=rides"))
