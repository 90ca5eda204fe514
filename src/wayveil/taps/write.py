"""Clean taps on disk, in our own column names."""

from pathlib import Path

import numpy as np
import polars as pl

from wayveil.errors import ParameterError
from wayveil.progress import step
from wayveil.taps.taps import Taps
from wayveil.trips.tables import TABLE_SUFFIXES, replacing, table_suffix


def write_taps(taps: Taps, path: str | Path) -> None:
    """Write stop_id, event_time, route_id, vehicle_id, seats, card_id, filled (those there are) to .parquet or .csv.

    Cards and vehicles are written as numbers; a card still links the taps of a person, so the file is as sensitive as
    the one it came from. Zoned times are written with their zone.
    """
    path = Path(path)
    suffix = table_suffix(path)
    if suffix not in TABLE_SUFFIXES or path.suffix.lower() == ".gz":
        raise ParameterError(f"cannot tell the format of {path}: end its name in .parquet or .csv")
    with step(f"Writing {path.name}"), replacing(path) as draft:
        table = taps_table(taps)
        if suffix == ".parquet":
            table.write_parquet(draft)
        else:
            table.write_csv(draft, separator="\t" if suffix == ".tsv" else ",")


def taps_table(taps: Taps) -> pl.DataFrame:
    """The columns by the names that people use."""
    columns: dict[str, pl.Series] = {
        "stop_id": _named(taps.world.ids, taps.location),
        "event_time": _moments(taps),
    }
    if taps.route is not None:
        columns["route_id"] = _named(taps.world.route_ids, taps.route)  # type: ignore[attr-defined]
    for name, values in (("vehicle_id", taps.vehicle), ("card_id", taps.card)):
        if values is not None:
            columns[name] = pl.select(pl.when(pl.Series(values >= 0)).then(pl.Series(values))).to_series()
    if taps.seats is not None:
        columns["seats"] = pl.Series(taps.seats)
    if taps.filled is not None:
        columns["filled"] = pl.Series(taps.filled)
    return pl.DataFrame(columns)


def _named(ids: np.ndarray, index: np.ndarray) -> pl.Series:
    names = pl.Series([*ids.tolist(), None], dtype=pl.String)
    return names.gather(np.where(index < 0, len(ids), index))


def _moments(taps: Taps) -> pl.Series:
    local = pl.Series(taps.time).cast(pl.Int64) * 1_000_000
    text = local.cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M:%S")
    if taps.offset is None:
        return text
    away = np.abs(taps.offset)
    sign = pl.Series(np.where(taps.offset < 0, "-", "+"))
    zone = [pl.Series(part).cast(pl.String).str.zfill(2) for part in (away // 3600, away // 60 % 60)]
    return text + sign + zone[0] + ":" + zone[1]
