"""Weights of a unit never add up to more than its bound, and numbers that leave the gate are numbers of all trips."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wayveil as wv
from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.mechanisms.all_rows import scale_to_all_rows
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.units import Rider, RiderDay
from wayveil.privacy.weights import PARTS, Size, size_steps, split_weight, weigh
from wayveil.trips.trips import Trips
from wayveil.world.world import World

WORLD = World.of_symbols(["a", "b", "c"])


def boardings(per_rider, seed=0):
    rng = np.random.default_rng(seed)
    rider = np.repeat(np.arange(len(per_rider)), per_rider)
    trips = Trips.of_lists([[int(place)] for place in rng.integers(0, 3, len(rider))], WORLD, rider=rider)
    return replace(trips, time=rng.integers(0, 86_400, len(rider)))


@given(st.lists(st.integers(-1, 4), max_size=60), st.integers(1, 9))
def test_weights_of_a_unit_add_up_to_no_more_than_its_bound(groups, most):
    groups = np.array(groups, np.int64)
    weights = weigh(groups, most)
    assert np.all((weights >= 0) & (weights <= PARTS))
    for unit in range(5):
        own, trips = int(weights[groups == unit].sum()), int(np.sum(groups == unit))
        assert own <= most * PARTS
        # Rounding takes less than a part of each trip; a unit below its bound loses nothing.
        assert own > min(trips, most) * PARTS - max(trips, 1)
    assert np.all(weights[groups == -1] == PARTS)


@given(st.integers(1, 5_000_000), st.integers(1, 9), st.integers(10, 64))
def test_weights_at_steps_add_up_to_the_weights_and_tell_how_many_trips_there_are(trips, most, most_rows):
    weight, steps = PARTS * most // max(trips, most), size_steps(most, most_rows)
    assert (steps[0], steps[-1]) == (most, most_rows)
    split = split_weight(weight, steps)
    assert min(split) >= 0
    assert sum(split) == weight
    assert np.count_nonzero(split) <= 2
    rows = trips * sum(each * step for each, step in zip(split, steps, strict=True)) / most / PARTS
    assert rows == pytest.approx(min(trips, most_rows), abs=trips * most_rows / PARTS)


@pytest.mark.parametrize("most", [1, 2, 4])
def test_numbers_that_leave_the_gate_are_numbers_of_all_trips(most):
    per_rider = 1 + np.random.default_rng(1).integers(0, 20, 3_000)
    trips = boardings(per_rider)
    gate = Gate(Rider(max_trips=most, bounding="weights"), Budget(100), SeededBits(1))
    counter = LocalCounter(gate.bound(trips))
    scale_to_all_rows(counter, gate)
    assert gate.size.rows == pytest.approx(len(trips), rel=0.01)
    assert gate.size.weights == pytest.approx(np.minimum(per_rider, most).sum(), rel=0.01)
    price = gate.budget.remaining
    answer = gate.histogram("all", counter.trips(), Contribution(per_trip=1), price)
    assert answer.counts[0] == pytest.approx(len(trips), rel=0.01)
    assert answer.question.scale == most * gate.factor / price
    assert gate.budget.spent == 100


def test_rows_beyond_the_public_most_are_not_in_the_total():
    gate = Gate(Rider(max_trips=2, most_rows=32, bounding="weights"), Budget(1_000), SeededBits(1))
    scale_to_all_rows(LocalCounter(gate.bound(boardings([200] * 500))), gate)
    assert gate.size.rows == pytest.approx(32 * 500, rel=0.02)


def test_counts_that_do_not_say_their_parts_are_refused_before_they_cost_anything():
    gate = Gate(Rider(max_trips=2, bounding="weights"), Budget(1), SeededBits(1))
    with pytest.raises(ParameterError, match="parts"):
        gate.histogram("x", SparseCounts.dense(np.ones(3, int)), Contribution(per_trip=1), Fraction(1))
    assert gate.budget.spent == 0


def test_the_verdict_says_what_riders_with_many_trips_do_to_a_place_of_their_own():
    size = Size((1_000, 0, 500, 20), (2, 4, 16, 64), 10.0)
    assert (size.weights, size.rows) == pytest.approx((1_520, 1_000 + 4_000 + 640), rel=0.005)
    low, high, shown = size.heaviest()
    assert (low, high) == (5, 16)
    assert shown == pytest.approx(float(size.factor) * 2 / 8)
    assert Size((1_000, 3, 0, 1), (2, 4, 16, 64), 10.0).heaviest() is None


def test_the_number_of_rows_and_how_far_it_is_off_follow_from_one_histogram():
    rng, true = np.random.default_rng(5), Size((4_000.0, 2_000.0, 1_000.0), (2, 8, 32), 30.0)
    tries = [replace(true, noisy=tuple(np.add(true.noisy, rng.normal(0, 30, 3)))) for _ in range(4_000)]
    assert np.std([each.rows for each in tries]) == pytest.approx(true.rows_variance**0.5, rel=0.05)
    factor = np.array([float(each.factor) for each in tries]) / float(true.factor)
    assert np.std(factor) == pytest.approx(true.relative_error, rel=0.05)


@pytest.mark.parametrize(
    "there", [(4_000.0, 1_000.0, 0.0), (4_000.0, 2_000.0, 0.0), (4_000.0, 2_000.0, 20.0)]
)
def test_what_is_below_nothing_at_a_step_is_noise_and_cutting_it_does_not_lift_the_total(there):
    rng, steps, deviation = np.random.default_rng(6), (2, 8, 32), 30.0
    true = float(np.array(there) @ steps) / 2
    noise = rng.laplace(0, deviation / np.sqrt(2), (4_000, 3))
    tries = [Size(tuple(each), steps, deviation) for each in np.array(there) + noise]
    rows, cut = (
        np.array([each.rows for each in tries]),
        np.maximum(np.array(there) + noise, 0) @ np.array(steps) / 2,
    )
    said = tries[0].rows_variance ** 0.5
    assert abs(rows.mean() - true) < 0.12 * said
    assert there[2] > 0 or cut.mean() - true > 0.3 * said
    assert np.sqrt(np.mean((rows - true) ** 2)) < said
    assert np.mean(np.abs(rows - true) < 1.96 * said) > 0.94


def test_an_expected_size_has_the_numbers_that_were_expected():
    size = Size.expect(7_000, 3_500, (2, 4, 8, 16, 32), 100.0)
    assert (size.rows, size.weights) == pytest.approx((7_000, 3_500), rel=1e-6)


def test_a_weighed_release_of_riders_needs_no_bound_and_speaks_of_all_rows():
    trips = boardings(1 + np.random.default_rng(2).integers(0, 12, 2_000))
    made = wv.release(trips, TapCounts(max_visits=1), epsilon=4, bounding="weights", ledger=None, seed=1)
    sheet = made.datasheet
    assert sheet["guarantee"]["bounds"] == {
        "max_trips": 2,
        "without_id": "refuse",
        "bounding": "weights",
        "most_rows": 32,
    }
    assert sum(Fraction(spend["price"]) for spend in sheet["spends"]) == 4
    assert made.released_trips == pytest.approx(len(trips), rel=0.1)
    low, high = made.interval("total", np.array([0]), np.array([float(made.released_trips)])) or (0, 0)
    assert not low or low[0] < len(trips) < high[0]


def test_trips_are_drawn_unless_weights_are_asked_for():
    trips = boardings([3] * 500)
    drawn = wv.release(trips, TapCounts(max_visits=1), epsilon=4, max_trips=1, ledger=None)
    assert drawn.datasheet["guarantee"]["bounds"] == {"max_trips": 1, "without_id": "refuse"}
    assert "size" not in drawn.datasheet
    assert drawn.released_trips < 700


@pytest.mark.parametrize(
    ("mechanism", "said", "words"),
    [
        ("mobitrie-lt", {"bounding": "weights"}, "mobitrie-lt cannot count trips by weights"),
        ("mobitrie-lt", {"unit": Rider(bounding="weights")}, "mobitrie-lt cannot count trips by weights"),
        ("markov", {"unit": "trip", "bounding": "weights"}, "bounding has no meaning for the unit 'trip'"),
        ("markov", {"max_trips": 2, "most_rows": 8}, "most_rows has no meaning where trips are drawn"),
    ],
)
def test_weights_are_refused_where_nothing_can_weigh(mechanism, said, words):
    with pytest.raises(ParameterError, match=words):
        wv.release(boardings([3] * 5), mechanism, epsilon=1, ledger=None, **said)


def test_a_day_of_a_rider_weighs_by_itself():
    trips = boardings([6])
    trips = replace(trips, time=np.array([0, 0, 0, 86_400, 86_400, 2 * 86_400]))
    weighed = RiderDay(max_trips=1, bounding="weights").bound(trips, SeededBits(1))
    assert weighed.weight.tolist() == [PARTS, PARTS // 2, PARTS // 2, *[PARTS // 3] * 3]
