"""Figures on random small data against slow versions by the book, and the traps that figures of this kind fall into."""

from collections import Counter
from itertools import combinations, pairwise
from math import log2, sqrt

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import jensenshannon
from utility_worlds import ABCD, some_trip_lists, square_city, trip_lists, values, walks

from wayveil.synthesis.public_knowledge import empty, floor
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import CountQueryError, RangeCounts
from wayveil.utility.edges import EdgeFigures
from wayveil.utility.gps_figures import GpsFigures, circles
from wayveil.utility.ngram_figures import NgramFigures, SubsequenceError
from wayveil.utility.origin_destination import OriginDestinationDistance
from wayveil.utility.patterns import FrequentPatterns, top_contiguous_patterns
from wayveil.utility.prefixspan import top_gapped_patterns
from wayveil.utility.stop_figures import (
    LengthDivergence,
    LengthsByHour,
    StopFigures,
    hit_rate,
    kendall_tau_b,
    ndcg_loss,
)
from wayveil.utility.suite import Feasibility, ReplayFitness
from wayveil.world.geo import haversine, project
from wayveil.world.timebins import TimeBins

CITY = square_city()
seeds = st.integers(0, 10**6)
tallies = st.lists(st.integers(0, 4), min_size=4, max_size=9)
few = settings(max_examples=15, deadline=None)


def two_sides(seed, count=12):
    return walks(CITY, count, seed), walks(CITY, count - 3, seed + 1)


def by_hour(trips):
    hours = (trips.time[trips.offsets[:-1]] // 3600 % 24).tolist()
    found = {}
    for hour, trip in zip(hours, trips.to_lists(), strict=True):
        found.setdefault(hour, []).append(trip)
    return found


def slow_jsd(p, q):
    """Base 2, of two lists of values."""
    p, q = Counter(p), Counter(q)
    keys = sorted(p | q)
    return float(jensenshannon([p[k] for k in keys], [q[k] for k in keys], base=2) ** 2)


@few
@given(seeds)
def test_diameters_and_lengths_fall_into_twenty_buckets_up_to_the_largest_raw_value(seed):
    # Stops that stand in no rank and file: no length then lies on the border of two buckets.
    city = square_city(jitter=seed)
    raw, other = walks(city, 12, seed), walks(city, 9, seed + 1)
    east, north = project(city.lat, city.lon)
    apart = lambda a, b: sqrt((east[a] - east[b]) ** 2 + (north[a] - north[b]) ** 2)  # noqa: E731
    spans = {
        "diameter": lambda trip: max(apart(a, b) for a, b in combinations(trip, 2)),
        "length": lambda trip: sum(apart(a, b) for a, b in pairwise(trip)),
    }
    found = values(GpsFigures(raw), other)
    for name, span in spans.items():
        own, theirs = ([span(trip) for trip in side.to_lists()] for side in (raw, other))
        bucket = lambda value, top=max(own): min(int(value / top * 20), 19)  # noqa: E731
        slow = slow_jsd(map(bucket, own), map(bucket, theirs))
        assert found[f"gps/{name}_jsd"] == pytest.approx(slow, abs=1e-9)


def slow_emd(left, right):
    """The transport problem between two lists of trips as a plain linear programme, in metres for both ends."""
    p, q = (Counter((trip[0], trip[-1]) for trip in side) for side in (left, right))
    metres = lambda x, y: float(haversine(CITY.lat[x], CITY.lon[x], CITY.lat[y], CITY.lon[y]))  # noqa: E731
    cost = [metres(a, c) + metres(b, d) for a, b in p for c, d in q]
    rows = np.zeros((len(p) + len(q), len(cost)))
    for i in range(len(p)):
        for j in range(len(q)):
            rows[i, i * len(q) + j] = rows[len(p) + j, i * len(q) + j] = 1
    shares = [count / len(left) for count in p.values()] + [count / len(right) for count in q.values()]
    return linprog(cost, A_eq=rows, b_eq=shares).fun


@few
@given(seeds)
def test_the_hourly_distance_is_the_mean_over_hours_weighted_by_raw_trips(seed):
    raw, other = two_sides(seed)
    mine, theirs = by_hour(raw), by_hour(other)
    corners = 2 * float(haversine(CITY.lat.min(), CITY.lon.min(), CITY.lat.max(), CITY.lon.max()))
    slow = sum(
        len(trips) * (slow_emd(trips, theirs[hour]) if hour in theirs else corners)
        for hour, trips in mine.items()
    )
    found = values(OriginDestinationDistance(raw), other)
    assert found["od_emd_by_hour"] == pytest.approx(slow / len(raw), abs=1e-6)
    assert found["od_emd"] == pytest.approx(slow_emd(raw.to_lists(), other.to_lists()), abs=1e-6)


@few
@given(seeds)
def test_lengths_diverge_by_the_definition_overall_and_by_hour(seed):
    raw, other = two_sides(seed)
    lengths = lambda trips: [len(trip) for trip in trips]  # noqa: E731
    slow = slow_jsd(lengths(raw.to_lists()), lengths(other.to_lists()))
    assert values(LengthDivergence(raw), other)["trip_length_jsd"] == pytest.approx(slow, abs=1e-9)
    mine, theirs = by_hour(raw), by_hour(other)
    slow = sum(
        len(trips) * (slow_jsd(lengths(trips), lengths(theirs[hour])) if hour in theirs else 1)
        for hour, trips in mine.items()
    )
    found = values(LengthsByHour(raw), other)["trip_length_jsd_by_hour"]
    assert found == pytest.approx(slow / len(raw), abs=1e-9)


@given(tallies, seeds)
def test_tau_b_is_that_of_all_pairs(left, seed):
    right = np.random.default_rng(seed).integers(0, 4, len(left)).tolist()
    pairs = list(combinations(range(len(left)), 2))
    signs = [(np.sign(left[a] - left[b]), np.sign(right[a] - right[b])) for a, b in pairs]
    untied = [sum(1 for pair in signs if pair[side] != 0) for side in (0, 1)]
    found = kendall_tau_b(np.array(left), np.array(right))
    if 0 in untied:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(sum(a * b for a, b in signs) / sqrt(untied[0] * untied[1]))


@given(tallies.filter(any), seeds, st.integers(1, 5))
def test_hits_and_gains_of_the_busiest_are_those_of_the_definition(true, seed, top):
    private = np.random.default_rng(seed).integers(0, 4, len(true)).tolist()

    def order(counts):
        ranked = sorted(range(len(counts)), key=lambda i: (-counts[i], i))[:top]
        return [i for i in ranked if counts[i] > 0]

    wanted, named = order(true), order(private)
    assert hit_rate(np.array(true), np.array(private), top) == len({*wanted} & {*named}) / len(wanted)
    gain = lambda ranked: sum(true[i] / log2(rank + 1) for rank, i in enumerate(ranked, 1))  # noqa: E731
    slow = 1 - gain(named) / gain(wanted)
    assert ndcg_loss(np.array(true), np.array(private), top) == pytest.approx(slow)


@given(some_trip_lists, trip_lists)
def test_edge_error_is_that_of_the_definition(lists, other):
    true, seen = (Counter(move for trip in side for move in pairwise(trip)) for side in (lists, other))
    sanity = 0.001 * len(lists)
    slow = sum(abs(seen[move] - true[move]) / max(true[move], sanity) for move in true | seen)
    found = values(EdgeFigures(Trips.of_lists(lists, ABCD)), Trips.of_lists(other, ABCD))["edge_error"]
    assert found == pytest.approx(slow / max(len(true), 1))


@few
@given(seeds)
def test_feasibility_is_that_of_the_graph(seed):
    rng = np.random.default_rng(seed)
    lists = [rng.integers(0, CITY.size, rng.integers(2, 5)).tolist() for _ in range(8)]
    time = np.concatenate([np.cumsum(rng.integers(0, 200, len(trip))) for trip in lists])
    trips = Trips.of_lists(lists, CITY, time=time)
    graph = nx.DiGraph()
    for a, b, seconds in zip(
        CITY.sources.tolist(), CITY.indices.tolist(), CITY.seconds.tolist(), strict=True
    ):
        graph.add_edge(a, b, weight=seconds)
    moves = [move for trip in lists for move in pairwise(trip)]
    steps = np.split(time, np.cumsum([len(trip) for trip in lists])[:-1])
    taken = [b - a for part in steps for a, b in pairwise(part.tolist())]
    fast = [
        t < nx.shortest_path_length(graph, a, b, "weight") for t, (a, b) in zip(taken, moves, strict=True)
    ]
    assert values(Feasibility(walks(CITY, 5, 1)), trips) == {
        "feasible_moves": pytest.approx(np.mean([graph.has_edge(a, b) for a, b in moves])),
        "too_fast": pytest.approx(np.mean(fast)),
    }


@few
@given(seeds)
def test_queries_with_times_ask_for_stops_within_their_bins(seed):
    raw, other = two_sides(seed)
    bins = TimeBins.hour_of_day()
    question = CountQueryError(raw, queries=60, max_length=3, bins=bins, seed=seed)

    def count(trips, query):
        items = (trips.location.astype(int) * 24 + trips.time // 3600 % 24).tolist()
        found = 0
        for low, high in pairwise(trips.offsets.tolist()):
            rest = iter(items[low:high])
            found += all(item in rest for item in query)
        return found

    found = values(question, other)
    for work in question.workloads:
        queries = [row[:n].tolist() for row, n in zip(work.items, work.lengths, strict=True)]
        errors = [
            abs(count(other, query) - count(raw, query)) / max(count(raw, query), 0.001 * len(raw))
            for query in queries
        ]
        assert found[f"count_query_error/{work.name}"] == pytest.approx(np.mean(errors))


@few
@given(some_trip_lists, trip_lists, seeds)
def test_unordered_queries_are_sets(lists, other, seed):
    raw, private = Trips.of_lists(lists, ABCD), Trips.of_lists(other, ABCD)
    question = CountQueryError(raw, queries=40, max_length=3, unordered=True, seed=seed)
    found = values(question, private)
    for work in question.workloads:
        errors = []
        for row, length in zip(work.items.tolist(), work.lengths.tolist(), strict=True):
            true, seen = (sum({*row[:length]} <= {*trip} for trip in side) for side in (lists, other))
            errors.append(abs(seen - true) / max(true, 0.001 * len(lists)))
        assert found[f"count_query_error/{work.name}"] == pytest.approx(np.mean(errors))


def test_boxes_are_rectangles_of_five_to_fifty_percent():
    city = square_city(12, routes=False)
    question = RangeCounts(walks(city, 5, 1), boxes=300)
    for inside in question.inside[question.inside.any(axis=1)]:
        lat, lon = city.lat[inside], city.lon[inside]
        within = (
            (city.lat >= lat.min())
            & (city.lat <= lat.max())
            & (city.lon >= lon.min())
            & (city.lon <= lon.max())
        )
        assert np.array_equal(within, inside)
        assert np.ptp(lat) <= 0.5 * np.ptp(city.lat) + 1e-12
    assert set(question.during.sum(axis=1).tolist()) == set(range(1, 13))


def test_circles_hold_what_is_near_their_centre():
    city = square_city(12, routes=False)
    diagonal = float(haversine(city.lat.min(), city.lon.min(), city.lat.max(), city.lon.max()))
    rng, again = np.random.default_rng(5), np.random.default_rng(5)
    north, east = (again.uniform(axis.min(), axis.max(), 40) for axis in (city.lat, city.lon))
    radius = again.uniform(0.02, 0.25, 40) * diagonal
    for inside, lat, lon, reach in zip(circles(city, 40, rng), north, east, radius, strict=True):
        slow = [float(haversine(lat, lon, a, b)) <= reach for a, b in zip(city.lat, city.lon, strict=True)]
        assert inside.tolist() == slow


# Traps.


@pytest.fixture(scope="module")
def town():
    city = square_city(12, routes=False)
    return walks(city, 400, 3, longest=20)


def test_silence_scores_well_on_uniform_queries_and_badly_on_those_drawn_from_trips(town):
    found = values(CountQueryError(town, queries=2_000), empty(town.world, timed=True))
    assert found["count_query_error/uniform"] < 0.4
    assert found["count_query_error/non-empty"] > 2 * found["count_query_error/uniform"]


def test_the_published_curve_over_maximum_lengths_falls_by_construction(town):
    found = values(SubsequenceError(town, queries=4_000), empty(town.world, timed=True))
    uniform = [found[f"subsequence_error/uniform/{longest}"] for longest in (4, 8, 12, 16, 20)]
    assert uniform == sorted(uniform, reverse=True)
    assert uniform[-1] < uniform[0] / 3
    drawn = [found[f"subsequence_error/non-empty/{longest}"] for longest in (4, 20)]
    assert drawn[1] > drawn[0] / 3


def test_public_knowledge_alone_wins_presence_and_replay_but_not_total_variation(town):
    public = floor(town.world, 20_000, 1)
    presence, replay = values(NgramFigures(town), public), values(ReplayFitness(town), public)
    assert replay["fitness/moves"] > 0.95
    assert presence["ngram_3/f1/recall"] > 0.3
    assert presence["ngram_tv_3"] > 0.5


def test_single_stops_are_never_ranked_as_patterns(town):
    assert min(len(pattern) for pattern, _ in top_contiguous_patterns(town, 100)) == 2
    assert min(len(pattern) for pattern, _ in top_gapped_patterns(town, 100)) == 2
    shuffled = town.take(np.random.default_rng(1).permutation(len(town)))
    assert set(values(FrequentPatterns(town), shuffled).values()) == {0, 1}


def test_every_stop_visited_alike_is_no_agreement(town):
    flat = Trips.of_lists([[stop] for stop in range(town.world.size)], town.world)
    found = values(StopFigures(town), flat)
    assert np.isnan(found["stop_tau_b"])
    assert found["stop_top_20"] < 1
