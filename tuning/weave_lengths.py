"""Prints how long the trips of Weave come out: visits, quantiles of lengths, cells and edges, said and true.

    python -m tuning.weave_lengths [sessions] [wandering] [streets] [pauses] [cairns-0] [cairns-200] ...
        [--epsilon 1] [--trips 8000] [--seeds 2] [--said]

`pauses` (taxis of Shenzhen, a new trip after two minutes without a point) and the feeds need files in WAYVEIL_DATA.
"""

import argparse
from fractions import Fraction
from time import process_time

import numpy as np
from bench.weave_grids import SHENZHEN, read_city
from bench.worlds import DATA

from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.measurements import Measurements
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.simulate.habit import simulate_habit
from wayveil.trips.points import Split, read_tracks
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.gtfs import read_gtfs

FEEDS = {
    "cairns": "small-feeds/cairns_gtfs.zip",
    "nyc": "small-feeds/nyc_subway_2018_tidytransit.zip",
    "poa": "small-feeds/gtfs2gps_poa.zip",
    "newport": "small-feeds/newport-20230613_gtfs.zip",
    "victoria": "victoria/gtfs.zip",
}
QUANTILES = (0.5, 0.95, 0.99)


def read_world(name: str, trips: int, seed: int) -> Trips:
    """Return trips of a simulated or read city; `feed-metres`: line riders who are offered walks of so many."""
    if name == "pauses":
        return read_tracks(
            DATA / "shenzhen-taxi" / "TaxiData-Sample.csv.gz",
            Grid.parse(f"grid:{SHENZHEN}@30x30"),
            columns=["uid", "datetime", "lng", "lat", "-", "-"],
            header=False,
            repeated="first",
            no_fix="skip",
            split=Split(gap_seconds=120),
            riders="none",
        )[0]
    feed, _, metres = name.partition("-")
    if not metres:
        return read_city(name, "30x30", trips, seed)[0]
    path = DATA / FEEDS[feed]
    ridden = simulate_habit(read_gtfs(path), trips, seed=seed)
    offered = read_gtfs(path, walk_radius_metres=float(metres) or None)
    return Trips(ridden.location, ridden.offsets, offered, ridden.time)


def measure(raw: Trips, epsilon: str, seed: int, weave: Weave) -> Measurements:
    gate = Gate(Trip(), Budget(Fraction(epsilon)), SeededBits(f"{epsilon} {seed}"))
    return weave.measure(LocalCounter(weave.rule(raw.world).apply(raw)), gate)


def describe(trips: Trips) -> dict[str, np.ndarray]:
    """Return lengths, visits per place, and riders on each move."""
    size = trips.world.size
    inside = np.ones(trips.visits, bool)
    inside[trips.offsets[1:] - 1] = False
    at = np.flatnonzero(inside)
    move = trips.location[at].astype(np.int64) * size + trips.location[at + 1]
    keys, count = np.unique(move, return_counts=True)
    moves = np.zeros(size * size if size < 3000 else 0)
    moves[keys] = count
    return {"lengths": trips.lengths, "cells": np.bincount(trips.location, minlength=size), "edges": moves}


def compare(raw: Trips, made: Trips) -> str:
    """Return one line: visits, quantiles of lengths, and mean absolute error of cells and edges over their mean."""
    true, found = describe(raw), describe(made)
    quantiles = np.quantile(found["lengths"], QUANTILES) / np.quantile(true["lengths"], QUANTILES)
    off = [np.abs(true[key] - found[key]).sum() / true[key].sum() for key in ("cells", "edges")]
    visits = found["lengths"].sum() / true["lengths"].sum()
    numbers = [visits, found["lengths"].mean() / true["lengths"].mean(), *quantiles, *off]
    return " ".join(f"{number:7.3f}" for number in numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", nargs="*", default=["sessions", "wandering", "streets", "cairns-200"])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--trips", type=int, default=8_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--said", action="store_true", help="print what the release expects to be off by")
    chosen = parser.parse_args()
    weave = Weave()
    print(f"{'':24} visits    mean     50%     95%     99%   cells   edges  CPU s")
    for name in chosen.worlds:
        raw = read_world(name, chosen.trips, 7)
        raw = weave.rule(raw.world).apply(raw)
        quantiles = np.quantile(raw.lengths, QUANTILES).round()
        print(
            f"{name}: {len(raw):,} trips, {raw.world.size:,} places, {raw.lengths.mean():.1f} visits {quantiles}"
        )
        for seed in range(chosen.seeds):
            model = measure(raw, chosen.epsilon, seed, weave)
            begun = process_time()
            made = model.generate(seed)
            took = process_time() - begun
            print(f"{'epsilon ' + chosen.epsilon:22} {compare(raw, made)} {took:6.1f}", flush=True)
            misfit = model.weave(seed).diagnostics.misfit
            print("    misfit", *(f"{key} {value:.2f}" for key, value in misfit.items()))
            if chosen.said:
                for error in model.expected_errors(made, model.replicate(made, seed)):
                    print(f"    said: {error.question} {error.off:.2f} of {error.mean:.1f}")


if __name__ == "__main__":
    main()
