"""The trie of a saved release, for other programs: nodes within nodes as JSON."""

import json
from pathlib import Path

import polars as pl

from wayveil.errors import ParameterError
from wayveil.synthesis.trie import nested_table


def export_trie(folder: str | Path, out: str | Path, widest: int | None = None) -> list[Path]:
    """Write the n-grams of a saved release as a tree; at most `widest` children each, the most frequent first.

    It is what was released already and costs nothing. The same n-grams are a table in the folder's model.parquet.
    """
    table = pl.read_parquet(Path(folder) / "model.parquet")
    if "ngram" not in table.columns:
        raise ParameterError(
            f"{folder}: this release was not made from n-grams, so it has no trie; `mobitrie` makes one"
        )
    path = Path(out)
    tree = {"n": int(str(table["length"].max() or 0)), "root": nested_table(table, widest)}
    path.write_text(json.dumps(tree, ensure_ascii=False), encoding="utf-8")
    return [path]
