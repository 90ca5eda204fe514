"""The stops that draw most simulated riders, as a file: written beside the trips, read again for another simulation."""

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import InputError
from wayveil.world.network import Network

STOP, NAME = "stop_id", "name"


def hotspots_beside(trips: Path) -> Path:
    """Where the hotspots of a simulation lie: `trips.parquet` has `trips-hotspots.csv`."""
    return trips.with_name(f"{trips.stem}-hotspots.csv")


def write_hotspots(path: Path, network: Network, hotspots: NDArray[np.integer]) -> Path:
    """Write stop ids and names as csv."""
    table = {STOP: network.ids[hotspots].tolist(), NAME: network.names[hotspots].tolist()}
    pl.DataFrame(table, schema={STOP: pl.String, NAME: pl.String}).write_csv(path)
    return path


def read_hotspots(path: Path) -> list[str]:
    """Stop ids from such a csv, or from a text file with one id per line."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        if lines and STOP in lines[0].split(","):
            column = pl.read_csv(path, infer_schema=False)[STOP]
            lines = column.drop_nulls().to_list()
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot be read as a list of stops ({error})", file=path) from error
    if not lines:
        raise InputError("names no stop", file=path)
    return lines
