import hashlib
from collections import Counter
from fractions import Fraction
from math import ceil, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_noise import measured, path_noise, random_worlds
from slow_timed_trees import ends, everything, slow_grow, slow_settle

from ring_networks import ring_of_stops
from wayveil.counting.local import LocalCounter
from wayveil.errors import InputError, ParameterError
from wayveil.mechanisms.safepath import SafePath, published_prices, sublevel_prices
from wayveil.mechanisms.time_axis import time_bins
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip
from wayveil.run import make_release as release
from wayveil.simulate.week import simulate_week
from wayveil.trips.trips import Trips
from wayveil.world.world import World

STOPS, BINS, AXIS, EIGHT_HOURS = 4, 3, "480", 8 * 3600
WORLD = World(["a", "b", "c", "d"])


def timed(lists, world=WORLD):
    time = np.array([b * EIGHT_HOURS for trip in lists for _, b in trip], np.int64)
    return Trips.of_lists([[s for s, _ in trip] for trip in lists], world, time=time)


visit = st.tuples(st.integers(0, STOPS - 1), st.integers(0, BINS - 1))


def groups_of(leaves, height, fan_out):
    """The general nodes above each leaf, coarse to fine: leaves in order, cut into even runs, until each is alone."""
    levels = [level for level in range(1, height + 1) if fan_out**level < leaves]
    return [[leaf * fan_out**level // leaves for level in levels] for leaf in range(leaves)]


def slow_levels(height, places, times):
    """Per level of the tree: the symbols that may follow a path."""
    width = len(places[0]) + 1 + len(times[0]) + 1
    full = [(*places[stop], stop, *times[b], b) for stop in range(STOPS) for b in range(BINS)]

    def children_of(path):
        done = len(path) % width
        visit, before = path[len(path) - done :], path[: len(path) - done]
        earliest = before[-1] if before else 0
        in_time = done > len(places[0])  # places may be chosen before it is known when
        return sorted({f[done] for f in full if f[:done] == visit and (f[-1] >= earliest or not in_time)})

    return [children_of] * (height * width), width


@pytest.mark.reference
@random_worlds(500)
@given(
    st.lists(st.lists(visit, max_size=3), max_size=12),
    st.integers(1, 2),
    st.integers(0, 2),
    st.integers(0, 1),
    st.integers(0, 10**6),
)
def test_the_tree_is_that_of_a_slow_object_tree_with_the_same_noise(lists, height, tall, tall_time, salt):
    noise = path_noise(salt)
    mechanism = SafePath(
        height=height,
        time=AXIS,
        location_groups="balanced",
        location_height=tall,
        location_fan_out=2,
        time_height=tall_time,
        time_fan_out=2,
        leaf_weight=1.0,
        false_children=0.5,
        consistency="weighted",
        size_share=0,
    )
    tree, by_path, gate = measured(mechanism, timed(lists), 2, noise)
    places, times = groups_of(STOPS, tall, 2), groups_of(BINS, tall_time, 2)
    levels, width = slow_levels(height, places, times)

    def threshold(depth, nodes, candidates):
        steps = len(places[0]) + 1 if depth % width <= len(places[0]) else len(times[0]) + 1
        scale = (
            height * 2 * steps / 2
        )  # epsilon 2: per visit 2 / height, per sublevel half of it, in equal parts
        return max(1, ceil(scale * log(max(candidates / max(nodes, 1), 1.0))))

    sequences = [tuple(x for s, b in trip for x in (*places[s], s, *times[b], b)) for trip in lists]
    slow, _ = slow_grow(sequences, levels, noise, threshold)
    assert tree.width == width
    assert by_path([level.count for level in tree.levels]) == everything(slow, lambda node: node.noisy)
    slow_settle(slow, width)
    assert by_path(tree.consistent()) == pytest.approx(everything(slow, lambda node: node.settled))
    assert by_path(tree.ending()) == pytest.approx(ends(slow, width), abs=1e-9)
    assert gate.budget.spent == 2


@settings(max_examples=40)
@given(
    st.integers(1, 4),
    st.sampled_from([Fraction(1, 7), Fraction(1), Fraction(5, 2)]),
    st.integers(0, 9),
    st.integers(0, 4),
    st.floats(0.1, 10),
)
def test_the_shares_are_positive_and_add_up_to_epsilon_exactly(height, epsilon, tall, tall_time, leaf_weight):
    world = World([f"{i:02}" for i in range(68)])
    mechanism = SafePath(
        height=height,
        location_height=tall,
        location_fan_out=2,
        time_height=tall_time,
        leaf_weight=leaf_weight,
    )
    gate = Gate(Rider(max_trips=2), Budget(epsilon), SeededBits(0), memory=1 << 50)
    trips = Trips.of_lists([[0, 1]], world, time=np.array([0, 9]), rider=np.array([1]))
    mechanism.measure(LocalCounter(trips), gate)
    assert gate.budget.spent == epsilon
    # Levels that would split nothing cost nothing: 2 ** 6 < 68, and 4 ** 2 < 24.
    # Two more buy the size.
    assert len(gate.budget.spends) == 2 + height * (min(tall, 6) + 1 + min(tall_time, 2) + 1)
    assert all(spend.price > 0 for spend in gate.budget.spends)


def test_a_tall_taxonomy_keeps_a_budget_for_the_leaves():
    # With the published shares, 68 stations under a taxonomy of height 9 leave the leaves less than nothing.
    prices = sublevel_prices(Fraction(1, 2), 10, 2 ** (1 / 3))
    assert sum(prices) == Fraction(1, 2)
    assert prices == sorted(prices)
    assert prices[-1] > Fraction(1, 10)


def test_exact_stops_and_times_come_out_and_only_they():
    raw = simulate_week(ring_of_stops(12, seconds=60), 40_000, seed=3)
    gate = Gate(Trip(), Budget(4), SeededBits(1))
    tree = SafePath(height=3, time="hour-of-week", time_height=1).measure(LocalCounter(raw), gate)
    private = tree.generate(seed=0)
    # Trips below the thresholds are missing, and nobody else's count is raised for them.
    assert 0.8 * len(raw) < len(private) < 1.02 * len(raw)
    assert private.lengths.max() <= 3
    inner = np.setdiff1d(np.arange(private.visits), private.offsets[:-1])
    assert (private.time[inner] >= private.time[inner - 1]).all()
    share = np.bincount(private.origins(), minlength=12) / len(private)
    np.testing.assert_allclose(share, np.bincount(raw.origins(), minlength=12) / len(raw), atol=0.04)
    kinds = set(tree.table()["kind"])
    assert kinds == {"location group", "location", "time group", "time"}


@pytest.mark.parametrize("how", ["geography", "routes", "balanced"])
def test_places_are_grouped_as_asked(how):
    taxonomy = SafePath(location_groups=how).places(ring_of_stops(16, routes=3))
    assert taxonomy.height == 1
    assert len(np.unique(taxonomy.groups[0])) == (3 if how == "routes" else 8)


def test_places_can_be_grouped_by_a_file(tmp_path):
    path = tmp_path / "zones.csv"
    path.write_text("stop,zone\na,x\nb,x\nc,y\nd,y\n")
    mechanism = SafePath(location_groups=str(path))
    assert mechanism.places(WORLD).groups[0].tolist() == [0, 0, 1, 1]
    made = release(timed([[(0, 0)]] * 50), mechanism, epsilon=1, unit=Trip(), bits=SeededBits(1))
    listed = made.datasheet["public_inputs"][-1]
    assert (listed["name"], listed["title"]) == ("taxonomy of places", "zones.csv")
    assert listed["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_times_can_be_grouped_by_a_file_and_bins_be_cut_anywhere(tmp_path):
    bins = time_bins("07:00,09:30,16:00")
    assert bins.labels == ["00:00-07:00", "07:00-09:30", "09:30-16:00", "16:00-24:00"]
    path = tmp_path / "parts.csv"
    path.write_text("bin,part\n" + "\n".join(f"{label},{i // 2}" for i, label in enumerate(bins.labels)))
    mechanism = SafePath(time="07:00,09:30,16:00", time_groups=str(path))
    assert mechanism.times(bins).groups[0].tolist() == [0, 0, 1, 1]
    for wrong in ("07:00,06:00", "25:00", "7-9"):
        with pytest.raises(ParameterError):
            SafePath(time=wrong)


def test_groups_that_cannot_be_had_are_refused():
    with pytest.raises(ParameterError, match="no routes"):
        SafePath(location_groups="routes").places(WORLD)
    for nowhere in (
        {"location_groups": "nowhere.csv"},
        {"location_groups": "nowhere.csv", "location_height": 0},
    ):
        with pytest.raises(InputError, match="csv"):
            SafePath(**nowhere).places(WORLD)
    with pytest.raises(InputError, match="csv"):
        SafePath(time_groups="nowhere.csv").times(time_bins("480"))


def test_published_shares_are_the_papers_where_they_are_positive():
    assert published_prices(Fraction(1), 3, 12) == [Fraction(2, 12), Fraction(4, 12), Fraction(6, 12)]
    assert published_prices(Fraction(1), 10, 68) is None  # less than nothing is left for 68 stations
    assert SafePath.published().smoothing is False
    gate = Gate(Trip(), Budget(2), SeededBits(0))
    SafePath.published(height=1, location_height=1, time_height=0, time=AXIS).measure(
        LocalCounter(timed([[(0, 0)]] * 50)), gate
    )
    assert [spend.price for spend in gate.budget.spends] == [Fraction(1, 2), Fraction(1, 2), Fraction(1)]


def test_without_a_network_the_order_of_ids_groups_places():
    assert SafePath(location_groups="geography", location_fan_out=2).places(WORLD).groups[0].tolist() == [
        0,
        0,
        1,
        1,
    ]


def test_published_thresholds_are_those_of_the_paper_unless_noise_would_explode():
    mechanism = SafePath.published(height=2, location_height=1, location_fan_out=2, time=AXIS, time_fan_out=2)
    gate = Gate(Trip(), Budget(1), SeededBits(0))
    tree = mechanism.measure(LocalCounter(timed([[(0, 0), (1, 1)]] * 500)), gate)
    assert tree.levels[0].threshold == ceil(4 * sqrt(2) * 2)
    assert tree.levels[1].threshold == ceil(2 * sqrt(2) * 2)


def test_on_a_network_only_its_moves_come_out_and_every_trip_that_makes_them():
    ring = ring_of_stops(9, skip=2)
    hours = np.array([8, 9, 9, 10] * 300) * 3600
    trips = Trips.of_lists([[0, 1, 3, 5]] * 200 + [[4, 6, 7, 8]] * 100, ring, time=hours)
    mechanism = SafePath(height=4, successors="network", location_height=1, location_fan_out=3, time_height=1)
    gate = Gate(Trip(), Budget(400), SeededBits(1))
    private = mechanism.measure(LocalCounter(trips), gate).generate(seed=1)
    assert Counter(map(tuple, private.to_lists())).most_common(2)[0][0] == (0, 1, 3, 5)
    inside = np.ones(private.visits, bool)
    inside[private.offsets[1:-1]] = False
    at = np.flatnonzero(inside[1:])
    assert ring.successors.contains(private.location[at], private.location[at + 1]).all()
    assert len(private) == pytest.approx(300, abs=5)
    with pytest.raises(ParameterError, match="plain list"):
        SafePath(successors="network").measure(LocalCounter(timed([[(0, 0)]])), gate)


def test_prices_that_do_not_add_up_are_refused(monkeypatch):
    monkeypatch.setattr("wayveil.mechanisms.safepath.sublevel_prices", lambda share, n, w: [share] * n)
    with pytest.raises(ParameterError, match="add up"):
        SafePath(location_fan_out=2).measure(
            LocalCounter(timed([[(0, 0)]])), Gate(Trip(), Budget(1), SeededBits(0))
        )


def test_the_preset_has_the_papers_week_and_binary_taxonomies():
    preset = SafePath.published()
    assert preset.times(time_bins(preset.time)).leaves == 168
    assert preset.times(time_bins(preset.time)).height == preset.location_height == 6
    assert preset.time_fan_out == preset.location_fan_out == 2


def test_hours_of_a_week_are_found_by_quarters_of_days():
    by_quarter = SafePath(time="hour-of-week").times(time_bins("hour-of-week")).groups[0]
    assert by_quarter.tolist() == [hour // 6 for hour in range(168)]
    assert SafePath().times(time_bins("hour-of-day")).height == 0
