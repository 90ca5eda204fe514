"""Ids of people: what around an id is none of it, and which texts stand for no id. Every engine takes them alike.

Two engines that trim other characters would take one rider for two in some of the rows, and bound that rider twice. So
the characters are listed, and no engine's own idea of a blank is asked.
"""

from typing import Any

import polars as pl

from wayveil.sources.categories import distinct_values

# Unicode's white space, the separators that Python counts among it, and marks without a width.
BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u180e\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
BLANKS += "".join(map(chr, range(0x2000, 0x200E)))
# What tools write where there is no id. Taken for the name of a rider, such a word would stand for many people.
NO_ID = (
    "",
    "NA",
    "N/A",
    "NaN",
    "nan",
    "null",
    "NULL",
    "None",
    "<NA>",
    "-",
    "--",
    "n/a",
    "none",
    "(null)",
    "\\N",
)


def known_ids(text: pl.Series, also_missing: tuple[str, ...] = ()) -> pl.Series:
    """Ids as text without blanks around them; none where the text says that there is none."""
    bare = text.str.strip_chars(BLANKS)
    return pl.select(pl.when(~bare.is_in([*NO_ID, *also_missing])).then(bare)).to_series()


def coded_ids(column: pl.Series) -> pl.Series:
    """A column of ids, of whatever type, as categories."""
    coded = column if column.dtype == pl.Categorical else column.cast(pl.String).cast(pl.Categorical)
    distinct, code = distinct_values(coded)
    known = known_ids(distinct)
    if not known.ne_missing(distinct).any():
        return coded
    return known.cast(pl.Categorical).gather(pl.Series(code).replace(-1, None)).alias(column.name)


def duckdb_id(column: str, *, fraction: bool) -> str:
    """Return the same id as an expression of DuckDB."""
    # Of two zeros that differ in their sign, one is left.
    text = f"CAST({column}{' + 0.0' if fraction else ''} AS VARCHAR)"
    bare = f"trim({text}, '{BLANKS}')"
    nobody = ", ".join(f"'{word}'" for word in NO_ID)
    return f"CASE WHEN {bare} NOT IN ({nobody}) THEN {bare} END"


def spark_id(column: str) -> Any:
    """Return the same id of a column of text as an expression of Spark."""
    from pyspark.sql import functions as sql

    bare = sql.btrim(sql.col(column), sql.lit(BLANKS))
    return sql.when(~bare.isin(*NO_ID), bare)
