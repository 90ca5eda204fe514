"""STRAP against the privacy parameter of each mechanism, on a dense and on a sparse city, as the study plots it.

    python -m bench.strap_shapes                  both cities
    python -m bench.strap_shapes dense 4000 300   one city, so many riders, and so many for methods without epsilon

Rows: the mean over five repetitions per mechanism, setting and p, and Spearman's rank correlation over the settings.
Methods without epsilon compare all pairs of riders, so they are run on fewer of them.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from bench.worlds import data
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.bits import SeededBits
from wayveil.releases.release import release
from wayveil.risk.strap.study import StrapSettings, StrapStudy
from wayveil.simulate.feed import write_city
from wayveil.simulate.habit import simulate_habit
from wayveil.syntactic.method import anonymise, methods
from wayveil.trips.trips import Trips
from wayveil.utility.reference import empty, floor
from wayveil.utility.scorecard import mean_and_interval
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network

# Where the curves move: above these, releases of ten thousand riders hardly differ any more.
EPSILONS = {"dense": (0.01, 0.03, 0.1, 0.3, 1), "sparse": (0.3, 1, 3, 10, 30)}
CROWDS = {"glove": (2, 4, 8, 16, 32), "plausible-deniability": (2, 4, 8, 16, 32)}
WITH_EPSILON = ("markov", "noisy-prefix-tree", "dpt")
KNOWN = (0.2, 0.3, 0.4)
REPETITIONS = 5
RIDERS, FEWER = 10_000, 1_000


def cities() -> dict[str, Network]:
    """A small invented city, where trips overlap, and Victoria, where they hardly do."""
    with tempfile.TemporaryDirectory() as folder:
        dense = read_gtfs(write_city(Path(folder) / "city.zip", stops=200, lines=14))
    return {"dense": dense, "sparse": read_gtfs(data("victoria", "gtfs.zip"), name="Victoria")}


def mirrored(trips: Trips) -> Trips:
    """The trips of an unrelated city: every place swapped for the one nearest to its mirror image."""
    from scipy.spatial import cKDTree

    from wayveil.world.geo import project

    east, north = project(trips.world.lat, trips.world.lon)
    tree = cKDTree(np.column_stack([east, north]))
    other = tree.query(np.column_stack([east.min() + east.max() - east, north.min() + north.max() - north]))[
        1
    ]
    return Trips(other[trips.location].astype(np.int32), trips.offsets, trips.world)


def released(raw: Trips, name: str, setting: float, repetition: int) -> Trips:
    """One release."""
    bits = SeededBits(f"{name} {setting} {repetition}")
    if name in CROWDS:
        return anonymise(raw, methods()[name](k=int(setting)), bits=bits).trips
    return release(raw, mechanism(name)(), epsilon=str(setting), bits=bits, seed=repetition).trips


def shapes(city: str, network: Network, most: int, few: int) -> list[dict[str, object]]:
    """All curves of one city."""
    rows = []
    for names, riders in ((tuple(CROWDS), few), (WITH_EPSILON, most)):
        raw, fresh = (simulate_habit(network, riders, seed=seed) for seed in (1, 2))
        studies = {p: StrapStudy(raw, StrapSettings(p=p)) for p in KNOWN}
        lines = {
            "raw": raw,
            "hold-out": fresh,
            "floor": floor(network, riders, 1),
            "mirrored": mirrored(fresh),
            "empty": empty(network),
        }
        for p, study in studies.items():
            rows += [
                {"city": city, "riders": riders, "mechanism": name, "p": p, "mean": study.measure(line).total}
                for name, line in lines.items()
            ]
        for name in names:
            settings = CROWDS.get(name, EPSILONS[city])
            values: dict[float, list[list[float]]] = {p: [] for p in KNOWN}
            for setting in settings:
                made = [released(raw, name, setting, repetition) for repetition in range(REPETITIONS)]
                for p in KNOWN:
                    values[p].append([studies[p].measure(one).total for one in made])
                print(
                    city,
                    name,
                    setting,
                    [round(mean_and_interval(values[p][-1])[0], 1) for p in KNOWN],
                    flush=True,
                )
            for p in KNOWN:
                means = [mean_and_interval(found) for found in values[p]]
                rank = spearmanr(settings, [mean for mean, *_ in means]).statistic
                rows += [
                    {
                        "city": city,
                        "riders": riders,
                        "mechanism": name,
                        "p": p,
                        "setting": setting,
                        "mean": mean,
                        "low": low,
                        "high": high,
                        "spearman": float(rank),
                    }
                    for setting, (mean, low, high) in zip(settings, means, strict=True)
                ]
    return rows


def run(wanted: str | None = None, most: int = RIDERS, few: int = FEWER) -> list[dict[str, object]]:
    """Rows of the wanted cities."""
    return [
        row
        for city, network in cities().items()
        if wanted in (None, city)
        for row in shapes(city, network, most, few)
    ]


if __name__ == "__main__":
    found = run(*sys.argv[1:2], *map(int, sys.argv[2:]))
    out = Path(__file__).parent / "results" / f"strap_shapes_{'-'.join(sys.argv[1:]) or 'all'}.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(found, indent=1))
    for row in found:
        if "setting" not in row:
            print(row["city"], row["riders"], row["mechanism"], row["p"], round(float(row["mean"]), 1))
