"""STRAP against the privacy parameter of each mechanism, on a dense and on a sparse city, as the study plots it.

    python -m bench.strap_shapes                        both cities, and what was found
    python -m bench.strap_shapes dense 10000 1500       one city, so many riders, and so many for methods with k (or 0)
    python -m bench.strap_shapes summary                what was found so far

Every release is a line of bench/results/strap_shapes.jsonl as soon as it is measured; a run goes on where one stopped.
Settings are half decades. Where they lie is public: what matters is the noise of one count beside the riders per
place. So the sparse city, with some ten times as many places, is asked a decade higher, and so are mechanisms that
share epsilon among many levels or grids. They were set with other riders (seed 1) than those that are judged.

A setting counts for the rank correlation if it is clear of raw: every repetition lies above the raw line.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import spearmanr

from bench.worlds import data
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.bits import SeededBits
from wayveil.releases.release import release
from wayveil.risk.attacks.targets import some_people
from wayveil.risk.strap.study import StrapSettings, StrapStudy
from wayveil.simulate.feed import write_city
from wayveil.simulate.habit import simulate_habit
from wayveil.syntactic.glove import draw_trips, fingerprints, merge_groups
from wayveil.syntactic.method import Lots, anonymise, methods
from wayveil.trips.trips import Trips
from wayveil.utility.reference import empty, floor
from wayveil.utility.scorecard import mean_and_interval
from wayveil.world.geo import project
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network

LOWER, MIDDLE, UPPER = (0.003, 0.01, 0.03, 0.1, 0.3), (0.03, 0.1, 0.3, 1, 3), (0.3, 1, 3, 10, 30)
EPSILONS = {
    "dense": {"markov": LOWER, "noisy-prefix-tree": MIDDLE, "dpt": MIDDLE},
    "sparse": {"markov": MIDDLE, "noisy-prefix-tree": UPPER, "dpt": UPPER},
}
CROWDS = (2, 3, 4, 5, 6)
WITH_EPSILON = ("markov", "noisy-prefix-tree", "dpt")
WITH_K = ("glove", "plausible-deniability")
KNOWN = (0.2, 0.3, 0.4)
REPETITIONS = 5
RIDERS, FEWER = 10_000, 1_500
LOOKED_AT = 2_000  # riders whose STRAP is added up; releases are made from all
SEED = 11
FOUND = Path(__file__).parent / "results" / "strap_shapes.jsonl"
Row = dict[str, Any]


@cache
def city_of(name: str) -> Network:
    """A small invented city, where trips overlap, and Victoria, where they hardly do."""
    if name == "sparse":
        return read_gtfs(data("victoria", "gtfs.zip"), name="Victoria")
    with tempfile.TemporaryDirectory() as folder:
        return read_gtfs(write_city(Path(folder) / "city.zip", stops=200, lines=14))


def mirrored(trips: Trips) -> Trips:
    """The trips of an unrelated city: every place swapped for the one nearest to its mirror image."""
    east, north = project(trips.world.lat, trips.world.lon)
    tree = cKDTree(np.column_stack([east, north]))
    images = np.column_stack([east.min() + east.max() - east, north.min() + north.max() - north])
    return Trips(tree.query(images)[1][trips.location].astype(np.int32), trips.offsets, trips.world)


class Bench:
    """One city with so many riders: raw trips, adversaries who know more or less, and releases."""

    def __init__(self, city: str, riders: int) -> None:
        self.city, self.riders, self.network = city, riders, city_of(city)
        self.raw = simulate_habit(self.network, riders, seed=SEED)
        first = StrapStudy(some_people(self.raw, LOOKED_AT, 0), StrapSettings(p=KNOWN[0]))
        self.studies = [first, *(first.knowing(p) for p in KNOWN[1:])]
        self.groups = cache(self._groups)

    def lines(self) -> Iterator[tuple[str, Trips]]:
        fresh = simulate_habit(self.network, self.riders, seed=SEED + 1)
        yield "raw", self.raw
        yield "hold-out", fresh
        yield "floor", floor(self.network, self.riders, 1)
        yield "mirrored", mirrored(fresh)
        yield "empty", empty(self.network)

    def released(self, name: str, setting: float, repetition: int) -> Trips:
        """One release."""
        bits = SeededBits(f"{name} {setting} {repetition}")
        if name == "glove":  # its groups involve no chance, only the trips drawn from them
            boxes, of_box, sizes = self.groups(int(setting))
            return draw_trips(boxes, of_box, sizes, self.network, Lots(bits))
        if name in WITH_K:
            return anonymise(self.raw, methods()[name](k=int(setting)), bits=bits).trips
        return release(self.raw, mechanism(name)(), epsilon=str(setting), bits=bits, seed=repetition).trips

    def _groups(self, k: int) -> tuple[Any, Any, Any]:
        sample, offsets, _ = fingerprints(self.raw, "glove")
        group, boxes, of_box, _ = merge_groups(sample, offsets, k)
        return boxes, of_box, np.bincount(group)

    def measure(self, made: Trips) -> Row:
        looked = self.studies[0].look_at(made)
        found = [study.measure(looked) for study in self.studies]
        return {
            "trips": len(made),
            "visits": made.visits / max(len(made), 1),
            "widened": found[0].widened / found[0].segments,
            "strap": [one.total for one in found],
        }


def run(city: str, riders: int, settings: dict[str, tuple[float, ...]]) -> None:
    """Measure what is not yet in the file, repetition by repetition."""
    known = {_key(row) for row in read_found()}
    bench = Bench(city, riders)
    wanted = [(name, 0.0, 0, line) for name, line in bench.lines()]
    wanted += [
        (name, setting, repetition, None)
        for repetition in range(REPETITIONS)
        for name in settings
        for setting in settings[name]
    ]
    FOUND.parent.mkdir(exist_ok=True)
    for name, setting, repetition, line in wanted:
        row = {"city": city, "riders": riders, "name": name, "setting": setting, "repetition": repetition}
        if _key(row) in known:
            continue
        row |= bench.measure(bench.released(name, setting, repetition) if line is None else line)
        with FOUND.open("a") as file:
            print(json.dumps(row), file=file)
        print(*row.values(), flush=True)


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("city", "riders", "name", "setting", "repetition"))


def read_found() -> list[Row]:
    """All rows measured so far."""
    return [json.loads(line) for line in FOUND.read_text().splitlines()] if FOUND.exists() else []


def curve(
    rows: list[Row], raw: list[float], at: int
) -> tuple[list[Row], float | None, list[tuple[float, float]]]:
    """Of one mechanism and one p: a point per setting, Spearman over those that count, and wrong steps among these.

    A step is wrong if it goes against the trend and the intervals of its two ends do not overlap.
    """
    points = []
    for setting in sorted({row["setting"] for row in rows}):
        mine = [row for row in rows if row["setting"] == setting]
        values = [row["strap"][at] for row in mine]
        mean, low, high = mean_and_interval(values)
        low, high = mean if low is None else low, mean if high is None else high
        clear = min(values) > raw[at]
        points.append({"setting": setting, "mean": mean, "low": low, "high": high, "counts": clear})
    counted = [point for point in points if point["counts"]]
    if len(counted) < 3:
        return points, None, []
    rank = spearmanr([p["setting"] for p in counted], [p["mean"] for p in counted]).statistic
    sign = 1 if rows[0]["name"] in WITH_K else -1
    wrong = [
        (a["setting"], b["setting"])
        for a, b in pairwise(counted)
        if sign * (b["mean"] - a["mean"]) < 0 and (a["high"] < b["low"] or b["high"] < a["low"])
    ]
    return points, float(rank), wrong


def summarise() -> None:
    """Print every curve with its correlation, and the reference lines."""
    found = read_found()
    for city, riders in dict.fromkeys((row["city"], row["riders"]) for row in found):
        here = [row for row in found if (row["city"], row["riders"]) == (city, riders)]
        lines = {row["name"]: row["strap"] for row in here if row["name"] not in WITH_K + WITH_EPSILON}
        print(f"\n{city}, {riders:,} riders; p = {KNOWN}")
        for name, values in lines.items():
            print(f"  {name:22}", *(f"{value:10,.1f}" for value in values))
        for name in WITH_EPSILON + WITH_K:
            rows = [row for row in here if row["name"] == name]
            if not rows:
                continue
            curves = [curve(rows, lines["raw"], at) for at in range(len(KNOWN))]
            print(f"  {name}: Spearman", *(rank if rank is None else round(rank, 2) for _, rank, _ in curves))
            for points in zip(*(points for points, _, _ in curves), strict=True):
                words = (f"{p['mean']:9,.1f} ({p['low']:,.0f} to {p['high']:,.0f})" for p in points)
                mine = [row for row in rows if row["setting"] == points[0]["setting"]]
                notes = f"{len(mine)} x, {np.mean([row['visits'] for row in mine]):.1f} visits"
                notes += "" if points[0]["counts"] else ", does not count"
                falls = all(a["mean"] > b["mean"] for a, b in pairwise(points))
                notes += "" if falls else ", rises with p"
                print(f"    {points[0]['setting']:6g}", *words, notes)
            for p, (_, _, wrong) in zip(KNOWN, curves, strict=True):
                for a, b in wrong:
                    print(f"    wrong step at p = {p}: {a:g} to {b:g}")


def main(city: str | None = None, riders: int = RIDERS, fewer: int = FEWER) -> None:
    if city != "summary":
        for one in ("dense", "sparse") if city is None else (city,):
            for count, settings in ((riders, EPSILONS[one]), (fewer, dict.fromkeys(WITH_K, CROWDS))):
                if count:
                    run(one, count, settings)
    summarise()


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))
