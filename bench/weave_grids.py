"""GPS traces: every mechanism on Shenzhen's taxis beside AdaTrace and PrivTrace, and on simulated cities.

    python -m bench.weave_grids [shenzhen] [streets] [wandering] [sessions] [sprawl] [roam] [--epsilon 0.5,1,2]
        [--releases 5] [--mechanisms weave,dp-loc,od-hops,markov] [--cells 30x30] [--trips 6000] [--seed 101]
        [--first 0] [--verdicts]

Needs `shenzhen-taxi` in the folder WAYVEIL_DATA for the first. Released trips are points along their ways, held
against the raw points twice: as the rivals' evaluator does it (`rivals`), and by the GPS set of the reports (`ours`).
`weave, no times` is given trips without times, as the rivals are, and so buys no hours. `sessions` last for 25 visits
in the mean, one in a hundred for more than 120. `--verdicts` prints how far off each release says that its visits,
cells and edges are, over how far off they are; it takes as long again. `sprawl` and
`roam` (4,500 trips, seeds below 100) are the cities that constants of Weave on grids were set on.
"""

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
import polars as pl

from bench.rival_figures import RivalFigures
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import mechanism
from wayveil.mechanisms.weave import Weave
from wayveil.releases.release import Release
from wayveil.run import make_release as release
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.points import read_tracks
from wayveil.trips.tracks import Tracks
from wayveil.trips.trips import Trips
from wayveil.utility.figures import ceiling, floor
from wayveil.utility.gps_figures import GpsFigures
from wayveil.world.grid import Grid

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
# The districts of the city without the peninsula in the east, from a map.
SHENZHEN = "22.45,113.75,22.85,114.45"
SPRAWL = "37.50,-122.60,37.78,-122.18"
KEYS = (
    "query",
    "coverage",
    "pattern_f1",
    "pattern_support",
    "trip_jsd_nats",
    "diameter_jsd_nats",
    "length_jsd_nats",
)
SAID = ("visits", "stops", "edges")
# As published for these rules, 30 x 30 cells and the rivals' own programs and evaluator: query, coverage, pattern F1,
# support, trip, diameter, length.
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
        if name in ("sprawl", "roam"):
            _write_sprawl(file, trips, seed, wandering=name == "roam")
            return read_tracks(file, Grid.parse(f"grid:{SPRAWL}@{cells}"))
        simulate_taxis(trips, drivers=name, seed=seed).write(file)
        return read_tracks(file, Grid.parse(f"grid:{STUDY_BOX}@{cells}"))


def _write_sprawl(file: Path, trips: int, seed: int, *, wandering: bool) -> None:
    """Towns of different sizes in a wide box, most trips within one; drivers of one town are of the other kind."""
    south, west, north, east = map(float, SPRAWL.split(","))
    rng = np.random.default_rng(seed)
    parts: list[pl.DataFrame] = []
    towns = ((0.45, 0.07, 0.12), (0.25, 0.05, 0.06), (0.15, 0.1, 0.1), (0.11, 0.14, 0.26), (0.04, 0.28, 0.42))
    for number, (share, high, wide) in enumerate(towns):
        low = (south + (north - south - high) * rng.random(), west + (east - west - wide) * rng.random())
        box = f"{low[0]:.4f},{low[1]:.4f},{low[0] + high:.4f},{low[1] + wide:.4f}"
        drivers = "wandering" if wandering != (number == 2) else "streets"
        simulate_taxis(int(trips * share), drivers=drivers, box=box, seed=10 * seed + number).write(file)
        town = pl.read_parquet(file)
        last = parts[-1]["tid"].max() if parts else 0
        parts.append(town.with_columns(pl.col("tid") + last))
    pl.concat(parts).write_parquet(file)


class Judges:
    """Both sets of figures of raw points."""

    def __init__(self, points: Tracks) -> None:
        self.rivals, self.ours = RivalFigures(points), GpsFigures(points)

    def print_rows(self, label: str, made: list[Tracks]) -> None:
        ours = [{m.key.removeprefix("gps/"): m.value for m in self.ours.measure(one)} for one in made]
        print_row(f"{label}, rivals", [list(self.rivals.measure(one).values()) for one in made])
        print_row(f"{label}, ours", [[row[key] for key in KEYS] for row in ours])


def compare_verdict(raw: Trips, made: Release) -> list[float]:
    """Return what the verdict says of visits, cells and edges over what is true of them."""
    from bench.weave_steady import count_cells

    true, found, ratios = count_cells(raw), count_cells(made.trips), []
    for kind in SAID:
        cells = true[kind].keys() | found[kind].keys()
        off = sum(abs(true[kind].get(cell, 0) - found[kind].get(cell, 0)) for cell in cells)
        verdict = made.accuracy.of(kind)
        said = np.nan if verdict is None else verdict.error * sum(found[kind].values())
        ratios.append(said / max(off, 1))
    return ratios


def print_row(label: str, rows: list[list[float]]) -> None:
    """Means, and below them their standard errors where there are several rows."""
    print(f"{label:30}", *(f"{value:9.3f}" for value in np.mean(rows, axis=0)), flush=True)
    if len(rows) > 1:
        errors = np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
        print(f"{'':27}+/-", *(f"{value:9.3f}" for value in errors), flush=True)


def versions(raw: Trips, names: str) -> dict[str, tuple[Mechanism, Trips]]:
    """What is released: mechanisms by name, and Weave once more without times."""
    found = {name: (mechanism(name)(), raw) for name in names.split(",")}
    if "weave" in found and raw.time is not None:
        found["weave, no times"] = (Weave(), Trips(raw.location, raw.offsets, raw.world))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cities", nargs="*", default=["shenzhen", "streets", "wandering"])
    parser.add_argument("--epsilon", default="0.5,1,2")
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--mechanisms", default="weave")
    parser.add_argument("--cells", default="30x30")
    parser.add_argument("--trips", type=int, default=6_000)
    parser.add_argument("--seed", type=int, default=101, help="of a simulated city")
    parser.add_argument("--first", type=int, default=0, help="seed of the first release")
    parser.add_argument("--verdicts", action="store_true", help="hold what releases say against what is true")
    chosen = parser.parse_args()
    for city in chosen.cities:
        raw, points = read_city(city, chosen.cells, chosen.trips, chosen.seed)
        # Rivals protect a trip as they are given it; what cut it out of the points of a vehicle is not in their noise.
        raw = Trips(raw.location, raw.offsets, raw.world, raw.time)
        judges, rng = Judges(points), np.random.default_rng(0)
        print(f"\n{city}: {len(raw):,} trips, {raw.world.size:,} cells")
        print(f"{'':30}", *(f"{key.removesuffix('_nats')[:9]:>9}" for key in KEYS))
        judges.print_rows("ceiling", [points.take(rng.integers(0, len(points), len(points)))])
        judges.print_rows("grid alone", [Tracks.driven(raw, 1)])
        judges.print_rows("ceiling on the grid", [Tracks.driven(ceiling(raw, 1), 1)])
        judges.print_rows("floor", [Tracks.driven(floor(raw.world, len(raw), 1), 1)])
        for epsilon in chosen.epsilon.split(","):
            for label, (kind, given) in versions(raw, chosen.mechanisms).items():
                begun = process_time()
                seeds = range(chosen.first, chosen.first + chosen.releases)
                made = [release(given, kind, epsilon=epsilon, seed=seed) for seed in seeds]
                spent = (process_time() - begun) / chosen.releases
                judges.print_rows(f"{label} {epsilon}", [Tracks.driven(one.trips, 1) for one in made])
                print(f"{'':30} {spent:.1f} CPU seconds each")
                if chosen.verdicts:
                    legal = kind.rule(given.world).apply(given)
                    print_row(
                        "said / true: visits, cells, edges", [compare_verdict(legal, one) for one in made]
                    )
            for rival, rows in RIVALS.items() if city == "shenzhen" else ():
                if epsilon in rows:
                    print_row(f"{rival} {epsilon}", [list(rows[epsilon])])


if __name__ == "__main__":
    main()
