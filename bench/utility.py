"""Every utility figure on a million trips: seconds per candidate, against a named straightforward way.

The baseline runs on a slice of the trips (or of the queries) and is scaled up; the last row is a release of the same
trips, because no figure should take much longer than what it judges.
"""

import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import networkx as nx
import numpy as np
import polars as pl
from prefixspan import PrefixSpan
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist

from bench.count_queries import SIDE, street_trips
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.releases.release import release
from wayveil.trips.trips import Trips
from wayveil.utility.edges import EdgeFigures
from wayveil.utility.feasibility import Feasibility
from wayveil.utility.fitness import ReplayFitness
from wayveil.utility.gps import GpsFigures
from wayveil.utility.lengths import LengthsByHour
from wayveil.utility.ngrams import NgramFigures
from wayveil.utility.operations import Operations
from wayveil.utility.origin_destination import MOST_PAIRS, OriginDestinationDistance, ZonePairs
from wayveil.utility.patterns import FrequentPatterns, top_contiguous_patterns
from wayveil.utility.prefixspan import top_gapped_patterns
from wayveil.utility.question import Question
from wayveil.utility.range_counts import RangeCounts
from wayveil.utility.stops import StopFigures
from wayveil.utility.subsequences import SubsequenceError
from wayveil.world.geo import haversine
from wayveil.world.network import Edges, Network, Places, Platforms, Routes

TRIPS = 1_000_000
SLICE, SMALL_SLICE, QUERIES = 10_000, 100, 30


def street_city() -> Network:
    """The grid of `street_trips` with coordinates, one route per street."""
    size = SIDE * SIDE
    stop = np.arange(size)
    x, y = np.divmod(stop, SIDE)
    pairs = []
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        inside = (x + dx >= 0) & (x + dx < SIDE) & (y + dy >= 0) & (y + dy < SIDE)
        line = np.where(dx == 0, x, SIDE + y)
        pairs.append(np.column_stack([stop, stop + dx * SIDE + dy, line])[inside])
    rows = np.concatenate(pairs)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    count, ids = len(rows), np.array([f"{i:04d}" for i in stop])
    lines = np.array([f"{i:03d}" for i in range(2 * SIDE)])
    edges = Edges(
        np.concatenate([[0], np.cumsum(np.bincount(rows[:, 0], minlength=size))]),
        rows[:, 1].astype(np.int32),
        np.full(count, 60, np.int32),
        np.full(count, 500.0),
        np.zeros(count, bool),
        np.ones(count, np.int64),
        np.arange(count + 1),
        rows[:, 2].astype(np.int32),
    )
    places = Places(ids, ids, 52.4 + 0.0045 * x, 13.2 + 0.0074 * y)
    routes = Routes(lines, lines, np.full(2 * SIDE, 3, np.int32))
    return Network(places, edges, routes, Platforms(ids, stop.astype(np.int32)), name="streets")


def timed_trips(count: int, seed: int, city: Network) -> Trips:
    """Trips on the streets, a minute per stop, that begin at any hour."""
    rng = np.random.default_rng(seed)
    trips = street_trips(count, rng)
    place = np.arange(trips.visits) - np.repeat(trips.offsets[:-1], trips.lengths)
    start = np.repeat(rng.integers(0, 86_400, len(trips)), trips.lengths)
    return Trips(trips.location, trips.offsets, city, start + 60 * place)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class Baselines:
    """The straightforward ways, each as (name, seconds scaled up to all trips)."""

    def __init__(self, trips: Trips) -> None:
        self.trips = trips
        self.lists = trips.take(np.arange(SLICE)).to_lists()
        self.scale = len(trips) / SLICE
        network = trips.world
        if not isinstance(network, Network):
            raise TypeError("the baselines need coordinates")
        self.network = network
        self.graph = nx.DiGraph(zip(network.sources.tolist(), network.indices.tolist(), strict=True))
        self.visits = pl.DataFrame(
            {
                "trip": trips.trip_of_visit(),
                "stop": trips.location,
                "hour": trips.time // 3600 % 24,
                "lat": network.lat[trips.location],
                "lon": network.lon[trips.location],
            }
        )

    def substring(self) -> tuple[str, float]:
        text = pl.Series([" " + " ".join(map(str, trip)) + " " for trip in self.lists])
        queries = [" " + " ".join(map(str, trip[3:7])) + " " for trip in self.lists[:QUERIES]]
        spent = seconds(lambda: [text.str.contains(query, literal=True).sum() for query in queries])
        return f"polars str.contains, {QUERIES} queries", spent * self.scale * 100_000 / QUERIES

    def counter(self, lengths: tuple[int, ...]) -> tuple[str, float]:
        def work() -> None:
            for n in lengths:
                Counter(tuple(trip[i : i + n]) for trip in self.lists for i in range(len(trip) - n + 1))

        return "collections.Counter", seconds(work) * self.scale

    def has_edge(self) -> tuple[str, float]:
        has = self.graph.has_edge
        return "networkx has_edge", seconds(
            lambda: [sum(has(a, b) for a, b in pairwise(trip)) for trip in self.lists]
        ) * self.scale

    def prefixspan(self) -> tuple[str, float]:
        package = PrefixSpan(self.lists[:SMALL_SLICE])
        package.minlen, package.maxlen = 2, 3
        spent = seconds(lambda: package.topk(100))
        return "prefixspan, patterns of 2-3 only", spent * len(self.trips) / SMALL_SLICE

    def group_by(self, *columns: str) -> tuple[str, float]:
        return "polars group_by", seconds(lambda: self.visits.group_by(*columns).len())

    def moves(self) -> tuple[str, float]:
        pair = pl.struct("stop", pl.col("stop").shift(-1).over("trip").alias("next"))
        return "polars shift + group_by", seconds(lambda: self.visits.group_by(pair).len())

    def firsts(self) -> tuple[str, float]:
        work = lambda: self.visits.group_by("trip").agg(pl.col("stop", "hour").first(), pl.len())  # noqa: E731
        return "polars group_by trip", seconds(work)

    def boxes(self) -> tuple[str, float]:
        def work() -> None:
            for i in range(QUERIES):
                south = pl.col("lat").is_between(52.4 + 0.003 * i, 52.45 + 0.003 * i)
                west, morning = pl.col("lon").is_between(13.3, 13.4), pl.col("hour").is_between(6, 9)
                self.visits.filter(south & west & morning)

        return f"polars filter, {QUERIES} boxes", seconds(work) * 2_000 / QUERIES

    def diameters(self) -> tuple[str, float]:
        points = np.column_stack([self.network.lat, self.network.lon])
        spent = seconds(lambda: [pdist(points[trip]).max() for trip in self.lists])
        return "scipy pdist, diameters alone", spent * self.scale

    def assignment(self) -> tuple[str, float]:
        rng = np.random.default_rng(0)
        lat, lon = self.network.lat, self.network.lon

        def work() -> None:
            a, b = (rng.choice(len(self.trips), MOST_PAIRS) for _ in range(2))
            cost = sum(
                haversine(lat[end[a]][:, None], lon[end[a]][:, None], lat[end[b]], lon[end[b]])
                for end in (self.trips.origins(), self.trips.destinations())
            )
            linear_sum_assignment(cost)

        return "scipy linear_sum_assignment, 25 times", 25 * seconds(work)


def run() -> list[dict]:
    """Rows {figure, value, baseline, baseline value, ratio}; values are seconds."""
    city = street_city()
    raw, other = timed_trips(TRIPS, 1, city), timed_trips(TRIPS, 2, city)
    base = Baselines(raw)
    tiny = raw.take(np.arange(200))
    asked: list[tuple[Callable[[Trips], Question], Callable[[], tuple[str, float]]]] = [
        (SubsequenceError, base.substring),
        (NgramFigures, lambda: base.counter((2, 3))),
        (ReplayFitness, base.has_edge),
        (FrequentPatterns, base.prefixspan),
        (LengthsByHour, base.firsts),
        (StopFigures, lambda: base.group_by("stop")),
        (EdgeFigures, base.moves),
        (ZonePairs, base.firsts),
        (OriginDestinationDistance, base.assignment),
        (Operations, base.firsts),
        (RangeCounts, base.boxes),
        (GpsFigures, base.diameters),
        (Feasibility, base.has_edge),
    ]
    rows = []
    for make, baseline in asked:
        make(tiny).measure(tiny)  # compile
        question = make(raw)
        own = seconds(lambda asked=question: asked.measure(other))
        name, theirs = baseline()
        rows.append(
            {
                "figure": f"{question.title}: seconds on {len(other):,} trips",
                "value": own,
                "baseline": name,
                "baseline value": theirs,
                "ratio": theirs / own,
            }
        )
    released = seconds(lambda: release(raw, NoisyPrefixTree(), epsilon=1))
    slowest = max(row["value"] for row in rows)
    rows.append(
        {
            "figure": "the slowest of these figures",
            "value": slowest,
            "baseline": "a release of the same trips (noisy prefix tree)",
            "baseline value": released,
            "ratio": released / slowest,
        }
    )
    _check(base)
    return rows


def _check(base: Baselines) -> None:
    """The two ways to rank patterns must agree on a slice."""
    few = base.trips.take(np.arange(SMALL_SLICE))
    package = PrefixSpan(few.to_lists())
    package.minlen, package.maxlen = 2, 2
    theirs = sorted((support for support, _ in package.topk(50)), reverse=True)
    ours = [support for _, support in top_gapped_patterns(few, 50, max_length=2)]
    if ours != theirs or not top_contiguous_patterns(few, 50):
        raise RuntimeError("the two ways to rank gapped patterns disagree")


if __name__ == "__main__":
    from bench.__main__ import show

    show("utility", run())
