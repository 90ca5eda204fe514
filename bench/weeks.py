"""The worlds of the tree benches: a week of taps on Montreal's feeds, or on an invented city where they are missing."""

import os
import tempfile
import time
from functools import cache
from pathlib import Path

import duckdb
import numpy as np

from wayveil.simulate.feed import write_city
from wayveil.simulate.week import simulate_week
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
# A part of the bus network with about 900 stops, as many as the study's set had.
BUS_BOX = "45.496,-73.61,45.545,-73.545"


@cache
def network(kind: str) -> Network:
    """`metro` (about 70 stations) or `bus` (about 900 stops)."""
    feed = DATA / f"montreal-{kind}" / "gtfs.zip"
    if feed.exists():
        return read_gtfs(feed, bbox=BUS_BOX if kind == "bus" else None)
    with tempfile.TemporaryDirectory() as folder:
        stops, lines = (70, 6) if kind == "metro" else (900, 60)
        return read_gtfs(write_city(Path(folder) / "city.zip", stops=stops, lines=lines))


def week(kind: str, riders: int | None = None) -> Trips:
    """The sets of the SafePath study in size: 847,668 metro riders with 3.2 taps, 773,296 bus riders with 4.7."""
    metro = kind == "metro"
    riders = (847_668 if metro else 773_296) if riders is None else riders
    return simulate_week(network(kind), riders, seed=1, mean_visits=3.2 if metro else 4.7)


def exact_prefixes(columns: np.ndarray) -> tuple[float, int]:
    """Seconds that DuckDB takes to count all prefixes, and how many there are.

    One GROUP BY per length over the trips that are that long. A single ROLLUP would be simpler, but it also groups the
    padding of short trips, several times as many rows as there are prefixes, and would make us look good.
    """
    arrays = {f"s{i}": np.ascontiguousarray(columns[:, i]) for i in range(columns.shape[1])}
    names = list(arrays)
    with duckdb.connect() as connection:
        connection.execute(f"SET threads TO {os.cpu_count()}")
        connection.execute("SET enable_progress_bar = false")
        connection.register("arrays", arrays)
        connection.execute("CREATE TABLE trips AS SELECT * FROM arrays")
        start = time.perf_counter()
        for length in range(1, len(names) + 1):
            head = ", ".join(names[:length])
            connection.execute(
                f"CREATE TABLE prefixes_{length} AS SELECT {head}, count(*) AS trips FROM trips "
                f"WHERE {names[length - 1]} >= 0 GROUP BY {head}"
            )
        seconds = time.perf_counter() - start
        found = [
            connection.execute(f"SELECT count(*) FROM prefixes_{length}").fetchone()[0]
            for length in range(1, len(names) + 1)
        ]
        return seconds, sum(found)
