"""Cost against size: the noisy prefix tree and SafePath on ten thousand to ten million trips.

Height and universe stay, trips grow. The exponent is the slope of log seconds over log trips from 100,000 on: below
that, time goes into noise for empty candidates and not into trips.
"""

import multiprocessing
import resource
import time

import numpy as np

from bench.weeks import network, week
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.safepath import SafePath
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.simulate.city import simulate_city

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)


def one(name: str, count: int) -> dict:
    """One size in a process of its own: seconds of its thread (best of three), nodes, memory."""
    if name == "noisy-prefix-tree":
        trips = simulate_city(network("metro"), count, seed=1, times=False).trips
        mechanism = NoisyPrefixTree(height=12)
    else:
        trips = week("metro", count)
        mechanism = SafePath(height=12, time="hour-of-week")
    mechanism.measure(LocalCounter(trips.take(np.arange(500))), Gate(Trip(), Budget(1)))
    own = trips.location.nbytes + trips.offsets.nbytes + (0 if trips.time is None else trips.time.nbytes)
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        tree = mechanism.measure(LocalCounter(trips), Gate(Trip(), Budget(1)))
        tree.consistent()
        best = min(best, time.process_time() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "figure": f"{name}, {count:,} trips of {trips.lengths.mean():.1f} visits, height 12",
        "value": best,
        "unit": "CPU s",
        "nodes": tree.nodes,
        "bytes per trip, trips themselves": round(own / count),
        "bytes per trip, peak of the process": round(peak / count),
        "microseconds per trip": 1e6 * best / count,
    }


def run(sizes: tuple[int, ...] = SIZES) -> list[dict]:
    rows = []
    for name in ("noisy-prefix-tree", "safepath"):
        measured = []
        for count in sizes:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                measured.append(pool.apply(one, (name, count)))
        rows += measured
        large = [
            (count, row["value"]) for count, row in zip(sizes, measured, strict=True) if count >= 100_000
        ]
        if len(large) > 1:
            slope = np.polyfit(*np.log(np.array(large)).T, 1)[0]
            rows.append(
                {"figure": f"{name}: exponent of seconds over trips", "value": float(slope), "unit": ""}
            )
    return rows


if __name__ == "__main__":
    from bench.__main__ import show

    show("tree_growth", run())
