"""Tables for spreadsheets: csv in which no cell is a command.

A stop called `=HYPERLINK(...)` would be executed by the program that opens the table. Ids and names come from feeds
that anybody may have written, so text that begins like a formula gets an apostrophe in front, which spreadsheets take
for "this is text". Numbers stay numbers, also negative ones.
"""

from pathlib import Path

import polars as pl

FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+-]?[0-9][0-9.,]*$"


def defuse(table: pl.DataFrame) -> pl.DataFrame:
    """The table with every cell of text that a spreadsheet would execute marked as text."""
    return table.with_columns(_defuse(name) for name, kind in table.schema.items() if kind == pl.String)


def _defuse(name: str) -> pl.Expr:
    text = pl.col(name)
    risky = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
    return pl.when(risky).then(pl.concat_str(pl.lit("'"), text)).otherwise(text).alias(name)


def write_csv(table: pl.DataFrame, path: Path) -> None:
    """Write a table that is safe to open."""
    defuse(table).write_csv(path)
