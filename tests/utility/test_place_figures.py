"""Origins and destinations, ranges, the GPS set, feasibility and operations against slow versions by the book."""

import builtins
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import jensenshannon
from scipy.stats import kendalltau
from utility_worlds import ABCD, square_city, values, walks

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import RangeCounts
from wayveil.utility.gps_figures import COARSE, GpsFigures, PlacedVisits, circles, extents, trips_in_regions
from wayveil.utility.operations import Operations, route_flows
from wayveil.utility.origin_destination import (
    DegreeGrid,
    OriginDestinationDistance,
    ZonePairs,
    earth_movers_distance,
    sample_pairs,
)
from wayveil.utility.stop_figures import LengthsByHour, jensen_shannon, ndcg_loss
from wayveil.utility.suite import CountQueries, Feasibility, questions
from wayveil.world.geo import haversine

CITY = square_city()
RAW = walks(CITY, 60, 1)
OTHER = walks(CITY, 45, 2)
NOBODY = Trips.of_lists([], CITY, time=np.empty(0, np.int64))
SILENT = OTHER.without_times()
seeds = st.integers(0, 10**6)


def slow_emd(left, right, cost):
    """The transport problem as a plain linear programme."""
    p, q = left / left.sum(), right / right.sum()
    rows = [np.repeat(np.eye(len(p))[i], len(q)) for i in range(len(p))]
    rows += [np.tile(np.eye(len(q))[j], len(p)) for j in range(len(q))]
    return linprog(cost.ravel(), A_eq=np.array(rows), b_eq=np.concatenate([p, q])).fun


@settings(max_examples=25)
@given(seeds)
def test_the_earth_movers_distance_is_the_optimum_of_the_transport_problem(seed):
    rng = np.random.default_rng(seed)
    left, right = rng.integers(1, 9, rng.integers(1, 6)), rng.integers(1, 9, rng.integers(1, 6))
    cost = rng.uniform(0, 10, (len(left), len(right)))
    assert earth_movers_distance(left, right, cost) == pytest.approx(slow_emd(left, right, cost), abs=1e-9)


def ends(trips, hour=None):
    firsts = trips.time[trips.offsets[:-1]] // 3600 % 24
    return Counter((t[0], t[-1]) for t, h in zip(trips.to_lists(), firsts, strict=True) if hour in (None, h))


def slow_od(left, right):
    a, b = list(left), list(right)
    lat, lon = CITY.lat, CITY.lon
    cost = np.array(
        [
            [
                sum(float(haversine(lat[x], lon[x], lat[y], lon[y])) for x, y in zip(p, q, strict=True))
                for q in b
            ]
            for p in a
        ]
    )
    return slow_emd(np.array([left[p] for p in a]), np.array([right[q] for q in b]), cost)


def test_origins_and_destinations_are_moved_at_both_ends_overall_and_by_hour():
    found = values(OriginDestinationDistance(RAW), OTHER)
    assert found["od_emd"] == pytest.approx(slow_od(ends(RAW), ends(OTHER)))
    by_hour = [(slow_od(ends(RAW, h), ends(OTHER, h)), ends(RAW, h).total()) for h in range(5, 9)]
    mean = sum(value * trips for value, trips in by_hour) / len(RAW)
    assert found["od_emd_by_hour"] == pytest.approx(mean)


def test_more_than_a_thousand_places_do_not_switch_the_distance_off():
    city = square_city(36, routes=False)
    raw = Trips.of_lists([[i, (7 * i) % 1296] for i in range(1296)], city)
    moved = Trips.of_lists([[(i + 1) % 1296, (7 * i) % 1296] for i in range(1296)], city)
    found = values(OriginDestinationDistance(raw), moved)
    assert found["od_emd"] > 100


def test_a_sample_says_its_size_and_identical_trips_give_identical_samples():
    question = OriginDestinationDistance(RAW, most_pairs=10)
    first, second = question.measure(RAW)
    assert (first.value, second.value) == (0, 0)
    assert "10 of 60 trips used" in first.label
    shuffled = RAW.take(np.random.default_rng(0).permutation(60))
    assert values(question, shuffled)["od_emd"] == 0
    pairs, counts = sample_pairs(np.array([5, 5, 7]), 2, 0)
    assert (pairs.tolist(), counts.tolist()) == ([5, 7], [2, 1])


def test_an_hour_without_trips_is_as_far_off_as_the_city_is_wide():
    found = values(OriginDestinationDistance(RAW), NOBODY)
    assert found["od_emd"] == found["od_emd_by_hour"] == pytest.approx(2 * haversine(50, 10, 50.03, 10.03))
    assert np.isnan(values(OriginDestinationDistance(RAW), SILENT)["od_emd_by_hour"])


def test_without_the_optional_package_the_distance_refuses_instead_of_vanishing(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "ot":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ParameterError, match=r"wayveil\[metrics\]"):
        earth_movers_distance(np.ones(1), np.ones(1), np.zeros((1, 1)))


def test_zone_pairs_diverge_by_the_definition():
    grid = DegreeGrid(2)
    cell = grid.cells(CITY)
    assert cell.reshape(4, 4).tolist() == [[0, 0, 1, 1]] * 2 + [[2, 2, 3, 3]] * 2
    p, q = (Counter((cell[t[0]], cell[t[-1]]) for t in side.to_lists()) for side in (RAW, OTHER))
    keys = sorted(p | q)
    slow = jensenshannon([p[k] for k in keys], [q[k] for k in keys], base=2) ** 2
    assert values(ZonePairs(RAW, side=2), OTHER)["od_zone_jsd"] == pytest.approx(slow)
    plain = Trips.of_lists([[0, 1], [2]], ABCD)
    assert values(ZonePairs(plain), Trips.of_lists([[1, 0], [3]], ABCD))["od_zone_jsd"] == 1


def test_the_divergence_is_scipys_distance_squared_and_its_nats_over_ln_2():
    p, q = np.array([3, 1, 0, 4]), np.array([1, 1, 5, 1])
    ours = jensen_shannon(p, q)
    assert ours == pytest.approx(jensenshannon(p, q, base=2) ** 2)
    assert ours == pytest.approx(jensenshannon(p, q) ** 2 / np.log(2))
    assert ours != pytest.approx(jensenshannon(p, q, base=2))


def test_lengths_by_hour_are_weighted_by_the_raw_trips():
    def histogram(trips, hour):
        starts = trips.time[trips.offsets[:-1]] // 3600
        return np.bincount(trips.lengths[starts == hour], minlength=12)

    slow = sum(
        jensen_shannon(histogram(RAW, h), histogram(OTHER, h)) * histogram(RAW, h).sum() for h in range(5, 9)
    )
    question = LengthsByHour(RAW)
    assert values(question, OTHER)["trip_length_jsd_by_hour"] == pytest.approx(slow / len(RAW))
    assert values(question, NOBODY)["trip_length_jsd_by_hour"] == 1
    assert np.isnan(values(question, SILENT)["trip_length_jsd_by_hour"])
    with pytest.raises(ParameterError, match="times"):
        LengthsByHour(SILENT)


@pytest.mark.parametrize("timed", [True, False])
def test_range_counts_are_visits_in_the_box(timed):
    raw, other = (RAW, OTHER) if timed else (RAW.without_times(), SILENT)
    question = RangeCounts(raw, boxes=50)
    errors = []
    for inside, during in zip(question.inside, question.during, strict=True):

        def count(trips, inside=inside, during=during):
            hours = RAW.time[:0] if trips.time is None else trips.time // 3600 % 24
            return sum(
                inside[stop] and (trips.time is None or during[hours[i]])
                for i, stop in enumerate(trips.location)
            )

        true, private = count(raw), count(other)
        errors.append(abs(private - true) / max(true, 0.001 * raw.visits))
    assert values(question, other)["range_error"] == pytest.approx(np.mean(errors))


def test_boxes_lie_inside_the_city_and_a_silent_release_has_no_timed_answer():
    assert np.isnan(values(RangeCounts(RAW, boxes=5), SILENT)["range_error"])
    with pytest.raises(ParameterError, match="coordinates"):
        RangeCounts(Trips.of_lists([[0]], ABCD))
    with pytest.raises(ParameterError, match="box"):
        RangeCounts(RAW, boxes=0)


def test_trips_through_a_region_are_counted_once():
    regions = circles(CITY, 70, np.random.default_rng(0))
    slow = [sum(any(inside[stop] for stop in trip) for trip in RAW.to_lists()) for inside in regions]
    assert trips_in_regions(PlacedVisits.of(RAW), regions).tolist() == slow


def test_the_gps_set_is_that_of_its_definitions():
    question = GpsFigures(RAW)
    found = values(question, OTHER)
    slow = [
        abs(b - a) / max(a, 0.01 * len(RAW))
        for a, b in zip(
            *(trips_in_regions(PlacedVisits.of(trips), question.regions) for trips in (RAW, OTHER)),
            strict=True,
        )
    ]
    assert found["gps/query"] == pytest.approx(np.mean(slow))
    cell = DegreeGrid(15).cells(CITY)
    visits = [np.bincount(cell[side.location], minlength=225) for side in (RAW, OTHER)]
    assert found["gps/coverage"] == pytest.approx(kendalltau(*visits).statistic)
    coarse = COARSE.cells(CITY)

    def cells(trip):
        run = [int(coarse[stop]) for stop in trip]
        return [run[0]] + [b for a, b in pairwise(run) if a != b]

    def supports_of(trips):
        support = Counter()
        for trip in map(cells, trips.to_lists()):
            support.update({tuple(trip[i : i + n]) for n in range(2, 9) for i in range(len(trip) - n + 1)})
        return support

    real, made = supports_of(RAW), supports_of(OTHER)
    rank = lambda one: (-one[1], len(one[0]), one[0])  # noqa: E731
    top = [{p for p, _ in sorted(side.items(), key=rank)[:100]} for side in (real, made)]
    assert found["gps/pattern_f1"] == pytest.approx(2 * len(top[0] & top[1]) / (len(top[0]) + len(top[1])))
    assert found["gps/pattern_support"] == pytest.approx(
        np.mean([abs(made[p] - real[p]) / real[p] for p in top[0]])
    )
    p, q = (Counter((cells(t)[0], cells(t)[-1]) for t in side.to_lists()) for side in (RAW, OTHER))
    keys = sorted(p | q)
    slow_jsd = jensenshannon([p[k] for k in keys], [q[k] for k in keys], base=2) ** 2
    assert found["gps/trip_jsd"] == pytest.approx(slow_jsd)


def test_diameter_is_the_widest_pair_and_length_the_way_along():
    x, y = np.array([0.0, 3.0, 3.0, 0.0]), np.array([0.0, 0.0, 4.0, 4.0])
    lists = [[0, 1, 2], [0, 2, 0, 2], [1], []]
    trips = Trips.of_lists(lists, ABCD)
    diameter, length = extents(trips.location, trips.offsets, x, y)
    apart = lambda a, b: np.hypot(x[a] - x[b], y[a] - y[b])  # noqa: E731
    assert diameter.tolist() == [max((apart(a, b) for a, b in combinations(t, 2)), default=0) for t in lists]
    assert length.tolist() == [sum(apart(a, b) for a, b in pairwise(t)) for t in lists]


def test_feasibility_counts_moves_that_exist_and_moves_that_are_too_fast():
    time = np.array([0, 60, 90, 0, 120, 0, 100], np.int64)
    trips = Trips.of_lists([[0, 1, 2], [0, 5], [0, 10]], CITY, time=time)
    found = values(Feasibility(RAW), trips)
    assert found == {"feasible_moves": 0.5, "too_fast": 0.5}
    assert values(Feasibility(RAW), RAW) == {"feasible_moves": 1, "too_fast": 0}
    assert np.isnan(values(Feasibility(RAW), NOBODY)["feasible_moves"])
    assert np.isnan(values(Feasibility(RAW), SILENT)["too_fast"])


def test_operations_are_those_of_the_definition():
    question = Operations(RAW, top=4)
    found = values(question, OTHER)
    sanity = 0.001 * len(RAW)

    def error(true, private, cells):
        return np.mean([abs(private[c] - true[c]) / max(true[c], sanity) for c in cells])

    sides = (RAW, OTHER)
    boardings = [Counter(t[0] for t in side.to_lists()) for side in sides]
    hours = [Counter((side.time[side.offsets[:-1]] // 3600 % 24).tolist()) for side in sides]
    assert found["operations/total"] == 15 / 60
    assert found["operations/stop"] == pytest.approx(error(*boardings, range(16)))
    assert found["operations/hour"] == pytest.approx(error(*hours, range(24)))
    both = [
        Counter(zip((t[0] for t in side.to_lists()), side.time[side.offsets[:-1]] // 3600 % 24, strict=True))
        for side in sides
    ]
    assert found["operations/stop_hour"] == pytest.approx(
        error(*both, [(s, h) for s in range(16) for h in range(24)])
    )
    for n in (2, 3):
        runs = [
            Counter(g for t in side.to_lists() for g in {tuple(t[i : i + n]) for i in range(len(t) - n + 1)})
            for side in sides
        ]
        top = sorted(runs[0], key=lambda g: (-runs[0][g], g))[:100]
        assert found[f"operations/patterns_{n}"] == pytest.approx(error(*runs, top))
    flows = []
    for side in sides:
        flow = Counter()
        for trip in side.to_lists():
            for a, b in pairwise(trip):
                for route in CITY.routes_of(int(CITY.edge_index(np.array([a]), np.array([b]))[0])):
                    flow[int(route)] += 1
        flows.append(flow)
    assert route_flows(RAW, CITY).tolist() == [flows[0][r] for r in range(8)]
    assert found["operations/route"] == pytest.approx(error(*flows, range(8)))
    most, least = (
        [
            {s for s, _ in sorted(((s, b[s]) for s in range(16)), key=lambda x: (sign * x[1], x[0]))[:4]}
            for b in boardings
        ]
        for sign in (-1, 1)
    )
    assert found["operations/most_used"] == len(most[0] & most[1]) / 4
    assert found["operations/least_used"] == len(least[0] & least[1]) / 4


def test_silence_about_time_is_no_answer_and_no_trips_are_no_most_used_stops():
    found = values(Operations(RAW), SILENT)
    assert np.isnan(found["operations/hour"])
    assert np.isnan(found["operations/stop_hour"])
    assert values(Operations(RAW), NOBODY)["operations/most_used"] == 0
    assert "operations/hour" not in values(Operations(SILENT), OTHER)


def test_every_visit_of_a_sequence_of_taps_is_a_boarding():
    question = Operations(RAW, taps=True)
    assert question.true["total"].tolist() == [RAW.visits]
    assert question.true["stop"].tolist() == np.bincount(RAW.location, minlength=16).tolist()
    assert question.true["hour"].tolist() == np.bincount(RAW.time // 3600 % 24, minlength=24).tolist()
    assert question.true["stop_hour"].sum() == RAW.visits
    assert {m.label for m in question.measure(RAW)} >= {
        "error of tap-ins in all",
        "error of tap-ins per stop",
    }
    trips = Operations(RAW)
    assert trips.true["total"].tolist() == [np.count_nonzero(RAW.lengths)]
    # Where a rider taps up to twenty times, the plain answer needs twenty times the noise.
    one, many = (
        np.mean(
            [
                {m.key: m.value for m in q.plain_laplace(Fraction(1, 5), seed=s)}["operations/total"]
                for s in range(40)
            ]
        )
        for q in (trips, question)
    )
    assert many > 3 * one


def test_the_plain_mechanism_errs_by_its_noise():
    city = square_city(3)
    raw = walks(city, 4000, 5, longest=4)
    question = Operations(raw)
    sharp, blunt = ({m.key: m.value for m in question.plain_laplace(Fraction(e))} for e in ("1000", "1/10"))
    assert sharp.keys() == {m.key for m in question.measure(raw)} == blunt.keys()
    assert max(v for k, v in sharp.items() if "used" not in k) < 0.01
    per_stop = question.true["stop"]
    # A Laplace error of scale 10 is 10 on average, so the mean over stops and draws comes close to this.
    expected = np.mean(10 / np.maximum(per_stop, 4))
    draws = [
        {m.key: m.value for m in question.plain_laplace(Fraction(1, 10), seed=s)}["operations/stop"]
        for s in range(60)
    ]
    assert np.mean(draws) == pytest.approx(expected, rel=0.35)


def test_ndcg_loses_what_a_wrong_ranking_loses():
    true = np.array([5, 3, 1, 0])
    assert ndcg_loss(true, true, 2) == 0
    gain = (3 + 5 / log2(3)) / (5 + 3 / log2(3))
    assert ndcg_loss(true, np.array([3, 5, 1, 0]), 2) == pytest.approx(1 - gain)
    assert ndcg_loss(true, np.zeros(4, int), 2) == 1


def test_every_figure_is_perfect_on_identical_trips_and_has_the_same_keys_for_all():
    for question in questions(RAW, counting=CountQueries(200)):
        keys = [m.key for m in question.measure(OTHER)]
        for subject in (RAW, NOBODY, SILENT):
            measures = question.measure(subject)
            assert [m.key for m in measures] == keys
            if subject is RAW:
                for m in measures:
                    assert m.value == pytest.approx(0 if m.better == "lower" else 1), m.key


def test_figures_that_need_times_or_coordinates_are_only_asked_where_there_are_any():
    titles = {q.title for q in questions(Trips.of_lists([[0, 1], [1]], ABCD), counting=CountQueries(10))}
    assert "Range counts" not in titles
    assert "Trip lengths by hour" not in titles
    assert "Frequent patterns" in titles
    assert len(questions(RAW, suite="core", counting=CountQueries(10))) == 5
    assert len(questions(Trips.of_lists([[0, 1], [1]], ABCD), suite="core", counting=CountQueries(10))) == 4
    for kind in (OriginDestinationDistance, GpsFigures):
        with pytest.raises(ParameterError, match="coordinates"):
            kind(Trips.of_lists([[0]], ABCD))
