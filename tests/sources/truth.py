"""One truth, written as many files: rides of a small city as agencies, operators and researchers would have them."""

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from wayveil.simulate.feed import write_city
from wayveil.world.gtfs import read_gtfs

RIDERS, RIDES = 40, 160
FIRST = datetime(2026, 9, 3, 6, 0)


def make_city(folder: Path):
    """Write the feed of a city and return the network."""
    write_city(folder / "city.zip", seed=3, stops=40, lines=4)
    return read_gtfs(folder / "city.zip")


def make_rides(network) -> pl.DataFrame:
    """Rides: trip, rider, origin and destination (ids, names, coordinates), start and end. Days pass the 12th."""
    rng = np.random.default_rng(7)
    ends = np.array([rng.choice(network.size, 2, replace=False) for _ in range(RIDES)])
    start = [FIRST + timedelta(minutes=int(m)) for m in np.sort(rng.integers(0, 20 * 1440, RIDES))]
    end = [at + timedelta(minutes=int(m)) for at, m in zip(start, rng.integers(4, 40, RIDES), strict=True)]
    table = {
        "trip_id": [f"t{i:04}" for i in range(RIDES)],
        "rider_id": [f"c{r:03}" for r in rng.integers(0, RIDERS, RIDES)],
        "start": start,
        "end": end,
    }
    for side, name in enumerate(("origin", "destination")):
        table[name] = network.ids[ends[:, side]].tolist()
        table[f"{name}_name"] = network.names[ends[:, side]].tolist()
        table[f"{name}_lat"] = network.lat[ends[:, side]]
        table[f"{name}_lon"] = network.lon[ends[:, side]]
    return pl.DataFrame(table)


def clean(rides: pl.DataFrame) -> pl.DataFrame:
    """The rides as this package would have them."""
    return rides.select("trip_id", "rider_id", "origin", "destination", _iso("start"), _iso("end"))


def _iso(name: str) -> pl.Expr:
    return pl.col(name).dt.strftime("%Y-%m-%dT%H:%M:%S")


def named(rides: pl.DataFrame, times: str = "%Y-%m-%dT%H:%M:%S", **names: str) -> pl.DataFrame:
    """The rides under other names (theirs for ours), with times written so; columns in the order of the names."""
    moments = {name: pl.col(name).dt.strftime(times) for name in ("start", "end")}
    return rides.select(moments.get(our, pl.col(our)).alias(their) for our, their in names.items())


ENGLISH = {
    "trip_id": "Journey ID",
    "rider_id": "Card Number",
    "origin": "Tap On Stop",
    "start": "Tap On Time",
    "destination": "Tap Off Stop",
    "end": "Tap Off Time",
}
GERMAN = {
    "trip_id": "Fahrt-Nr.",
    "rider_id": "Kartennummer",
    "origin": "Einstiegshaltestelle",
    "start": "Abfahrtszeit",
    "destination": "Ausstiegshaltestelle",
    "end": "Ankunftszeit",
}
FRENCH = {
    "rider_id": "Numéro de carte",
    "origin": "Arrêt de montée",
    "start": "Heure de départ",
    "destination": "Arrêt de descente",
    "end": "Heure d'arrivée",
}
SPANISH = {
    "rider_id": "ID Tarjeta",
    "origin": "Parada origen",
    "start": "Hora de subida",
    "destination": "Parada destino",
    "end": "Hora de bajada",
}
DUTCH = {
    "rider_id": "Kaartnummer",
    "origin": "Beginhalte",
    "start": "Vertrektijd",
    "destination": "Eindhalte",
    "end": "Aankomsttijd",
}


def epoch(rides: pl.DataFrame, name: str, zone: str, parts: int = 1) -> pl.Series:
    """Moments of the city's clock as counts since 1970."""
    local = ZoneInfo(zone)
    return pl.Series([int(at.replace(tzinfo=local).timestamp()) * parts for at in rides[name]])


def visits(rides: pl.DataFrame) -> pl.DataFrame:
    """The rides as calls: two rows for each, at the origin and at the destination."""
    halves = [
        rides.select(
            "trip_id", "rider_id", pl.col(place).alias("stop_id"), pl.col(at).alias("event_time"), seq=number
        )
        for number, (place, at) in enumerate((("origin", "start"), ("destination", "end")))
    ]
    return pl.concat(halves).sort("trip_id", "seq")


def taps(rides: pl.DataFrame) -> pl.DataFrame:
    """The rides as boardings."""
    return rides.select(
        "rider_id",
        pl.col("origin").alias("stop_id"),
        pl.col("start").alias("event_time"),
        lat="origin_lat",
        lon="origin_lon",
    )


def write_text(
    table: pl.DataFrame, path: Path, encoding="utf-8", separator=",", quote="necessary", before=""
) -> Path:
    """Write a csv in an encoding, with lines before its header."""
    text = before + table.write_csv(separator=separator, quote_style=quote)
    path.write_bytes(text.encode(encoding))
    return path


def mds(rides: pl.DataFrame, zone: str) -> str:
    """The rides as an answer of MDS 2.0."""
    starts, ends = (epoch(rides, name, zone, 1000).to_list() for name in ("start", "end"))
    trips = [
        {
            "provider_id": "c20e08cf-8488-46a6-a66c-5d8fb827f7e0",
            "device_id": f"v{at % 9}",
            "trip_id": row["trip_id"],
            "trip_duration": (ends[at] - starts[at]) // 1000,
            "trip_distance": 1200,
            "start_location": {"lat": row["origin_lat"], "lng": row["origin_lon"]},
            "end_location": {"lat": row["destination_lat"], "lng": row["destination_lon"]},
            "start_time": starts[at],
            "end_time": ends[at],
        }
        for at, row in enumerate(rides.iter_rows(named=True))
    ]
    return json.dumps({"version": "2.0.0", "data": {"trips": trips}})


def write_sqlite(tables: dict[str, pl.DataFrame], path: Path) -> Path:
    """Write tables of text into SQLite."""
    with sqlite3.connect(path) as connection:
        for name, table in tables.items():
            columns = ", ".join(f'"{column}"' for column in table.columns)
            connection.execute(f'CREATE TABLE "{name}" ({columns})')
            marks = ", ".join("?" * table.width)
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', table.rows())
    return path


def utc(moment: datetime, zone: str) -> str:
    """A moment of the city's clock in UTC."""
    return moment.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
