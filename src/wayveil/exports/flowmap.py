"""The pair of tables of flowmap.blue."""

from pathlib import Path

import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.spreadsheets import write_csv
from wayveil.exports.od import od_table
from wayveil.exports.parts import network_of_trips, texts
from wayveil.world.timebins import TimeBins


def flowmap(release: JudgedRelease) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Locations (id, name, lat, lon) and flows (origin, dest, count)."""
    world = network_of_trips(release.trips)
    places = pl.DataFrame(
        {"id": texts(world.ids), "name": texts(world.names), "lat": world.lat, "lon": world.lon}
    )
    flows = od_table(release).select(origin="origin_stop_id", dest="destination_stop_id", count="trips")
    return places, flows


def write_flowmap(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """Two files beside each other."""
    files = [out.with_name(f"{out.stem}-locations.csv"), out.with_name(f"{out.stem}-flows.csv")]
    for table, file in zip(flowmap(release), files, strict=True):
        write_csv(table, file)
    return files
