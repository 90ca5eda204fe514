"""What becomes of bad rows: a rule for each kind, said in the plan, that looks at one row or one trip alone."""

from collections.abc import Mapping

import polars as pl


def apply_row_rules(table: pl.DataFrame, rules: Mapping[str, str]) -> pl.DataFrame:
    """Return the rows that the rules leave, mended as they say."""
    return table
