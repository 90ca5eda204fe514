from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.walks import Walker, WeightedSteps
from wayveil.world.world import World

WORLD = World(list("abc"))
BEGIN, END = 3, 4


def steps(rows):
    """Rows of (context, symbol, weight)."""
    return WeightedSteps(
        np.array([context for context, _, _ in rows]),
        np.array([symbol for _, symbol, _ in rows]),
        np.array([float(weight) for _, _, weight in rows]),
    )


def walked(parts, trips, longest=50, seed=0):
    walker = Walker.of([steps(part) for part in parts], (BEGIN,), END)
    return walker.walk(WORLD, trips, longest, np.random.default_rng(seed)).to_lists()


def test_walks_follow_the_weights():
    chain = [((BEGIN,), 0, 1), ((0,), 1, 3), ((0,), 2, 1), ((1,), END, 1), ((2,), END, 1)]
    trips = Counter(map(tuple, walked([chain], 8000)))
    assert set(trips) == {(0, 1), (0, 2)}
    assert trips[0, 1] == pytest.approx(6000, abs=200)


def test_first_stops_are_spread_exactly():
    chain = [((BEGIN,), 0, 1), ((BEGIN,), 1, 3), ((0,), END, 1), ((1,), END, 1)]
    assert Counter(map(tuple, walked([chain], 400))) == {(0,): 100, (1,): 300}


def test_walks_share_out_their_steps_evenly():
    ring = [((BEGIN,), 0, 1)]
    ring += [((place,), (place + by) % 3, weight) for place in range(3) for by, weight in ((1, 3), (2, 2))]
    ring += [((place,), END, 1) for place in range(3)]
    trips = walked([ring], 6000, longest=100)
    moves = Counter((a, b) for trip in trips for a, b in pairwise(trip))
    pairs = Counter((a, b, c) for trip in trips for a, b, c in zip(trip, trip[1:], trip[2:], strict=False))
    for place in range(3):
        left = sum(trip.count(place) for trip in trips)
        assert moves[place, (place + 1) % 3] == pytest.approx(
            left / 2, abs=30
        )  # drawn alone: a deviation of 60
        # What comes after a move does not depend on where it came from.
        for by in (1, 2):
            came = moves[place, (place + by) % 3]
            assert pairs[place, (place + by) % 3, (place + by + 1) % 3] == pytest.approx(came / 2, abs=45)


def test_walks_end_after_as_many_stops_as_they_are_told_and_where_the_weights_say():
    chain = [((BEGIN,), 0, 1), ((0,), 1, 2), ((0,), END, 1), ((1,), 0, 3), ((1,), END, 1), ((1,), 2, 2)]
    chain += [((2,), 0, 1)]  # nothing ends in c
    hazard = np.array([0.0, 0.0, 0.25, 0.0, np.nan])
    walker = Walker.of([steps(chain)], (BEGIN,), END)
    trips = walker.walk(WORLD, 4000, 100, np.random.default_rng(0), hazard)
    lengths = np.bincount(trips.lengths, minlength=5)
    assert lengths[1] == lengths[3] == 0
    assert lengths[2] == pytest.approx(1000, abs=3)
    assert lengths[4] > 0
    assert 2 not in trips.destinations()


def test_a_walk_that_may_not_end_but_cannot_go_on_ends():
    walker = Walker.of([steps([((BEGIN,), 0, 1), ((0,), END, 1)])], (BEGIN,), END)
    assert walker.walk(WORLD, 3, 9, np.random.default_rng(0), np.zeros(5)).to_lists() == [[0]] * 3


def test_a_calibrated_walker_comes_as_often_as_wished_with_lengths_and_without():
    ring = [((BEGIN,), 0, 1), ((BEGIN,), 1, 1)]
    ring += [((place,), (place + by) % 3, weight) for place in range(3) for by, weight in ((1, 3), (2, 2))]
    ring += [((place,), END, 1) for place in range(3)]
    walker = Walker.of([steps(ring)], (BEGIN,), END)
    hazard = np.array([0, 0, 0, 0.5, 0, 1.0])  # three stops or five, four on average
    wanted = np.array([6000, 5000, 5000, np.nan, np.nan])
    trips = walker.calibrated(wanted, 4000, 9, hazard).walk(WORLD, 4000, 9, np.random.default_rng(1), hazard)
    assert np.bincount(trips.location) == pytest.approx(wanted[:3], rel=0.01)
    alone = walker.calibrated(wanted, 4000, 9).walk(WORLD, 4000, 9, np.random.default_rng(1))
    assert np.bincount(alone.location) == pytest.approx(wanted[:3], rel=0.03)


def test_the_longest_known_context_decides():
    ones = [((BEGIN,), 0, 1), ((BEGIN,), 2, 1), ((0,), 1, 1), ((2,), 1, 1), ((1,), 2, 1), ((1,), END, 1)]
    pairs = [((0, 1), END, 1)]  # after a b always the end; after c b still c or the end
    trips = walked([ones, pairs], 2000, longest=30)
    for trip in trips:
        for place in range(len(trip) - 1):
            assert (trip[place], trip[place + 1]) != (0, 1) or place + 2 == len(trip)
    assert any(trip[:3] == [2, 1, 2] for trip in trips)


def test_a_walk_ends_where_nothing_is_known_and_at_its_longest():
    assert walked([[((BEGIN,), 0, 1)]], 2) == [[0], [0]]
    assert walked([[((BEGIN,), 0, 1), ((0,), 0, 1)]], 1, longest=7) == [[0] * 7]


def test_steps_without_weight_are_never_taken():
    chain = [((BEGIN,), 0, 1), ((BEGIN,), 1, 0), ((0,), END, 1), ((0,), 2, 0)]
    assert walked([chain], 50) == [[0]] * 50


def test_a_model_without_a_beginning_makes_no_trips():
    assert walked([[((0,), 1, 1)]], 10) == []
    assert walked([[((BEGIN,), 0, 1)]], 0) == []


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.floats(0.5, 200))
def test_a_projected_table_is_non_negative_and_adds_up(values, total):
    projected = onto_total(np.array(values), total)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(total)
    assert np.all(np.diff(projected[np.argsort(values, kind="stable")]) >= 0)


def test_the_projection_takes_noise_from_empty_cells():
    rng = np.random.default_rng(0)
    noisy = rng.laplace(0, 10, 10_000)
    noisy[:10] += 1000
    assert onto_total(noisy, 10_000)[10:].sum() < 0.1 * np.maximum(noisy[10:], 0).sum()


def test_the_projection_of_nothing_is_nothing():
    assert onto_total(np.zeros(0), 5).size == 0
    assert onto_total(np.array([3, 4]), 0).tolist() == [0, 0]
