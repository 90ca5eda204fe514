"""The noisy prefix tree at full size, against DuckDB merely counting the same prefixes exactly."""

import multiprocessing
import os
import resource
import time
from pathlib import Path

import duckdb
import numpy as np

from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.trips.trips import Trips
from wayveil.world.world import World

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
BERLIN = "52.34,13.09,52.68,13.76"
HEIGHT = 12


def city_trips(count: int) -> Trips:
    """Riders on Berlin's stations; without that feed, walks of 44 stops on a universe of 3,000 symbols."""
    feed = DATA / "berlin" / "gtfs.zip"
    if feed.exists():
        from wayveil.simulate.city import simulate_city
        from wayveil.world.gtfs import read_gtfs

        return simulate_city(read_gtfs(feed, bbox=BERLIN), count, seed=1, times=False).trips
    rng = np.random.default_rng(1)
    steps = rng.geometric(0.02, (count, 44)).cumsum(axis=1) + rng.integers(0, 3000, (count, 1))
    offsets = np.arange(count + 1) * 44
    return Trips((steps % 3000).ravel(), offsets, World([f"{i:04}" for i in range(3000)]))


def release(trips: Trips, successors: str) -> tuple[float, float, int]:
    """Seconds by the clock and of all processors, and nodes, of one measurement, warm."""
    gate = Gate(Trip(), Budget(1))
    start, busy = time.perf_counter(), time.process_time()
    tree = NoisyPrefixTree(height=HEIGHT, successors=successors).measure(
        LocalCounter(gate.bound(trips)), gate
    )
    tree.consistent()
    return time.perf_counter() - start, time.process_time() - busy, tree.nodes


def count_with_duckdb(trips: Trips) -> tuple[float, float, int]:
    """Seconds by the clock and of all processors, and prefixes, of GROUP BY ROLLUP over the first twelve stops."""
    padded = np.full((len(trips), HEIGHT), -1, np.int32)
    lengths = np.minimum(trips.lengths, HEIGHT)
    rows = np.repeat(np.arange(len(trips)), lengths)
    places = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    padded[rows, places] = trips.cut(HEIGHT).location
    columns = {f"s{i}": np.ascontiguousarray(padded[:, i]) for i in range(HEIGHT)}
    names = ", ".join(columns)
    with duckdb.connect() as connection:
        connection.execute(f"SET threads TO {os.cpu_count()}")
        connection.register("arrays", columns)
        connection.execute("CREATE TABLE trips AS SELECT * FROM arrays")
        start, busy = time.perf_counter(), time.process_time()
        # -1 marks "the trip has ended"; a prefix that ends in it is not a prefix, and is not counted.
        # Counts are written out: a query that only numbers the groups need not count at all.
        connection.execute(
            f"CREATE TABLE prefixes AS SELECT {names}, count(*) AS trips FROM trips GROUP BY ROLLUP ({names})"
        )
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        return seconds, busy, connection.execute("SELECT count(*) FROM prefixes").fetchone()[0]


def measure(count: int) -> list[dict]:
    trips = city_trips(count)
    release(trips.take(np.arange(1000)), "auto")
    rows = []
    kinds = ("network", "all") if trips.world.restricts_moves else ("all",)
    # One after the other, five times: what else the machine does meets all of them.
    rounds = [
        {"duckdb": count_with_duckdb(trips), **{kind: release(trips, kind) for kind in kinds}}
        for _ in range(5)
    ]
    middle = {name: np.median([each[name] for each in rounds], axis=0) for name in rounds[0]}
    for kind in kinds:
        seconds, busy, nodes = middle[kind]
        rows.append(
            {
                "figure": f"noisy prefix tree, {len(trips):,} trips of {trips.lengths.mean():.0f} stops, "
                f"{trips.world.size:,} stops, height {HEIGHT}, children: {kind}, median of five",
                "value": seconds,
                "unit": "s",
                "baseline": "duckdb GROUP BY ROLLUP, exact counts of the same prefixes",
                "ratio": seconds / middle["duckdb"][0],
                "ratio of CPU time": busy / middle["duckdb"][1],
                "nodes": int(nodes),
            }
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows.append({"figure": "peak memory of the whole process, trips included", "value": peak, "unit": "GB"})
    return rows


def run(count: int = 1_000_000) -> list[dict]:
    """In a process of its own, so that the peak is this bench's."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (count,))


if __name__ == "__main__":
    from bench.__main__ import show

    show("prefix_tree", run())
