"""Every utility figure on a million trips: processor seconds per candidate, against a named straightforward way.

    python -m bench.utility                     all of them
    python -m bench.utility patterns gps        some of them

Rows are printed and kept as they come, so that a run that was stopped goes on where it was. Where the baseline is
hopeless on all trips it runs on a slice of them (or of the queries), the row says so, and its seconds are scaled up.
The last row is a release of the same trips, because no figure should take much longer than what it judges.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
from prefixspan import PrefixSpan
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist

from bench.count_queries import SIDE, straightforward, street_trips
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import CountQueryError, RangeCounts
from wayveil.utility.edges import EdgeFigures
from wayveil.utility.figures import Figures
from wayveil.utility.gps_figures import GpsFigures
from wayveil.utility.ngram_figures import NgramFigures, SubsequenceError
from wayveil.utility.operations import Operations
from wayveil.utility.origin_destination import MOST_PAIRS, OriginDestinationDistance, ZonePairs
from wayveil.utility.patterns import FrequentPatterns, top_contiguous_patterns
from wayveil.utility.prefixspan import top_gapped_patterns
from wayveil.utility.stop_figures import LengthDivergence, LengthsByHour, StopFigures
from wayveil.utility.suite import Feasibility, ReplayFitness
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
    """Processor time, summed over threads: it says the same on a busy machine as on a quiet one."""
    start = time.process_time()
    work()
    return time.process_time() - start


class Baselines:
    """The straightforward ways, each as (name, seconds on all trips or scaled up to them)."""

    def __init__(self, trips: Trips, network: Network) -> None:
        self.trips, self.network = trips, network
        self.scale = len(trips) / SLICE

    @cached_property
    def lists(self) -> list[list[int]]:
        return self.trips.take(np.arange(SLICE)).to_lists()

    @cached_property
    def graph(self) -> nx.DiGraph:
        return nx.DiGraph(zip(self.network.sources.tolist(), self.network.indices.tolist(), strict=True))

    @cached_property
    def visits(self) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "trip": self.trips.trip_of_visit(),
                "stop": self.trips.location,
                "hour": self.trips.time // 3600 % 24,
                "lat": self.network.lat[self.trips.location],
                "lon": self.network.lon[self.trips.location],
            }
        )

    def _timed(self, work: Callable[[pl.DataFrame], object]) -> float:
        visits = self.visits  # made before the clock starts
        return seconds(lambda: work(visits))

    def filtered(self) -> tuple[str, float]:
        table = pl.DataFrame({"stops": self.lists})
        queries = [trip[3:30:9] for trip in self.lists[:QUERIES]]
        spent = seconds(lambda: straightforward(table, queries))
        return sliced("polars filter + Python", f"{QUERIES} queries"), spent * self.scale * 80_000 / QUERIES

    def substring(self) -> tuple[str, float]:
        text = pl.Series([" " + " ".join(map(str, trip)) + " " for trip in self.lists])
        queries = [" " + " ".join(map(str, trip[3:7])) + " " for trip in self.lists[:QUERIES]]
        spent = seconds(lambda: [text.str.contains(query, literal=True).sum() for query in queries])
        return sliced("polars str.contains", f"{QUERIES} queries"), spent * self.scale * 100_000 / QUERIES

    def counter(self, lengths: tuple[int, ...]) -> tuple[str, float]:
        lists = self.lists

        def work() -> None:
            for n in lengths:
                Counter(tuple(trip[i : i + n]) for trip in lists for i in range(len(trip) - n + 1))

        return sliced("collections.Counter"), seconds(work) * self.scale

    def has_edge(self) -> tuple[str, float]:
        has = self.graph.has_edge
        lists = self.lists
        spent = seconds(lambda: [sum(has(a, b) for a, b in pairwise(trip)) for trip in lists])
        return sliced("networkx has_edge"), spent * self.scale

    def prefixspan(self) -> tuple[str, float]:
        package = PrefixSpan(self.lists[:SMALL_SLICE])
        package.minlen, package.maxlen = 2, 3
        spent = seconds(lambda: package.topk(100))
        name = f"prefixspan, {SMALL_SLICE} trips, gapped patterns of 2 and 3 stops only"
        return name, spent * len(self.trips) / SMALL_SLICE

    def group_by(self, *columns: str) -> tuple[str, float]:
        return "polars group_by", self._timed(lambda visits: visits.group_by(*columns).len())

    def moves(self) -> tuple[str, float]:
        pair = pl.struct("stop", pl.col("stop").shift(-1).over("trip").alias("next"))
        return "polars shift + group_by", self._timed(lambda visits: visits.group_by(pair).len())

    def sizes(self) -> tuple[str, float]:
        return "polars group_by trip", self._timed(lambda visits: visits.group_by("trip").len())

    def firsts(self) -> tuple[str, float]:
        first = pl.col("stop", "hour").first()
        return "polars group_by trip", self._timed(
            lambda visits: visits.group_by("trip").agg(first, pl.len())
        )

    def boxes(self) -> tuple[str, float]:
        def work(visits: pl.DataFrame) -> None:
            for i in range(QUERIES):
                south = pl.col("lat").is_between(52.4 + 0.003 * i, 52.45 + 0.003 * i)
                west, morning = pl.col("lon").is_between(13.3, 13.4), pl.col("hour").is_between(6, 9)
                visits.filter(south & west & morning)

        return f"polars filter, {QUERIES} boxes", self._timed(work) * 2_000 / QUERIES

    def diameters(self) -> tuple[str, float]:
        points = np.column_stack([self.network.lat, self.network.lon])
        lists = self.lists
        spent = seconds(lambda: [pdist(points[trip]).max() for trip in lists])
        return sliced("scipy pdist", "diameters alone"), spent * self.scale

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


Row = dict[str, object]
Asked = dict[str, tuple[Callable[[Trips], Figures], Callable[[], tuple[str, float]]]]


def sliced(name: str, *more: str) -> str:
    """The name of a baseline that ran on a slice."""
    return ", ".join([name, *more, f"{SLICE:,} trips"])


def figures(base: Baselines) -> Asked:
    """Every question and what it is measured against."""
    return {
        "count-queries": (CountQueryError, base.filtered),
        "subsequences": (SubsequenceError, base.substring),
        "ngrams": (NgramFigures, lambda: base.counter((2, 3))),
        "fitness": (ReplayFitness, base.has_edge),
        "patterns": (FrequentPatterns, base.prefixspan),
        "lengths": (LengthDivergence, base.sizes),
        "lengths-by-hour": (LengthsByHour, base.firsts),
        "stops": (StopFigures, lambda: base.group_by("stop")),
        "edges": (EdgeFigures, base.moves),
        "zone-pairs": (ZonePairs, base.firsts),
        "od-distance": (OriginDestinationDistance, base.assignment),
        "operations": (Operations, base.firsts),
        "range-counts": (RangeCounts, base.boxes),
        "gps": (GpsFigures, base.diameters),
        "feasibility": (Feasibility, base.has_edge),
    }


RELEASE = "release"


def run(wanted: list[str] | None = None, kept: Path | None = None) -> list[Row]:
    """Rows {name, figure, value, baseline, baseline value, ratio}; values are processor seconds.

    `kept` is a file of rows that an earlier run got done: they are not measured again, and new ones are added.
    """
    rows: dict[str, Row] = json.loads(kept.read_text()) if kept is not None and kept.exists() else {}
    city = street_city()
    raw, other = timed_trips(TRIPS, 1, city), timed_trips(TRIPS, 2, city)
    base = Baselines(raw, city)
    asked = figures(base)
    for name in [*asked, RELEASE] if wanted is None else wanted:
        if name in rows:
            continue
        rows[name] = judged(raw) if name == RELEASE else measured(name, raw, other, *asked[name])
        print(json.dumps(rows[name]), flush=True)
        if kept is not None:
            kept.write_text(json.dumps(rows, indent=2))
    if wanted is None or "patterns" in wanted:
        _check(base)
    if RELEASE in rows:
        slowest = max((row for name, row in rows.items() if name != RELEASE), key=lambda row: row["value"])
        rows[RELEASE] |= {
            "figure": f"the slowest of these ({slowest['name']})",
            "value": slowest["value"],
            "ratio": rows[RELEASE]["baseline value"] / slowest["value"],
        }
    return list(rows.values())


def measured(
    name: str,
    raw: Trips,
    other: Trips,
    make: Callable[[Trips], Figures],
    baseline: Callable[[], tuple[str, float]],
) -> Row:
    """One figure, after a run on a few trips that compiles it."""
    few = raw.take(np.arange(200))
    make(few).measure(few)
    question = make(raw)
    own = seconds(lambda: question.measure(other))
    label, theirs = baseline()
    return {
        "name": name,
        "figure": f"{question.title}: processor seconds on {len(other):,} trips",
        "value": own,
        "baseline": label,
        "baseline value": theirs,
        "ratio": theirs / own,
    }


def judged(raw: Trips) -> Row:
    """The release that figures are held against."""
    spent = seconds(lambda: release(raw, NoisyPrefixTree(), epsilon=1))
    return {
        "name": RELEASE,
        "baseline": "a release of the same trips (noisy prefix tree)",
        "baseline value": spent,
    }


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
    from bench.__main__ import HERE, show

    (HERE / "results").mkdir(exist_ok=True)
    show("utility", run(sys.argv[1:] or None, HERE / "results" / "utility.rows.json"))
