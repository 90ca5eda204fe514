"""Count queries on a million trips, against the straightforward way: a polars filter and a check in Python."""

import time

import numpy as np
import polars as pl

from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import Workload, nonempty_workload, uniform_workload
from wayveil.utility.postings import Items, Postings
from wayveil.world.world import World

TRIPS = 1_000_000
QUERIES = 40_000
MAX_LENGTH = 4
SIDE = 55
SLICE_TRIPS, SLICE_QUERIES = 50_000, 60


def street_trips(count: int, rng: np.random.Generator) -> Trips:
    """Trips on a grid of 3,025 stops, about 44 stops long, half of them to one of 20 hotspots."""
    world = World.of_symbols([f"{i:04d}" for i in range(SIDE * SIDE)])
    hotspots = rng.integers(0, SIDE, (20, 2))
    start = rng.integers(0, SIDE, (4 * count, 2))
    end = np.where(
        rng.random((4 * count, 1)) < 0.5,
        hotspots[rng.integers(0, 20, 4 * count)],
        rng.integers(0, SIDE, (4 * count, 2)),
    )
    far = np.flatnonzero(np.abs(end - start).sum(axis=1) >= 24)[:count]
    start, end = start[far], end[far]
    span = np.abs(end - start)
    lengths = span.sum(axis=1) + 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    along = np.minimum(place, np.repeat(span[:, 0], lengths))
    x = np.repeat(start[:, 0], lengths) + along * np.repeat(np.sign(end[:, 0] - start[:, 0]), lengths)
    y = np.repeat(start[:, 1], lengths) + (place - along) * np.repeat(
        np.sign(end[:, 1] - start[:, 1]), lengths
    )
    return Trips((x * SIDE + y).astype(np.int32), offsets, world)


def straightforward(trips: pl.DataFrame, queries: list[list[int]]) -> list[int]:
    """Filter the trips that have every stop, then look for the order in each."""
    answers = []
    for query in queries:
        having = trips.filter(pl.all_horizontal(pl.col("stops").list.contains(stop) for stop in query))
        found = 0
        for trip in having["stops"].to_list():
            rest = iter(trip)
            found += all(stop in rest for stop in query)
        answers.append(found)
    return answers


def row(work: Workload, postings: Postings, trips: Trips, table: pl.DataFrame) -> dict:
    """Rates in trips x queries per second, ours on everything, theirs on a slice whose answers must agree."""
    start = time.perf_counter()
    postings.trips_containing(work.items, work.lengths)
    seconds = time.perf_counter() - start
    queries = [
        items[:length].tolist()
        for items, length in zip(work.items[:SLICE_QUERIES], work.lengths[:SLICE_QUERIES], strict=True)
    ]
    start = time.perf_counter()
    theirs = straightforward(table, queries)
    slow_rate = SLICE_TRIPS * len(queries) / (time.perf_counter() - start)
    part = Postings.of(trips.take(np.arange(SLICE_TRIPS)), Items(trips.world))
    ours = part.trips_containing(work.items[:SLICE_QUERIES], work.lengths[:SLICE_QUERIES])
    if ours.tolist() != theirs:
        raise RuntimeError("the two ways to answer the same queries disagree")
    rate = len(trips) * len(work) / seconds
    return {
        "figure": f"seconds for {len(work):,} gapped ordered queries ({work.name}) on {len(trips):,} trips",
        "value": seconds,
        "baseline": f"polars filter + Python, {SLICE_QUERIES} of them on {SLICE_TRIPS:,} trips, same answers",
        "baseline value": len(trips) * len(work) / slow_rate,
        "ratio": rate / slow_rate,
    }


def run() -> list[dict]:
    """Rows {figure, value, baseline, baseline value, ratio}; the baseline's seconds are scaled up from its slice."""
    rng = np.random.default_rng(1)
    trips = street_trips(TRIPS, rng)
    items = Items(trips.world)
    first = np.arange(SLICE_TRIPS)
    table = pl.DataFrame({"stops": trips.take(first).to_lists()})
    Postings.of(trips.take(first), items).trips_containing(np.zeros((1, 1), np.int64), np.ones(1, np.int64))
    start = time.perf_counter()
    postings = Postings.of(trips, items)
    indexing = time.perf_counter() - start
    start = time.perf_counter()
    np.argsort(trips.location, kind="stable")
    sorting = time.perf_counter() - start
    return [
        {
            "figure": f"seconds to index {trips.visits:,} visits ({postings.keys.nbytes / 2**20:.0f} MB)",
            "value": indexing,
            "baseline": "numpy stable argsort of the same visits",
            "baseline value": sorting,
            "ratio": sorting / indexing,
        },
        row(nonempty_workload(trips, items, QUERIES, MAX_LENGTH, rng), postings, trips, table),
        row(uniform_workload(items, QUERIES, MAX_LENGTH, rng), postings, trips, table),
    ]


if __name__ == "__main__":
    from bench.__main__ import show

    show("count_queries", run())
