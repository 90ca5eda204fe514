"""Weave on GPS traces: the GPS set on Shenzhen's taxis beside AdaTrace and PrivTrace, and on two simulated cities.

    python -m bench.weave_grids [shenzhen] [streets] [wandering] [--epsilon 0.5,1,2] [--releases 5] [--trips 6000]

Needs `shenzhen-taxi` in the folder WAYVEIL_DATA for the first. `cells` compares cells with the cells of the raw trips,
`points` the centres of released cells with the raw points. Constants of Weave were set on simulated cities with other
seeds, never on Shenzhen.
"""

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from wayveil.mechanisms.weave import Weave
from wayveil.releases.release import release
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.points import read_tracks
from wayveil.trips.tracks import Tracks
from wayveil.trips.trips import Trips
from wayveil.utility.gps import GpsFigures
from wayveil.world.grid import Grid

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
# A box around the city, from a map.
SHENZHEN = "22.44,113.75,22.87,114.65"
KEYS = (
    "query",
    "coverage",
    "pattern_f1",
    "pattern_support",
    "trip_jsd_nats",
    "diameter_jsd_nats",
    "length_jsd_nats",
)
# Measured with the rivals' own programs and evaluator, whose circles and box are not ours.
RIVALS = {
    "AdaTrace": {
        "0.5": (1.13, 0.49, 0.45, 0.66, 0.175, 0.165, 0.128),
        "1": (0.79, 0.52, 0.51, 0.54, 0.107, 0.131, 0.091),
        "2": (0.48, 0.54, 0.61, 0.44, 0.041, 0.106, 0.063),
    },
    "PrivTrace": {
        "0.5": (0.21, 0.35, 0.45, 0.88, 0.152, 0.022, 0.013),
        "1": (0.11, 0.43, 0.53, 0.67, 0.093, 0.024, 0.004),
        "2": (0.11, 0.48, 0.67, 0.56, 0.059, 0.040, 0.011),
    },
}


def read_city(name: str, cells: str, trips: int, seed: int) -> tuple[Trips, Tracks]:
    """Trips over cells, and the points that they were made of."""
    if name == "shenzhen":
        return read_tracks(
            DATA / "shenzhen-taxi" / "TaxiData-Sample.csv.gz",
            Grid.parse(f"grid:{SHENZHEN}@{cells}"),
            columns=["uid", "datetime", "lng", "lat", "flag", "-"],
            header=False,
            repeated="first",
            no_fix="skip",
        )
    with TemporaryDirectory() as folder:
        file = Path(folder) / "points.parquet"
        simulate_taxis(trips, drivers=name, seed=seed).write(file)  # type: ignore[arg-type]
        return read_tracks(file, Grid.parse(f"grid:{STUDY_BOX}@{cells}"))


def figures_of(asked: GpsFigures, made: Trips) -> list[float]:
    found = {measure.key.removeprefix("gps/"): measure.value for measure in asked.measure(made)}
    return [found[key] for key in KEYS]


def print_row(label: str, rows: list[list[float]]) -> None:
    print(f"{label:24}", *(f"{value:9.3f}" for value in np.mean(rows, axis=0)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cities", nargs="*", default=["shenzhen", "streets", "wandering"])
    parser.add_argument("--epsilon", default="0.5,1,2")
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--cells", default="30x30")
    parser.add_argument("--trips", type=int, default=6_000)
    parser.add_argument("--seed", type=int, default=101)
    chosen = parser.parse_args()
    for city in chosen.cities:
        raw, points = read_city(city, chosen.cells, chosen.trips, chosen.seed)
        views = {"cells": GpsFigures(raw), "points": GpsFigures(points)}
        print(f"\n{city}: {len(raw):,} trips, {raw.world.size:,} cells")
        print(f"{'':24}", *(f"{key.removesuffix('_nats')[:9]:>9}" for key in KEYS))
        print_row("grid alone, points", [figures_of(views["points"], raw)])
        print_row("after Weave's rule", [figures_of(views["cells"], Weave().rule(raw.world).apply(raw))])
        for epsilon in chosen.epsilon.split(","):
            begun = process_time()
            made = [
                release(raw, Weave(), epsilon=epsilon, seed=number).trips for number in range(chosen.releases)
            ]
            spent = (process_time() - begun) / chosen.releases
            for view, asked in views.items():
                print_row(f"weave {epsilon}, {view}", [figures_of(asked, trips) for trips in made])
            for rival, rows in RIVALS.items() if city == "shenzhen" else ():
                if epsilon in rows:
                    print_row(f"{rival} {epsilon}", [list(rows[epsilon])])
            print(f"{'':24} {spent:.1f} CPU seconds each")


if __name__ == "__main__":
    main()
