"""Prints how well Weave finds the ways that riders take, on cities that nothing is judged on.

    python -m tuning.weave_ways [habit:300:15:6000] [shortest:300:15:6000] [habit:victoria] ... [--seeds 3]

A world is kind of riders, stops, lines and trips of an invented city, or a feed of `weave_lengths` with 10,000 riders.
Two lines per world, means over releases and their standard errors; then the shares of ways of each release.
"""

import argparse

import numpy as np
from bench.weave import RIDERS, Examiner, city
from bench.worlds import DATA

from tuning.weave_lengths import FEEDS, describe, measure
from wayveil.mechanisms.weave import Weave
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs

KEYS = ("are_nonempty", "are_uniform", "top_50", "length", "ngram_tv_2", "ngram_tv_3", "edges")


def read_trips(world: str) -> Trips:
    """Return the trips of a world."""
    riders, place, *sizes = world.split(":")
    if place in FEEDS:
        return RIDERS[riders](read_gtfs(DATA / FEEDS[place]), 10_000, 31)
    lines, trips = map(int, sizes)
    return RIDERS[riders](city(int(place), lines, 41), trips, 31)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", nargs="*", default=["habit:300:15:6000", "shortest:300:15:6000"])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    print(f"{'':24}", *(f"{key[-9:]:>9}" for key in (*KEYS, "stops", "visits")))
    for world in chosen.worlds:
        weave, trips = Weave(), read_trips(world)
        raw = weave.rule(trips.world).apply(trips)
        examine, true, rows, kinds = Examiner(raw), describe(raw), [], []
        for seed in range(chosen.seeds):
            model = measure(raw, chosen.epsilon, seed, weave)
            made = model.generate(seed)
            scores, stops = examine(made), describe(made)["cells"]
            off = np.abs(stops - true["cells"]).sum() / raw.visits
            rows.append([*(scores[key] for key in KEYS), off, made.visits / raw.visits])
            kinds.append(model.weave().diagnostics.kinds)
        errors = (
            np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.zeros(len(rows[0]))
        )
        for label, line in ((world, np.mean(rows, axis=0)), ("+/-", errors)):
            print(f"{label:24}", *(f"{number:9.4f}" for number in line), flush=True)
        for one in kinds:
            print(" " * 24, *(f"{share:.2f}" for share in one))


if __name__ == "__main__":
    main()
