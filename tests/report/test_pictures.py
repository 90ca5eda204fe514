"""Scales, maps, histograms, rankings and the error table."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_world import grid_city

from ring_networks import ring_of_stops
from wayveil.accuracy.numbers import Judged
from wayveil.report.error_table import accuracy_rows, verdict
from wayveil.report.rankings import journey_ranking, move_ranking, ranking, ranking_table
from wayveil.report.svg_histogram import LengthBins, class_labels, column_chart, matrix_svg, ranks, shares
from wayveil.report.svg_map import CLASSES, Canvas, FlowScale, PairFlows, flow_map, network_group
from wayveil.trips.trips import Trips
from wayveil.utility.edges import edge_flows
from wayveil.utility.scorecard import Figure, Scorecard
from wayveil.world.geo import haversine
from wayveil.world.world import World


@given(st.integers(0, 10**15))
def test_a_scale_has_few_round_classes_that_cover_every_flow(largest):
    scale = FlowScale.up_to(largest)
    assert 1 <= len(scale.lower) <= CLASSES
    assert scale.lower[0] == 1
    assert all(str(bound).rstrip("0") in ("1", "2", "5") for bound in scale.lower)
    assert scale.class_of(np.array([0, 1, max(largest, 1)])).tolist() == [-1, 0, len(scale.lower) - 1]
    assert len(set(scale.ranks)) == len(scale.labels) == len(scale.lower)


def test_the_legend_names_what_each_class_holds():
    assert FlowScale.up_to(7).labels == ["1", "2–4", "5+"]
    assert FlowScale.up_to(48_000).labels[-2:] == ["10,000–19,999", "20,000+"]


def test_both_directions_of_a_pair_are_one_line_and_staying_put_is_none():
    world = World.of_symbols(list("abc"))
    pairs = PairFlows.of(edge_flows(Trips.of_lists([[0, 1, 0, 1], [2, 2], [2, 1]], world)))
    assert (pairs.a.tolist(), pairs.b.tolist()) == ([0, 1], [1, 2])
    assert (pairs.there.tolist(), pairs.back.tolist()) == ([2, 0], [1, 1])


def test_the_map_is_true_to_scale_with_north_up():
    city = grid_city(8)
    canvas = Canvas.of(city)
    assert canvas.y[-1] < canvas.y[0]
    assert canvas.x[7] > canvas.x[0]
    metres = haversine(city.lat[0], city.lon[0], city.lat[-1], city.lon[-1])
    units = np.hypot(canvas.x[-1] - canvas.x[0], canvas.y[-1] - canvas.y[0])
    assert units * canvas.metres_per_unit == pytest.approx(metres, rel=0.01)
    bar = re.search(r"v7h([\d.]+)v-7.*?>([\d.]+) (k?m)<", draw(city, [[0, 1]]))
    assert bar is not None
    shown = float(bar[2]) * (1000 if bar[3] == "km" else 1)
    assert float(bar[1]) * canvas.metres_per_unit == pytest.approx(shown, rel=0.01)


def draw(city, lists, labels=()):
    pairs = PairFlows.of(edge_flows(Trips.of_lists(lists, city)))
    return flow_map(
        Canvas.of(city),
        {"flows": pairs},
        FlowScale.up_to(100),
        name="m",
        title="t",
        hover=lambda a, b: f"line {a}-{b}",
        labels=list(labels),
        label_size=20,
    )


def test_busier_lines_are_in_higher_classes_and_say_their_numbers():
    picture = draw(grid_city(4), [[0, 1]] * 100 + [[4, 5]] * 3)
    assert re.search(r'class="f5"><path d="[^"]*"><title>line 0-1<', picture)
    assert re.search(r'class="f0"><path d="[^"]*"><title>line 4-5<', picture)


def test_lines_without_hover_text_are_still_drawn(monkeypatch):
    monkeypatch.setattr("wayveil.report.svg_map.MAX_HOVERS", 1)
    picture = draw(grid_city(4), [[0, 1]] * 100 + [[4, 5]] * 3 + [[5, 6]] * 3)
    assert picture.count("<title>line") == 1
    assert re.search(r'class="f0"><path d="M[^M"]*M[^M"]*"/>', picture)


def test_labels_do_not_cover_each_other_and_long_names_are_cut():
    picture = draw(
        grid_city(4), [[0, 1]], [(5, "Here (some town)"), (5, "There"), (5, "Nowhere"), (10, "x" * 80)]
    )
    assert picture.count("<text") == 3 + 1
    assert ">Here<" in picture
    assert ">There<" in picture
    assert "…" in picture


def test_the_network_underneath_draws_each_served_pair_once():
    city = grid_city(3)
    assert network_group(city, Canvas.of(city)).split('class="net" d="')[1].split('"')[0].count("M") == 12


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=200),
    st.lists(st.integers(0, 50), min_size=1, max_size=200),
)
def test_histogram_bins_lose_no_trip(left, right):
    left, right = np.array(left), np.array(right)
    bins = LengthBins.over(left, right)
    assert bins.count <= 40
    for side in (left, right):
        assert bins.counts(side).sum() == side.sum()


def columns(private, raw=None, ends=None):
    labels = [str(i) for i in range(len(private))]
    return column_chart(labels, private, raw, name="c", title="t", axis="stops", what="trips", ends=ends)


def test_shares_and_their_noise_are_in_the_hover_text():
    private, raw = shares(np.array([0, 1, 3])), shares(np.array([0, 1, 1]))
    assert "1 stops: 25 % of released trips, 50 % of raw trips" in columns(private, raw)
    assert "raw" not in columns(private)
    assert 'class="whisker"' not in columns(private)
    barred = columns(private, ends=(private - 0.1, private + 0.1))
    assert "1 stops: 25 % of released trips (15 % – 35 %)" in barred
    assert barred.count("M", barred.index('class="whisker"')) == 3
    assert columns(np.zeros(1)).startswith("<svg")


def test_columns_reach_as_high_as_their_share():
    tops = re.findall(r'class="bar" d="M[\d.]+ ([\d.]+)V([\d.]+)', columns(np.array([0.2, 0.4, 0.4])))
    heights = [float(floor) - float(top) for floor, top in tops]
    assert heights == pytest.approx([heights[0], 2 * heights[0], 2 * heights[0]], abs=0.2)


def test_matrix_classes_halve_and_signs_have_their_own_colours():
    assert ranks(np.array([1.0, 0.5, 0.49, 0.25, 1 / 33, 0]), 1.0).tolist() == [5, 5, 4, 4, 0, 0]
    assert class_labels(0.64)[0] == (0, "below 2 %")
    assert class_labels(0.64)[-1] == (5, "32 %+")
    plain = matrix_svg(np.array([[0.5, 0], [0.25, 0.25]]), ["a<", "b"], 0.5, name="m", title="t")
    assert "<title>a&lt; to a&lt;: 50 %" in plain
    assert plain.count(" to ") == 3
    signed = matrix_svg(np.array([[-0.5, 0], [0.5, 0]]), ["a", "b"], 0.5, name="m", title="t", signed=True)
    assert 'class="less m5"' in signed
    assert 'class="more m5"' in signed


def test_differences_are_split_by_sign_and_cover_pairs_of_either_side():
    world = World.of_symbols(list("abcd"))
    of = lambda lists: PairFlows.of(edge_flows(Trips.of_lists(lists, world)))  # noqa: E731
    more, less = of([[0, 1]] * 5 + [[1, 2]]).less(of([[1, 0]] * 2 + [[1, 2]] + [[2, 3]] * 4))
    assert (more.a.tolist(), more.b.tolist(), more.total.tolist()) == ([0], [1], [3])
    assert (less.a.tolist(), less.b.tolist(), less.total.tolist()) == ([2], [3], [4])


def test_a_ranking_follows_raw_where_it_may_and_says_the_private_rank():
    rows = ranking(lambda i: "abc"[i], np.array([1, 9, 0]), np.array([10, 5, 2]), 3)
    assert [(row.name, row.private_rank, row.difference) for row in rows] == [
        ("a", 2, "-90.0 %"),
        ("b", 1, "+80.0 %"),
        ("c", None, "-100.0 %"),
    ]
    assert [row.name for row in ranking(lambda i: "abc"[i], np.array([1, 9, 0]), None, 3)] == ["b", "a"]


def test_a_ranking_shows_numbers_as_they_were_judged():
    low, high = np.array([0.0, 4.0, 1.0]), np.array([1.0, 9.0, 3.0])
    judged = Judged(np.array([0.0, 8.0, 2.0]), low, high, None, "")
    rows = ranking(lambda i: "abc"[i], np.array([0, 9, 1]), None, 3, judged)
    assert [(row.name, row.private, row.low, row.high) for row in rows] == [
        ("b", 8, 4.0, 9.0),
        ("c", 2, 1.0, 3.0),
    ]
    assert [row.bar for row in rows] == ["4 – 9", "1 – 3"]
    table = ranking_table(rows, "stop")
    assert table.columns == ["rank", "stop", "private", "low", "high", "ranks"]
    assert "raw" in ranking_table(ranking(str, np.array([1]), np.array([2]), 1), "stop").columns


def test_lines_of_express_runs_are_drawn_along_their_track():
    """An express train that skips a stop was a chord across the map."""
    ring = ring_of_stops(6, seconds=600, skip=2)
    ring.metres = 1_000.0 * ((ring.indices - ring.sources) % 6)
    canvas = Canvas.of(ring)
    assert canvas.between[0, 2].tolist() == [[canvas.x[1]], [canvas.y[1]]]
    assert (0, 1) not in canvas.between
    express = network_group(ring, canvas)
    x, y = canvas.x, canvas.y
    way = [f"{x[at]:.1f} {y[at]:.1f}".replace(".0", "") for at in (0,)]
    steps = [(x[1] - x[0], y[1] - y[0]), (x[2] - x[1], y[2] - y[1])]
    told = "".join(f"l{a:.1f}".removesuffix(".0") + f" {b:.1f}".removesuffix(".0") for a, b in steps)
    assert f"M{way[0]}{told}" in express


def test_journeys_are_pairs_of_ends():
    world = World.of_symbols(list("abc"))
    private = Trips.of_lists([[0, 1, 2]] * 3 + [[1]], world)
    rows = journey_ranking(world.ids, private, Trips.of_lists([[2, 0]], world), 5)
    assert [(row.name, row.raw, row.private) for row in rows] == [("c → a", 1, 0)]
    rows = journey_ranking(world.ids, private, None, 5)
    assert [(row.name, row.private) for row in rows] == [("a → c", 3), ("b → b", 1)]


def test_moves_of_both_sides_are_ranked_together():
    world = World.of_symbols(list("abc"))
    of = lambda lists: PairFlows.of(edge_flows(Trips.of_lists(lists, world)))  # noqa: E731
    rows = move_ranking(world.ids, of([[0, 1]] * 2), of([[1, 2]] * 5 + [[1, 0]]), 5)
    assert [(row.name, row.raw, row.private) for row in rows] == [("b – c", 5, 0), ("a – b", 1, 2)]


def figure(
    key="count_query_error/non-empty", value=0.4, floor=0.9, empty=0.8, better="lower", low=None, high=None
):
    return Figure("Q", key, "error", value, low, high, 0.1, floor, empty, better)


def one_warning(**changes):
    card = Scorecard((figure(**changes),), 1, 10, (10,), 5, 0.01, 0)
    return accuracy_rows(card)["Q"][0].warning


def test_a_figure_that_a_reference_beats_says_so():
    assert one_warning() == ""
    assert one_warning(value=0.85) == "no better than an empty release"
    assert one_warning(value=0.95, empty=1.0) == "no better than public knowledge alone"
    assert one_warning(value=0.3, floor=0.5, empty=float("nan"), better="higher").startswith(
        "no better than public"
    )
    assert one_warning(value=0.0, floor=0.0, empty=0.0) == ""


def test_the_verdict_names_the_primary_figure_and_all_references():
    text = verdict(Scorecard((figure(),), 1, 10, (10,), 5, 0.01, 0))
    assert all(share in text for share in ("40%", "10%", "90%", "80%"))


def test_strips_show_intervals_and_leave_missing_values_out():
    card = Scorecard((figure(low=0.3, high=0.5, empty=float("nan")),), 3, 10, (10,), 5, 0.01, 0)
    row = accuracy_rows(card)["Q"][0]
    assert 'class="spread"' in row.strip
    assert 'class="empty"' not in row.strip
    assert row.empty == "–"
