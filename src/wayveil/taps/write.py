"""Clean taps on disk, in our own column names."""

from pathlib import Path

from wayveil.taps.taps import Taps
from wayveil.trips.tables import write_table


def write_taps(taps: Taps, path: str | Path) -> None:
    """Write stop_id, event_time, route_id, vehicle_id, seats, rider_id, filled (those there are) to .parquet or .csv.

    Every tap has a number, `tap_id`: two that are equal in all else (as hourly times make them) stay two when read.
    Cards and vehicles are written as numbers; a card still links the taps of a person, so the file is as sensitive as
    the one it came from. Zoned times are written with their zone. Marks are written as a column and as metadata.
    """
    write_table(taps.to_polars(), Path(path), taps.history)
