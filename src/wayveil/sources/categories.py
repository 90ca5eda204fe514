"""Columns of text as categories: each distinct value is looked at once, however many rows have it."""

from collections.abc import Callable

import numpy as np
import polars as pl

from wayveil.arrays import Int32s


def as_categories(column: pl.Series) -> pl.Series:
    """Return a column of whatever type as categories."""
    return column if column.dtype == pl.Categorical else column.cast(pl.String).cast(pl.Categorical)


def distinct_values(column: pl.Series) -> tuple[pl.Series, Int32s]:
    """Return the distinct texts of a categorical column and, per row, the position of its text (-1 for none)."""
    distinct = column.drop_nulls().unique(maintain_order=True)
    codes = distinct.to_physical().to_numpy()
    position = np.full(int(codes.max()) + 2 if len(codes) else 1, -1, np.int32)
    position[codes] = np.arange(len(codes), dtype=np.int32)
    return distinct.cast(pl.String), position[
        column.to_physical().cast(pl.UInt32).fill_null(len(position) - 1).to_numpy()
    ]


def each_distinct(column: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Return a column with every distinct text changed; where `change` gives none the text stays."""
    distinct, code = distinct_values(as_categories(column))
    changed = pl.select(pl.coalesce(change(distinct), distinct)).to_series().cast(pl.Categorical)
    return changed.gather(pl.Series(code).replace(-1, None)).alias(column.name)


def of_distinct(column: pl.Series, read: Callable[[pl.Series], pl.DataFrame]) -> pl.DataFrame:
    """Return what is read of every distinct text, row by row; null where there is no text."""
    distinct, code = distinct_values(as_categories(column))
    return read(distinct).select(pl.all().gather(pl.Series(code).replace(-1, None)))
