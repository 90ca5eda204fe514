"""N-grams of a released table as nodes within nodes, for JSON and for pictures."""

from typing import Any

import polars as pl


def nest_table(table: pl.DataFrame, widest: int | None = None) -> dict[str, Any]:
    """The n-grams of a released table as nodes within nodes, the most frequent first, at most `widest` children each.

    A node has `stop`, `count` (the sum over its n-grams) and `children`; the root has no stop. Of n-grams of several
    lengths the longest are shown.
    """
    longest = table.filter(pl.col("length") == pl.col("length").max())
    rows = list(zip(longest["ngram"].to_list(), longest["count"].to_list(), strict=True))
    return {"count": float(longest["count"].sum()), "children": nest_rows(rows, 0, widest)}


def nest_rows(rows: list[tuple[list[str], float]], depth: int, widest: int | None) -> list[dict[str, Any]]:
    branches: dict[str, list[tuple[list[str], float]]] = {}
    for row in rows:
        if depth < len(row[0]):
            branches.setdefault(row[0][depth], []).append(row)
    totals = {stop: sum(count for _, count in below) for stop, below in branches.items()}
    return [
        {"stop": stop, "count": totals[stop], "children": nest_rows(branches[stop], depth + 1, widest)}
        for stop in sorted(branches, key=lambda stop: -totals[stop])[:widest]
    ]
