"""How long Weave takes and how that grows, stage by stage, as ratios to counting the same blocks exactly.

    python -m bench weave_speed                              what fits into a few minutes
    python -m bench.weave_speed 300:20000 10000:20000        stops:trips of invented cities: growth with stops
    python -m bench.weave_speed berlin:10000 berlin:1000000  riders on Berlin's stations, where the feed is there
    python -m bench.weave_speed 70x70:100000 140x140:100000  rows x columns of a grid, taxis: growth with cells

Processor seconds of all threads, after everything was compiled. Every size has a process of its own, so that its memory
is its own; what the raw trips take is told apart. Exponents compare each size with the one before: 1 is in proportion.
Rows given on the command line also go to bench/results/weave_speed.json, in place of earlier ones of the same size.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from math import log
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bench.weave import city
from bench.weave_grids import read_city
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.weave import PARTS, Weave
from wayveil.mechanisms.weave.weaving import make_time_bins
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.simulate.city import simulate_city
from wayveil.trips.trips import Trips
from wayveil.world.network import Network

SIZES = (
    "300:20000",
    "1000:20000",
    "2000:20000",
    "2000:200000",
    "50x50:20000",
    "100x100:20000",
    "200x200:20000",
)
RESULTS = Path(__file__).parent / "results" / "weave_speed.json"
# Simulating more riders at once would take more memory than releasing them: they are simulated so many at a time.
AT_ONCE = 1_000_000
Row = dict[str, Any]
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work gives, and CPU seconds of all threads."""
    begin = time.process_time()
    result = work()
    return result, time.process_time() - begin


def trips_of(size: str) -> Trips:
    """The trips of `stops:trips`, `berlin:riders` or `rows x columns:trips`; without times where these alone would
    fill the memory.
    """
    place, text = size.split(":")
    count = int(text)
    if "x" in place:
        raw, _ = read_city("streets", place, count, 5)
        return Weave().rule(raw.world).apply(raw)
    if place == "berlin":
        from bench.worlds import berlin_network

        network = berlin_network()
    else:
        network = city(int(place), max(2, int(place) // 20), 2)
    if count <= AT_ONCE:
        return simulate_city(network, count, seed=5).trips
    parts = [
        simulate_city(network, min(AT_ONCE, count - first), seed=5 + first).trips.without_times()
        for first in range(0, count, AT_ONCE)
    ]
    starts = np.cumsum([0, *(part.visits for part in parts[:-1])])
    offsets = [part.offsets[1:] + start for part, start in zip(parts, starts, strict=True)]
    location = np.concatenate([part.location for part in parts])
    return Trips(location, np.concatenate([[0], *offsets]), network)


def speed(size: str, epsilon: str = "1") -> Row:
    """One row: the stages of a release of these trips."""
    raw = trips_of(size)
    network = raw.world
    if not isinstance(network, Network):
        raise TypeError("speed is measured on networks")
    compiled = LocalCounter(raw.take(np.arange(min(500, len(raw)))))
    few = Weave(weakest=0, generation=Generation(least=1_000))
    few.measure(compiled, Gate(Trip(), Budget(9))).weave(0)
    counter = LocalCounter(raw)
    before = _peak()
    model, measure = timed(lambda: Weave(weakest=0).measure(counter, Gate(Trip(), Budget(epsilon))))
    blocks = model.blocks().all().values()
    bins = make_time_bins(24) if raw.time is not None else None
    _, counting = timed(lambda: [counter.block(b, PARTS if b.spread else 1, bins) for b in blocks])
    woven, weave = timed(lambda: model.weave(1))
    _, sample = timed(lambda: woven.sample(model.trips, np.random.default_rng(1)))
    held = raw.location.nbytes + raw.offsets.nbytes + (0 if raw.time is None else raw.time.nbytes)
    return {
        "size": size,
        "stops": network.size,
        "edges": network.edges,
        "trips": len(raw),
        "visits per trip": round(raw.visits / len(raw), 1),
        "timed": raw.time is not None,
        "exact counts, CPU s": round(counting, 2),
        "measure / exact counts": round(measure / counting, 2),
        "weave / exact counts": round(weave / counting, 1),
        "sample / exact counts": round(sample / counting, 2),
        "whole release, CPU s": round(measure + weave + sample, 1),
        "raw trips, GB": round(held / 1e9, 2),
        "peak memory before, GB": round(before, 2),
        "peak memory, GB": round(_peak(), 2),
    }


def with_exponents(rows: Sequence[Row]) -> list[Row]:
    """Each row with how its whole release grew from the row before, where only trips or only stops grew."""
    found: list[Row] = []
    for before, row in zip([None, *rows], rows, strict=False):
        grown = {"growth exponent": None, "grows with": None}
        if before is not None:
            same_place = before["stops"] == row["stops"]
            key = "trips" if same_place else "stops"
            # Which trips stay in two cells at least depends a little on the cells.
            as_many = abs(before["trips"] - row["trips"]) < row["trips"] / 100
            if is_grid(row) == is_grid(before) and row[key] > before[key] and (same_place or as_many):
                times = row["whole release, CPU s"] / before["whole release, CPU s"]
                grown = {
                    "growth exponent": round(log(times) / log(row[key] / before[key]), 2),
                    "grows with": key,
                }
        found.append({**row, **grown})
    return found


def is_grid(row: Row) -> bool:
    """Tell a row of a grid from one of a network."""
    return "x" in row["size"]


def alone(size: str) -> Row:
    """One row, measured in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.weave_speed", "--alone", size],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{size}: {done.stderr}")
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def run() -> list[Row]:
    """Rows for `python -m bench`."""
    return with_exponents([alone(size) for size in SIZES])


def main(sizes: Sequence[str]) -> None:
    kept = {row["size"]: row for row in json.loads(RESULTS.read_text())} if RESULTS.exists() else {}
    for size in sizes:
        kept[size] = alone(size)
        print(json.dumps(kept[size]), flush=True)
        ordered = sorted(
            kept.values(), key=lambda r: (is_grid(r), r["size"].startswith("berlin"), r["trips"], r["stops"])
        )
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(with_exponents(ordered), indent=2))


def _peak() -> float:
    """The most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        print(json.dumps(speed(sys.argv[2])))
    else:
        main(sys.argv[1:] or SIZES)
