"""GPS: points to trips against reading the file, noise against a float generator, private steps against plain ones.

Ratios, each against a baseline of the same run. `tables` prints the figures of the DP-Loc study beside its own.
"""

import os
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from wayveil.mechanisms.dp_loc import DpLoc
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.od_hops import OdHops
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.gradients import Outer, _scatter, clipped_sum
from wayveil.privacy.rounded import rounded_gaussian
from wayveil.releases.release import release
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.synthesis.hops.hop_net import HopNet
from wayveil.trips.legality import LegalityRule
from wayveil.trips.points import read_points, read_tracks
from wayveil.trips.tracks import Tracks
from wayveil.utility.gps import GpsFigures
from wayveil.utility.next_hop import next_hop_figures
from wayveil.utility.patterns import FrequentPatterns
from wayveil.utility.reference import ceiling, empty, floor
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import GridMoves

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
SHENZHEN = "grid:22.44,113.75,22.87,114.65@30x30"
# The study's shares of the top 10, 20, 50 and 100 patterns at epsilon 1: itself, and its n-grams.
STUDY = {250: ((50, 60, 71, 71), (80, 88, 100, 100)), 500: ((40, 25, 30, 22), (90, 95, 76, 100))}
# Next hop: right (%) and metres off.
STUDY_HOPS = {250: (24.2, 350.4), 500: (73.5, 237.7)}
TOPS = (10, 20, 50, 100)


def _seconds(work, times=3):
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def points_to_trips():
    """At most 6 times polars reading the file."""
    path = DATA / "shenzhen-taxi" / "TaxiData-Sample.csv.gz"
    if not path.exists():
        return [{"skipped": f"no {path}"}]
    grid, columns = Grid.parse(SHENZHEN), ["uid", "datetime", "lng", "lat", "flag", "-"]

    def read():
        return read_points(path, grid, columns=columns, header=False, repeated="first")

    read()
    plain = _seconds(lambda: pl.read_csv(path, has_header=False))
    return [{"work": "points to trips / polars reading", "ratio": _seconds(read) / plain, "goal": "<= 6"}]


def noise(size=4_000_000):
    """At least .4 of numpy's float32 normal."""
    deviation, rng = Fraction(13 << 20, 10), np.random.default_rng(0)
    rounded_gaussian(1, deviation)
    ours = _seconds(lambda: rounded_gaussian(size, deviation))
    floats = _seconds(lambda: rng.standard_normal(size, dtype=np.float32))
    return [{"work": "float32 normal / rounded Gaussian", "ratio": floats / ours, "goal": ">= .4"}]


def steps(batch=1000):
    """A clipped step at most 1.3 times, a whole private step at most 3 times a plain one."""
    moves = GridMoves(Grid.of_metres(STUDY_BOX, 250))
    net, rng = HopNet(moves, 6, 64, 0.01), np.random.default_rng(0)
    here = rng.integers(0, moves.grid.size, batch)
    then = moves.grid.successors.nth(here, np.zeros(batch, np.int64)).astype(np.int64)
    columns = (here, then, rng.integers(0, moves.grid.size, batch), rng.integers(0, 24, batch))
    size = sum(weight.size for weight in net.weights)

    def plain():
        made = []
        for part in net.parts(columns):
            if isinstance(part, Outer):
                made.append(part.inputs.T @ part.errors)
            else:
                total = np.zeros(part.shape, np.float32)
                _scatter(part.index, part.errors, total)
                made.append(total)
        net.update(made)

    def clipped():
        net.update([total * 1e-9 for total in clipped_sum(net.parts(columns), 1.0)])

    def private():
        flat = np.concatenate([total.ravel() for total in clipped_sum(net.parts(columns), 1.0)])
        flat += rounded_gaussian(size, Fraction(3 << 20))
        net.update([np.zeros_like(weight) for weight in net.weights])

    for work in (plain, clipped, private):
        work()
    base = _seconds(plain, 20)
    return [
        {"work": "clipped step / plain step", "ratio": _seconds(clipped, 20) / base, "goal": "<= 1.3"},
        {"work": "private step / plain step", "ratio": _seconds(private, 20) / base, "goal": "<= 3"},
    ]


def tables(trips=120_000, metres=(250, 500), epsilons=(1, 2), releases=5, drivers="streets"):
    """Patterns, GPS set and next hop of every mechanism, with ceiling, floor, empty and the grid alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "taxis.parquet"
        simulate_taxis(trips, drivers=drivers, seed=7).write(path)
        for size in metres:
            raw, tracks = read_tracks(path, Grid.of_metres(STUDY_BOX, size))
            yield from _city(LegalityRule(impossible="route").apply(raw), tracks, size, epsilons, releases)


def _city(raw, tracks, size, epsilons, releases):
    patterns, gps = FrequentPatterns(raw, tops=TOPS), GpsFigures(tracks)
    own, theirs = STUDY[size]
    yield {"cells": size, "who": "the study, epsilon 1", **dict(zip(TOPS, own, strict=True))}
    yield {"cells": size, "who": "its n-grams, epsilon 1", **dict(zip(TOPS, theirs, strict=True))}
    lines = {
        "ceiling": ceiling(raw, 1),
        "floor": floor(raw.world, len(raw), 1),
        "empty": empty(raw.world),
        "the grid alone": raw,
    }
    for who, made in lines.items():
        yield {"cells": size, "who": who, **_figures(patterns, gps, made)}
    for mechanism in (DpLoc(), OdHops(), Weave(), Markov()):
        for epsilon in epsilons:
            rows = []
            for seed in range(releases):
                made = release(raw, mechanism, epsilon=epsilon, seed=seed)
                row = _figures(patterns, gps, made.trips)
                if hasattr(made.model, "hops"):
                    row |= {m.key: m.value for m in next_hop_figures(raw, made.model)}
                rows.append(row)
            mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
            yield {"cells": size, "who": f"{mechanism.name}, epsilon {epsilon}", **mean}


def _figures(patterns, gps, made):
    found = {m.key: m.value for m in patterns.measure(made)}
    row = {top: round(100 * found[f"patterns/contiguous/{top}/found"], 1) for top in TOPS}
    points = Tracks.spread(made, 1)
    return row | {m.key: round(m.value, 4) for m in gps.measure(points) if not m.key.endswith("_nats")}


def main():
    """Ratios, then the tables (hours at full size: give fewer trips to try it)."""
    for row in [*points_to_trips(), *noise(), *steps()]:
        print(row)
    for row in tables(trips=int(os.environ.get("WAYVEIL_TRIPS", "120000"))):
        print(row, flush=True)


if __name__ == "__main__":
    main()
