"""GeoParquet 1.1: flows from stop to stop as straight lines, with their intervals."""

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.arrays import Floats
from wayveil.exports.od import od_cells
from wayveil.exports.parts import network_of_trips, note_of, texts
from wayveil.world.timebins import TimeBins

# Well-known binary of a line between two points: little endian, type 2, two points, x y x y.
WKB_LINE: Final = np.dtype([("order", "u1"), ("kind", "<u4"), ("points", "<u4"), ("xy", "<f8", (4,))])


def write_geoparquet(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One Parquet file with a geometry column; WGS 84, longitude first."""
    world = network_of_trips(release.trips)
    cells = od_cells(release)
    origin, destination = (cells[name].to_numpy() for name in ("origin", "destination"))
    lines = np.stack([world.lon[origin], world.lat[origin], world.lon[destination], world.lat[destination]])
    table = pl.DataFrame(
        {
            "origin_stop_id": texts(world.ids[origin]),
            "origin": texts(world.names[origin]),
            "destination_stop_id": texts(world.ids[destination]),
            "destination": texts(world.names[destination]),
            "trips": cells["trips"],
            "trips_low": cells["trips_low"],
            "trips_high": cells["trips_high"],
            "geometry": wkb_lines(lines.T),
        }
    )
    table.write_parquet(
        out, metadata={"geo": json.dumps(_about(lines)), "wayveil": note_of(release, "geoparquet")}
    )
    return [out]


def wkb_lines(ends: Floats) -> pl.Series:
    """Lines as well-known binary; a row is x y of the one end and x y of the other."""
    made = np.empty(len(ends), WKB_LINE)
    made["order"], made["kind"], made["points"], made["xy"] = 1, 2, 2, ends
    raw, width = made.tobytes(), WKB_LINE.itemsize
    return pl.Series([raw[at : at + width] for at in range(0, len(raw), width)], dtype=pl.Binary)


def _about(lines: Floats) -> dict[str, Any]:
    """The `geo` metadata that makes a Parquet file GeoParquet; without `crs` it is WGS 84, longitude first."""
    column: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["LineString"], "edges": "planar"}
    if lines.size:
        x, y = lines[::2], lines[1::2]
        column["bbox"] = [float(x.min()), float(y.min()), float(x.max()), float(y.max())]
    return {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
