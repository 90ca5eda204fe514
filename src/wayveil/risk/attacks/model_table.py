"""The released table of a saved release."""

from pathlib import Path

import polars as pl


def saved_model_table(folder: str | Path) -> pl.DataFrame | None:
    """What `model.parquet` holds, where it is there: part of the release, so an attacker has it too."""
    path = Path(folder) / "model.parquet"
    return pl.read_parquet(path) if path.exists() else None
