"""Prints how far Weave's figures are off, and how far they move between generation seeds beside what noise moves them.

    python -m bench.weave_steady [cairns] [newport] [city] [streets] [wandering] [sessions] [list]
        [--epsilon 1] [--trips 8000] [--models 3] [--seeds 3]

One row per world and figure. `off` is the sum of absolute errors over the sum of true cells, in the mean of all
releases, with its standard error over models. `seeds` is the spread over generation seeds of one noisy model over the
spread of models (the mean square over cells of each, the first taken out of the second). `supports` is the same over
supports drawn anew, as replicas draw them and releases do not. Feeds need files in WAYVEIL_DATA.
"""

import argparse
from collections.abc import Callable
from time import process_time

import numpy as np
from numpy.typing import NDArray

from bench.weave import RIDERS, city
from bench.weave_grids import DATA, read_city
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.simulate.habit import simulate_habit
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs
from wayveil.world.world import World

Floats = NDArray[np.float64]
FEEDS = {"cairns": "cairns_gtfs.zip", "newport": "newport-20230613_gtfs.zip"}
# Zones of pairs have so many places, in the order of the world.
PLACES_PER_ZONE = 8


def read_trips(name: str, trips: int, seed: int) -> Trips:
    """Return the trips of a world."""
    if name in FEEDS:
        return simulate_habit(read_gtfs(DATA / "small-feeds" / FEEDS[name]), trips, seed=seed)
    if name in ("city", "list"):
        raw = RIDERS["shortest" if name == "city" else "habit"](city(220, 14, 77), trips, seed)
        return raw if name == "city" else Trips(raw.location, raw.offsets, World(raw.world.ids.tolist()))
    return read_city(name, "30x30", trips, seed)[0]


def count_cells(trips: Trips) -> dict[str, dict[int, float]]:
    """Return the non-empty cells of every figure."""
    size, location = trips.world.size, trips.location.astype(np.int64)
    after = np.ones(trips.visits, bool)
    after[trips.offsets[1:] - 1] = False
    first = np.flatnonzero(after)
    move = location[first] * size + location[first + 1]
    follows = np.flatnonzero(first[1:] == first[:-1] + 1)
    origin, destination = location[trips.offsets[:-1]], location[trips.offsets[1:] - 1]
    keys = {
        "visits": np.zeros(trips.visits, np.int64),
        "lengths": trips.lengths,
        "stops": location,
        "boardings": origin,
        "edges": move,
        "triples": move[follows] * size + location[first[follows + 1] + 1],
        "pairs": origin // PLACES_PER_ZONE * size + destination // PLACES_PER_ZONE,
    }
    if trips.time is not None:
        keys["hours"] = trips.time[trips.offsets[:-1]] // 3600 % 24
    found = {name: np.unique(key, return_counts=True) for name, key in keys.items()}
    return {name: dict(zip(*map(np.ndarray.tolist, part), strict=True)) for name, part in found.items()}


def lay_out(parts: list[dict[int, float]]) -> Floats:
    """Return a row per part, a column per cell that any of them has."""
    cells = sorted(set().union(*parts))
    return np.array([[part.get(cell, 0) for cell in cells] for part in parts], float)


def compare(truth: dict[int, float], made: list[list[dict[int, float]]]) -> tuple[float, float, float]:
    """Return the mean error, its standard error over models, and the ratio of spreads over seeds and over models."""
    models, seeds = len(made), len(made[0])
    table = lay_out([truth, *(part for row in made for part in row)])
    true, found = table[0], table[1:].reshape(models, seeds, -1)
    off = (np.abs(found - true).sum(axis=2) / true.sum()).mean(axis=1)
    within = float(found.var(axis=1, ddof=1).mean(axis=0).sum())
    between = float(found.mean(axis=1).var(axis=0, ddof=1).sum()) - within / seeds
    ratio = np.sqrt(within / between) if between > 0 else np.inf
    return float(off.mean()), float(off.std(ddof=1) / np.sqrt(models)), float(ratio)


def run_world(name: str, chosen: argparse.Namespace, tell: Callable[[str], None]) -> None:
    """Print the rows of one world."""
    weave = Weave(weakest=0)
    raw = read_trips(name, chosen.trips, 11)
    raw = weave.rule(raw.world).apply(raw)
    begun, made, other = process_time(), [], []
    for noise in range(chosen.models):
        gate = Gate(Trip(), Budget(chosen.epsilon), SeededBits(f"steady {name} {noise}"))
        model = weave.measure(LocalCounter(raw), gate)
        made.append([count_cells(model.generate(seed)) for seed in range(chosen.seeds)])
        drawn = ((model.weave(seed), np.random.default_rng(seed)) for seed in range(1, chosen.seeds + 1))
        other.append([count_cells(woven.sample(model.trips, rng)) for woven, rng in drawn])
    took = (process_time() - begun) / chosen.models / chosen.seeds / 2
    tell(f"{name}: {len(raw):,} trips, {raw.world.size:,} places, {took:.1f} CPU s per release")
    for figure, truth in count_cells(raw).items():
        off, error, seeds = compare(truth, [[part[figure] for part in row] for row in made])
        supports = compare(truth, [[part[figure] for part in row] for row in other])[2]
        tell(f"  {figure:10} off {off:.4f} +- {error:.4f}   seeds {seeds:.2f}   supports {supports:.2f}")


def main() -> None:
    """Print the worlds that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("worlds", nargs="*", default=["cairns", "newport", "city", "streets", "sessions"])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--trips", type=int, default=8_000)
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    for name in chosen.worlds:
        run_world(name, chosen, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
