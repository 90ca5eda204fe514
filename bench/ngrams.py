"""Counting 3-grams with every trip's contribution bounded, against polars merely counting all 3-grams."""

import multiprocessing
import resource
import time

import numpy as np
import polars as pl

from bench.prefix_tree import city_trips
from wayveil.counting.local import LocalCounter
from wayveil.privacy.bits import secure_bits
from wayveil.trips.trips import Trips
from wayveil.world.marked_ngrams import MarkedNgrams

CAP = 20
STOPS = 44  # of a trip, on average


def timed(work) -> tuple[float, float]:
    """Seconds on the wall and of all processors; the second is the fairer one on a machine that is shared."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def with_polars(trips: Trips) -> pl.DataFrame:
    """All 3-grams, with repeats and without marks, by shifted columns and a group_by."""
    columns = pl.DataFrame({"trip": trips.trip_of_visit().astype(np.int32), "a": trips.location})
    return (
        columns.lazy()
        .with_columns(b=pl.col("a").shift(-1), c=pl.col("a").shift(-2), last=pl.col("trip").shift(-2))
        .filter(pl.col("trip") == pl.col("last"))
        .group_by("a", "b", "c")
        .len()
        .collect()
    )


def long_trips(count: int) -> Trips:
    """Simulated trips of 44 stops on average: drawn from the longest ones, which are that long together."""
    trips = city_trips(count // 4)
    longest_first = np.argsort(-trips.lengths, kind="stable")
    mean = np.cumsum(trips.lengths[longest_first]) / np.arange(1, len(trips) + 1)
    chosen = longest_first[: max(int(np.searchsorted(-mean, -STOPS)), 1)]
    return trips.take(np.random.default_rng(0).choice(chosen, count))


def measure(count: int) -> list[dict]:
    trips = long_trips(count)
    universe = MarkedNgrams(trips.world.successors, 3)
    few = trips.take(np.arange(1000))
    works = {
        "polars": lambda: with_polars(trips),
        f"at most {CAP} distinct 3-grams per trip": lambda: LocalCounter(trips).capped_ngrams(
            universe, CAP, secure_bits()
        ),
        "3-grams weighted by 1 / length": lambda: LocalCounter(trips).normalised_ngrams(universe, 1 << 20),
    }
    LocalCounter(few).capped_ngrams(universe, CAP, secure_bits())
    LocalCounter(few).normalised_ngrams(universe, 1 << 20)
    rounds = [{name: timed(work) for name, work in works.items()} for _ in range(3)]
    best = {name: np.min([each[name] for each in rounds], axis=0) for name in works}
    rows = [
        {
            "figure": f"{name}, {len(trips):,} trips of {trips.lengths.mean():.0f} stops",
            "value": float(best[name][0]),
            "unit": "s",
            "baseline": "polars group_by of all 3-grams, unbounded",
            "ratio": float(best[name][0] / best["polars"][0]),
            "ratio of CPU time": float(best[name][1] / best["polars"][1]),
        }
        for name in list(works)[1:]
    ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [
        *rows,
        {
            "figure": "peak memory of the whole process, trips and polars included",
            "value": peak,
            "unit": "GB",
        },
    ]


def run(count: int = 1_000_000) -> list[dict]:
    """In a process of its own, so that the peak is this bench's."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (count,))


if __name__ == "__main__":
    from bench.__main__ import show

    show("ngrams", run())
