"""A million riders on Berlin, against A* for one rider after the other as in the study they follow."""

import math
import multiprocessing
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import networkx as nx
import numpy as np

from wayveil.simulate.city import simulate_city
from wayveil.world.geo import EARTH_RADIUS_METRES
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
BERLIN = "52.34,13.09,52.68,13.76"
RIDERS = 1_000_000
SAMPLE = 200
STUDY = {"average length": 43.72, "longest trip": 135, "distinct stops": 2_994}


def a_star_rate(network: Network, pairs: np.ndarray) -> float:
    """Riders per second of networkx A* by distance with the great circle as bound."""
    graph = nx.DiGraph()
    edges = zip(network.sources.tolist(), network.indices.tolist(), network.metres.tolist(), strict=True)
    graph.add_weighted_edges_from(edges)

    lat, lon = np.radians(network.lat).tolist(), np.radians(network.lon).tolist()

    def bound(here: int, there: int) -> float:
        # Plain floats: numpy would be slow on single numbers, and the baseline would not be a fair one.
        across = math.sin((lat[there] - lat[here]) / 2) ** 2
        along = math.cos(lat[here]) * math.cos(lat[there]) * math.sin((lon[there] - lon[here]) / 2) ** 2
        return 2 * EARTH_RADIUS_METRES * math.asin(math.sqrt(across + along))

    start = time.perf_counter()
    for origin, destination in pairs.tolist():
        nx.astar_path(graph, origin, destination, bound)
    return len(pairs) / (time.perf_counter() - start)


def peak_megabytes() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure() -> list[dict]:
    network = read_gtfs(DATA / "berlin" / "gtfs.zip", bbox=BERLIN)
    simulate_city(network, 100, seed=1)  # compiles
    before = peak_megabytes()
    start = time.perf_counter()
    trips = simulate_city(network, RIDERS, seed=1).trips
    seconds = time.perf_counter() - start
    peak = peak_megabytes()
    held = (trips.location.nbytes + trips.time.nbytes + trips.offsets.nbytes + trips.rider.nbytes) / 2**20
    theirs = a_star_rate(network, np.column_stack([trips.origins(), trips.destinations()])[:SAMPLE])
    rate = RIDERS / seconds
    facts = {
        "average length": float(trips.lengths.mean()),
        "longest trip": int(trips.lengths.max()),
        "distinct stops": len(np.unique(trips.location)),
    }
    shape = [
        {
            "figure": f"{name} (stops)" if "stops" not in name else name,
            "value": value,
            "baseline": "the study",
            "baseline value": STUDY[name],
            "ratio": value / STUDY[name],
        }
        for name, value in facts.items()
    ]
    return [
        {
            "figure": f"riders/s with times, {RIDERS:,} riders, {network.size:,} stations",
            "value": rate,
            "baseline": f"networkx A*, {SAMPLE} of the same riders, paths only",
            "baseline value": theirs,
            "ratio": rate / theirs,
        },
        {
            "figure": f"peak memory (MB), {before:.0f} of them before the simulation",
            "value": peak,
            "baseline": "the trips themselves",
            "baseline value": held,
            "ratio": peak / held,
        },
        *shape,
    ]


def run() -> list[dict]:
    """Rows {figure, value, baseline, baseline value, ratio}; a process of its own, so that peak memory is its own."""
    if not (DATA / "berlin" / "gtfs.zip").exists():
        return [{"figure": "skipped", "value": f"no Berlin feed under {DATA}; set WAYVEIL_DATA"}]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure).result()


if __name__ == "__main__":
    from bench.__main__ import show

    show("simulate", run())
