"""Every engine takes the same texts for the same id, and the same texts for none."""

import sys
import unicodedata

import polars as pl
import pytest

from wayveil.trips.ids import BLANKS, NO_ID, coded_ids, duckdb_id, known_ids
from wayveil.trips.visits import read_visits
from wayveil.world.world import World

duckdb = pytest.importorskip("duckdb")

CHARACTERS = [chr(code) for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
AROUND = [text for char in CHARACTERS for text in (char, f"{char}x{char}", f"{char}NA")]


def of_duckdb(texts, *, fraction=False):
    ids = pl.DataFrame({"rider_id": texts}).with_row_index()  # noqa: F841 (found by its name in the query)
    with duckdb.connect() as connection:
        query = f"SELECT {duckdb_id('rider_id', fraction=fraction)} FROM ids ORDER BY index"
        return [row[0] for row in connection.execute(query).fetchall()]


def test_all_characters_of_unicode_are_trimmed_alike_by_polars_and_duckdb():
    assert of_duckdb(AROUND) == known_ids(pl.Series(AROUND)).to_list()


def test_whatever_a_tool_may_take_for_white_space_is_a_blank():
    spaces = {char for char in CHARACTERS if char.isspace()}
    spaces |= {char for char in CHARACTERS if unicodedata.category(char) in ("Zs", "Zl", "Zp")}
    by_polars = pl.Series(CHARACTERS).filter(pl.Series(CHARACTERS).str.strip_chars() == "")
    assert spaces | set(by_polars.to_list()) <= set(BLANKS)
    assert known_ids(pl.Series([f"{char}7{char}" for char in BLANKS])).unique().to_list() == ["7"]


def test_what_stands_for_no_id_is_none_with_blanks_around_it_too():
    texts = [f"{blank}{word}{blank}" for blank in ("", " ", "\u00a0", "\ufeff") for word in NO_ID]
    assert known_ids(pl.Series(texts)).null_count() == len(texts)
    assert coded_ids(pl.Series(["a ", "a", "\u00a0", None, "b"])).to_list() == ["a", "a", None, None, "b"]


def test_two_zeros_are_one_rider():
    assert of_duckdb([0.0, -0.0, float("nan"), 7.0], fraction=True) == [
        "0.0",
        "0.0",
        None,
        "7.0",
    ]


def test_a_rider_whose_id_is_padded_in_some_rows_is_one_rider():
    rows = pl.DataFrame(
        {"trip_id": [1, 1, 2, 3], "stop_id": ["a"] * 4, "rider_id": ["r", "r\u2003", "\u00a0r", "s"]}
    )
    trips = read_visits(rows, World.of_symbols("ab"))
    assert trips.rider.tolist() == [0, 0, 1]
    assert trips.rider_ids.to_list() == ["r", "s"]


@pytest.mark.parametrize(
    "word", ["", " ", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>", "-", "none", "\\N"]
)
def test_words_for_nothing_are_no_id(word):
    assert known_ids(pl.Series([word, "x"])).to_list() == [None, "x"]
