"""Attacks and STRAP: each figure beside a named baseline in the same run.

neighbours   counts by bounds and early stops, beside compiled warpings of all pairs (the counts must be the same)
strap        the repaired reading, beside the literal one on the same 1,000 riders and 1,000 trips; then 10,000 x 10,000
uniqueness   counts by postings, beside the approach of scikit-mobility (every point set of a rider is matched against
             every other rider, rider by rider) on the same 100 riders

    python -m bench.risk neighbours     one of them
"""

import resource
import sys
import time
from itertools import combinations

import numpy as np
from numba import njit

from bench.worlds import MissingDataError, data
from wayveil.attacks.knowledge import pinned_down
from wayveil.attacks.metric_paths import distinct_paths
from wayveil.attacks.warping import INFINITE, count_neighbours, warping
from wayveil.lab.strap.strap_study import StrapSettings, StrapStudy
from wayveil.simulate.habit import simulate_habit
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs

NEAR = 500.0


@njit(cache=True)
def all_pairs(points: np.ndarray, offsets: np.ndarray, copies: np.ndarray, near: float) -> np.ndarray:
    """The baseline: a whole warping for every pair."""
    count = copies.copy()
    for i in range(len(copies)):
        x = points[offsets[i] : offsets[i + 1]]
        for j in range(i + 1, len(copies)):
            y = points[offsets[j] : offsets[j + 1]]
            if warping(x, y, INFINITE) / max(len(x), len(y)) < near:
                count[i] += copies[j]
                count[j] += copies[i]
    return count


def timed(work) -> tuple[object, float]:
    """What it gives, and the CPU seconds of all threads that it took."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def neighbours(trips: Trips) -> list[dict[str, object]]:
    paths, found = distinct_paths(trips, timed=False)
    tiny, few = distinct_paths(trips.take(np.arange(20)), timed=False)
    all_pairs(tiny.points, tiny.offsets, few.copies, NEAR)
    count_neighbours(tiny, few.copies, NEAR)
    (counts, warped), ours = timed(lambda: count_neighbours(paths, found.copies, NEAR))
    plain, theirs = timed(lambda: all_pairs(paths.points, paths.offsets, found.copies, NEAR))
    pairs = int((counts - found.copies).sum()) // 2
    return [
        {
            "figure": f"neighbour counts of {len(trips):,} trips, CPU seconds (all pairs, compiled)",
            "value": ours,
            "baseline": theirs,
            "ratio": theirs / ours,
            "same": bool(np.array_equal(counts, plain)),
        },
        {
            "figure": "warpings per pair of neighbours (allowed: 15)",
            "value": warped / max(pairs, 1),
            "baseline": 15,
            "ratio": warped / max(pairs, 1) / 15,
        },
    ]


def strap(small: tuple[Trips, Trips], large: tuple[Trips, Trips]) -> list[dict[str, object]]:
    for mode in ("repaired", "literal"):  # compile
        StrapStudy(small[0].take(np.arange(5)), StrapSettings(mode=mode)).measure(small[1].take(np.arange(5)))
    seconds = {}
    for mode in ("repaired", "literal"):
        _, seconds[mode] = timed(
            lambda mode=mode: StrapStudy(small[0], StrapSettings(mode=mode)).measure(small[1])
        )
    _, whole = timed(lambda: StrapStudy(large[0], StrapSettings()).measure(large[1]))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return [
        {
            "figure": f"STRAP repaired, {len(small[0]):,} x {len(small[1]):,}, CPU seconds (literal)",
            "value": seconds["repaired"],
            "baseline": seconds["literal"],
            "ratio": seconds["literal"] / seconds["repaired"],
        },
        {
            "figure": f"STRAP repaired, {len(large[0]):,} x {len(large[1]):,}, CPU seconds (allowed: 120)",
            "value": whole,
            "baseline": 120,
            "ratio": whole / 120,
        },
        {
            "figure": "memory of the process after it, GB (allowed: 2)",
            "value": memory,
            "baseline": 2,
            "ratio": memory / 2,
        },
    ]


def plain_uniqueness(points: dict[int, list[int]], known: int) -> float:
    """The approach of scikit-mobility's attacks: all point sets of a rider, each matched against every rider.

    Its frames are lists here, which makes the baseline faster than the package is.
    """
    alone = 0
    for mine in points.values():
        risk = 0.0
        for chosen in combinations(mine, known):
            matches = 0
            for others in points.values():
                left = list(others)
                for point in chosen:
                    if point not in left:
                        break
                    left.remove(point)
                else:
                    matches += 1
            risk = max(risk, 1 / matches)
        alone += risk == 1
    return alone


def uniqueness(trips: Trips) -> list[dict[str, object]]:
    person, point = trips.trip_of_visit(), trips.location * 24 + (trips.time // 3600) % 24
    pinned_down(person[:50], point[:50], int(person[49]) + 1)
    rounds = 200  # far below a clock tick otherwise
    _, ours = timed(lambda: [pinned_down(person, point, len(trips), seed=i, most=3) for i in range(rounds)])
    sets = {p: sorted(set(point[person == p].tolist())) for p in range(len(trips))}
    _, theirs = timed(lambda: plain_uniqueness(sets, 3))
    return [
        {
            "figure": f"uniqueness of {len(trips)} riders by 3 points, CPU seconds (scikit-mobility's approach)",
            "value": ours / rounds,
            "baseline": theirs,
            "ratio": theirs * rounds / ours,
        }
    ]


def run(*wanted: str) -> list[dict[str, object]]:
    """All rows, or those of the wanted parts; Victoria's network, and simulated riders on it."""
    try:
        network = read_gtfs(data("victoria", "gtfs.zip"))
    except MissingDataError as error:
        return [{"figure": f"skipped: {error}"}]
    raw, made = (simulate_habit(network, 10_000, seed=seed) for seed in (1, 2))
    first = np.arange(1_000)
    parts = {
        "neighbours": lambda: neighbours(raw.take(np.arange(3_000))),
        "uniqueness": lambda: uniqueness(raw.take(np.arange(100))),
        "strap": lambda: strap((raw.take(first), made.take(first)), (raw, made)),
    }
    rows = []
    for name in wanted or parts:
        rows += parts[name]()
        print(name, "done", flush=True)
    return rows


if __name__ == "__main__":
    for row in run(*sys.argv[1:]):
        print(row)
