"""Clean taps on disk, in our own column names."""

from pathlib import Path

import numpy as np
import polars as pl

from wayveil.taps.taps import NO_OFFSET, Taps
from wayveil.trips.history import MARKS_NAME, marks_text
from wayveil.trips.tables import write_table


def write_taps(taps: Taps, path: str | Path) -> None:
    """Write stop_id, event_time, route_id, vehicle_id, seats, rider_id, filled (those there are) to .parquet or .csv.

    Every tap has a number, `tap_id`: two that are equal in all else (as hourly times make them) stay two when read.
    Cards and vehicles are written as numbers; a card still links the taps of a person, so the file is as sensitive as
    the one it came from. Zoned times are written with their zone. Marks are written as a column and as metadata.
    """
    write_table(taps_table(taps), Path(path), taps.history)


def marked_taps_table(taps: Taps) -> pl.DataFrame:
    """The columns, and the marks where there are any."""
    mark = marks_text(taps.history)
    table = taps_table(taps)
    return table if mark is None else table.with_columns(pl.lit(mark).alias(MARKS_NAME))


def taps_table(taps: Taps) -> pl.DataFrame:
    """The columns by the names that people use."""
    columns: dict[str, pl.Series] = {
        "stop_id": _named(taps.world.ids, taps.location),
        "event_time": _moments(taps),
        "tap_id": pl.Series(np.arange(1, len(taps) + 1)),
    }
    if taps.route is not None:
        columns["route_id"] = _named(taps.world.route_ids, taps.route)  # type: ignore[attr-defined]
    for name, values in (("vehicle_id", taps.vehicle), ("rider_id", taps.card)):
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
    away = np.abs(taps.offset.astype(np.int64))
    sign = pl.Series(np.where(taps.offset < 0, "-", "+"))
    zone = [pl.Series(part).cast(pl.String).str.zfill(2) for part in (away // 3600, away // 60 % 60)]
    zoned = text + sign + zone[0] + ":" + zone[1]
    return pl.select(pl.when(pl.Series(taps.offset != NO_OFFSET)).then(zoned).otherwise(text)).to_series()
