"""How long Weave takes, stage by stage, as ratios to counting the same blocks exactly.

python -m bench.weave_speed 360:20000 2000:200000      stops:trips
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
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.weave.times import bins_of


def timed(work: Callable[[], object]) -> tuple[object, float, float]:
    """What the work gives, CPU seconds (all threads) and wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def speed(stops: int, trips: int, epsilon: str = "1") -> dict[str, object]:
    """CPU seconds of each stage; the second run counts, so that nothing is compiled in it."""
    network = city(stops, max(2, stops // 20), 2)
    raw = simulate_habit(network, trips, seed=5)
    counter = LocalCounter(raw)
    Weave(weakest=0).measure(
        LocalCounter(simulate_habit(network, 500, seed=1)), Gate(Trip(), Budget(9))
    ).weave(0)
    model, measure, _ = timed(lambda: Weave(weakest=0).measure(counter, Gate(Trip(), Budget(epsilon))))
    blocks = model.blocks().all().values()
    exact = lambda: [counter.block(b, PARTS if b.spread else 1, bins_of(24)) for b in blocks]  # noqa: E731
    _, counting, _ = timed(exact)
    woven, weave, wall = timed(lambda: model.weave(1))
    _, sample, _ = timed(lambda: woven.sample(model.total, np.random.default_rng(1)))
    return {
        "stops": network.size,
        "edges": network.edges,
        "trips": trips,
        "exact counts, s": round(counting, 2),
        "measure / exact counts": round(measure / counting, 2),
        "weave / exact counts": round(weave / counting, 1),
        "sample / exact counts": round(sample / counting, 2),
        "weave, CPU s": round(weave, 1),
        "weave, wall s": round(wall, 1),
        "memory, GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


if __name__ == "__main__":
    for size in sys.argv[1:] or ["360:20000"]:
        stops, trips = (int(part) for part in size.split(":"))
        print(json.dumps(speed(stops, trips), indent=2), flush=True)
