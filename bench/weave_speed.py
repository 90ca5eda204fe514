"""How long Weave takes, stage by stage, as ratios to counting the same blocks exactly.

    python -m bench weave_speed                              invented cities of two sizes
    python -m bench.weave_speed 360:20000 2000:200000        stops:trips of invented cities
    python -m bench.weave_speed berlin:10000 berlin:1000000  riders on Berlin's stations, where the feed is there

Processor seconds of all threads, after everything was compiled.
"""

import json
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from bench.weave import city
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.weave import PARTS, Weave
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.simulate.city import simulate_city
from wayveil.synthesis.weave.times import bins_of
from wayveil.trips.trips import Trips
from wayveil.world.network import Network

SIZES = ("360:20000", "2000:200000")


def timed(work: Callable[[], object]) -> tuple[object, float]:
    """What the work gives, and CPU seconds of all threads."""
    begin = time.process_time()
    result = work()
    return result, time.process_time() - begin


def trips_of(size: str) -> Trips:
    """The trips of `stops:trips`, or of `berlin:riders`."""
    place, count = size.split(":")
    if place == "berlin":
        from bench.worlds import berlin_network

        return simulate_city(berlin_network(), int(count), seed=1).trips
    network = city(int(place), max(2, int(place) // 20), 2)
    return simulate_city(network, int(count), seed=5).trips


def speed(size: str, epsilon: str = "1") -> dict[str, object]:
    """One row: the stages of a release of these trips."""
    raw = trips_of(size)
    network = raw.world
    if not isinstance(network, Network):
        raise TypeError("speed is measured on networks")
    compiled = LocalCounter(raw.take(np.arange(min(500, len(raw)))))
    Weave(weakest=0).measure(compiled, Gate(Trip(), Budget(9))).weave(0)
    counter = LocalCounter(raw)
    model, measure = timed(lambda: Weave(weakest=0).measure(counter, Gate(Trip(), Budget(epsilon))))
    blocks = model.blocks().all().values()
    bins = bins_of(24) if raw.time is not None else None
    _, counting = timed(lambda: [counter.block(b, PARTS if b.spread else 1, bins) for b in blocks])
    woven, weave = timed(lambda: model.weave(1))
    _, sample = timed(lambda: woven.sample(max(model.total, 10), np.random.default_rng(1)))
    return {
        "size": size,
        "stops": network.size,
        "edges": network.edges,
        "trips": len(raw),
        "exact counts, CPU s": round(counting, 2),
        "measure / exact counts": round(measure / counting, 2),
        "weave / exact counts": round(weave / counting, 1),
        "sample / exact counts": round(sample / counting, 2),
        "whole release, CPU s": round(measure + weave + sample, 1),
        "peak memory, GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def run() -> list[dict[str, object]]:
    """Rows for `python -m bench`."""
    return [speed(size) for size in SIZES]


if __name__ == "__main__":
    for wanted in sys.argv[1:] or SIZES:
        print(json.dumps(speed(wanted)), flush=True)
