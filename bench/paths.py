"""Shortest paths per second, beside A* of networkx with the haversine bound on the same network and queries."""

import os
import statistics
import tempfile
import time
from math import asin, cos, radians, sin, sqrt
from pathlib import Path

import networkx
import numpy as np

from wayveil.simulate.feed import write_city
from wayveil.world.geo import EARTH_RADIUS_METRES
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network
from wayveil.world.paths import along_paths, shortest_paths

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))
BERLIN = "52.34,13.09,52.68,13.76"
PATHS = 1_000_000
SAMPLE = 2_000
ROUNDS = 3


def city() -> tuple[str, Network]:
    """Berlin inside its box, or the invented city where the feed is not there."""
    feed = DATA / "berlin" / "gtfs.zip"
    if feed.exists():
        return "Berlin", read_gtfs(feed, bbox=BERLIN)
    with tempfile.TemporaryDirectory() as folder:
        return f"invented city (no feeds under {DATA})", read_gtfs(write_city(Path(folder) / "city.zip"))


def a_star_metres(
    network: Network, origins: np.ndarray, destinations: np.ndarray
) -> tuple[np.ndarray, float]:
    """Length of the A* path of each pair (infinite if there is none), and the seconds that all of them took."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(network.size))
    graph.add_weighted_edges_from(
        zip(network.sources.tolist(), network.indices.tolist(), network.metres.tolist(), strict=True)
    )
    lat, lon = network.lat.tolist(), network.lon.tolist()

    def bound(one: int, other: int) -> float:
        # Plain floats: numpy would slow the baseline down.
        phi1, phi2 = radians(lat[one]), radians(lat[other])
        half = (
            sin((phi2 - phi1) / 2) ** 2 + cos(phi1) * cos(phi2) * sin(radians(lon[other] - lon[one]) / 2) ** 2
        )
        return 2 * EARTH_RADIUS_METRES * asin(sqrt(half)) * (1 - 1e-12)

    metres = np.full(len(origins), np.inf)
    start = time.perf_counter()
    for i, (origin, destination) in enumerate(zip(origins.tolist(), destinations.tolist(), strict=True)):
        try:
            metres[i] = networkx.astar_path_length(
                graph, origin, destination, heuristic=bound, weight="weight"
            )
        except networkx.NetworkXNoPath:
            continue
    return metres, time.perf_counter() - start


def run() -> list[dict[str, object]]:
    """Throughput, and by how much the longest of the sampled paths exceeds A*'s (0: all exactly as short)."""
    name, network = city()
    rng = np.random.default_rng(2)
    origins, destinations = rng.integers(0, network.size, (2, PATHS))
    shortest_paths(network, origins[:10], destinations[:10])  # compile
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        paths = shortest_paths(network, origins, destinations)
        rounds.append(time.perf_counter() - start)
    ours = PATHS / statistics.median(rounds)

    expected, seconds = a_star_metres(network, origins[:SAMPLE], destinations[:SAMPLE])
    theirs = SAMPLE / seconds
    found = np.full(SAMPLE, np.inf)
    there = np.flatnonzero(paths.reachable[:SAMPLE])
    cut = paths.offsets[SAMPLE]
    along = along_paths(network, paths.location[:cut], paths.offsets[: SAMPLE + 1], network.metres)
    found[there] = along[paths.offsets[there + 1] - 1]
    both = np.isfinite(found) & np.isfinite(expected)
    differs = np.isfinite(found) != np.isfinite(expected)
    worst = float(np.abs(found[both] - expected[both]).max()) if not differs.any() else float("inf")
    return [
        {
            "figure": f"shortest paths per second, {name}, {network.size:,} stops, {PATHS:,} pairs (networkx A*)",
            "value": ours,
            "baseline": theirs,
            "ratio": ours / theirs,
        },
        {
            "figure": f"largest difference to A* over {SAMPLE:,} paths, metres (allowed: 1e-6)",
            "value": worst,
            "baseline": 1e-6,
            "ratio": worst / 1e-6,
        },
    ]


if __name__ == "__main__":
    for row in run():
        print(row)
