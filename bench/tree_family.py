"""The timed trees at the sizes of the SafePath study, against DuckDB counting the same prefixes exactly.

Then SeqPT against SafePath on the study's shrunken universe: ours, which draws survivors among empty children from
their law, and one that visits every empty child as the study's did.
"""

import multiprocessing
import resource
import time

import numpy as np

from bench.weeks import exact_prefixes, week
from wayveil.counting.local import LocalCounter
from wayveil.lab.studies.safepath.safepath_datasets import shrunken
from wayveil.lab.studies.safepath.safepath_trials import exhaustive, pairs
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.world.timebins import TimeBins

HEIGHT = 12
TIMES = "hour-of-week"
REPEATS = 3
STUDY_SECONDS = {"metro": 15, "bus": 27}


def timed(mechanism, trips):
    """Seconds and nodes of the best of some measurements, consistency included."""
    mechanism.measure(LocalCounter(trips.take(np.arange(500))), Gate(Trip(), Budget(1)))
    best, nodes = float("inf"), 0
    for _ in range(REPEATS):
        gate = Gate(Trip(), Budget(1))
        start = time.perf_counter()
        tree = mechanism.measure(LocalCounter(gate.bound(trips)), gate)
        tree.consistent()
        best, nodes = min(best, time.perf_counter() - start), tree.nodes
    return best, nodes


def at_full_size(kind: str) -> list[dict]:
    trips = week(kind)
    bins = TimeBins.hour_of_week()
    exact, prefixes = min(exact_prefixes(pairs(trips, bins, HEIGHT)) for _ in range(REPEATS))
    rows = []
    for mechanism in (
        SafePath(height=HEIGHT, time=TIMES),
        SafePath(
            height=HEIGHT, time=TIMES, location_height=2, location_fan_out=4, time_height=2, time_fan_out=5
        ),
        SeqPT(height=HEIGHT, time=TIMES),
        PPDP(height=HEIGHT, time=TIMES),
    ):
        seconds, nodes = timed(mechanism, trips)
        tall = getattr(mechanism, "time_height", 0)
        rows.append(
            {
                "figure": f"{mechanism.name}{' with tall taxonomies' if tall else ''}, {kind}: {len(trips):,} riders, "
                f"{trips.world.size} stops x {bins.count} h, mean {trips.lengths.mean():.1f}, height {HEIGHT}",
                "value": seconds,
                "unit": "s",
                "baseline": f"duckdb GROUP BY per length, {prefixes:,} prefixes",
                "ratio": seconds / exact,
                "nodes": nodes,
            }
        )
    rows.append(
        {
            "figure": f"peak memory of the whole process, {kind} (the study's SafePath took {STUDY_SECONDS[kind]} s)",
            "value": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            "unit": "GB",
        }
    )
    return rows


def shrunken_universe() -> list[dict]:
    trips = shrunken(week("bus"))
    bins = TimeBins.hour_of_day()
    columns = pairs(trips, bins, 5)
    rows = []
    for height in (2, 3, 4, 5):
        base, base_nodes = timed(SafePath(height=height), trips)
        contenders = [
            ("seqpt", *timed(SeqPT(height=height), trips)),
            (
                "seqpt, published threshold",
                *timed(SeqPT.published(height=height, max_false_nodes=10**9), trips),
            ),
        ]
        seconds = []
        for repeat in range(REPEATS):
            start = time.perf_counter()
            nodes = exhaustive(columns[:, :height], 480, 24, height, np.random.default_rng(repeat))
            seconds.append(time.perf_counter() - start)
        contenders.append(("seqpt that visits every empty child", min(seconds), nodes))
        for name, seconds, nodes in contenders:
            rows.append(
                {
                    "figure": f"{name}, 20 stops x 24 h, {len(trips):,} records, height {height}",
                    "value": seconds,
                    "unit": "s",
                    "baseline": f"safepath, {base_nodes:,} nodes",
                    "ratio": seconds / base,
                    "nodes": nodes,
                }
            )
    return rows


def run() -> list[dict]:
    rows = []
    for work, arguments in ((at_full_size, ("metro",)), (at_full_size, ("bus",)), (shrunken_universe, ())):
        with multiprocessing.get_context("spawn").Pool(1) as pool:  # so that each peak is its own
            rows += pool.apply(work, arguments)
    return rows


if __name__ == "__main__":
    from bench.__main__ import show

    show("tree_family", run())
