from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.walks import Steps, Walker
from wayveil.world.world import World

WORLD = World(list("abc"))
BEGIN, END = 3, 4


def steps(rows):
    """Rows of (context, symbol, weight)."""
    return Steps(
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
