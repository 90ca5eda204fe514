"""Walks with a memory, and the lengths they are drawn with."""

from itertools import pairwise

import numpy as np
import pytest

from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.lengths import LengthLaw, read_lengths
from wayveil.mechanisms.weave.moves import MoveRows
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.walks import RepeatFactors, WalkPlan
from wayveil.world.repeats import BACK, NEW, REMEMBERED, STAY, VISIT_KINDS, classify_visits, count_contexts
from wayveil.world.walk_blocks import length_edges

SIZE = 12


def anywhere() -> MoveRows:
    """From every place to every place alike."""
    share = np.full(SIZE, 1 / SIZE)
    none = np.zeros(SIZE + 1, np.int64)
    return MoveRows(none, np.zeros(0, np.int64), np.zeros(0), np.ones(SIZE), share, np.ones(SIZE))


def plan(count: int, length: int, returns: int = -1) -> WalkPlan:
    rng = np.random.default_rng(1)
    return WalkPlan(rng.integers(0, SIZE, count), np.full(count, length), np.full(count, returns))


def wanted(kind: int, share: float) -> CellEstimates:
    """In every context this kind has this share; the rest is new."""
    table = np.zeros((count_contexts(2), VISIT_KINDS))
    table[:, kind], table[:, NEW] = share, 1 - share
    return CellEstimates(1_000 * table.ravel(), 1e-6)


@pytest.mark.parametrize("kind", [BACK, STAY])
def test_walks_repeat_visits_as_often_as_they_were_told_to(kind):
    rng, rows, few = np.random.default_rng(2), anywhere(), plan(20_000, 5)
    memory = RepeatFactors.learn(wanted(kind, 0.8), 2, 0, rows, few, rng)
    location, offsets, _ = memory.walk(rows, few, rng)
    found = classify_visits(location, offsets, SIZE).reshape(-1, 5)[:, 2:]
    assert abs(np.mean(found == kind) - 0.8) < 0.03


def test_a_walk_that_returns_ends_where_it_began_and_others_do_not():
    rng, rows = np.random.default_rng(3), anywhere()
    memory = RepeatFactors(0, 0, np.ones((1, 1, VISIT_KINDS)))
    for returns in (0, 1):
        location, _, _ = memory.walk(rows, plan(2_000, 4, returns), rng)
        walks = location.reshape(-1, 4)
        assert np.all((walks[:, 0] == walks[:, 3]) == bool(returns))


def test_walks_rather_end_where_walks_end():
    end = np.where(np.arange(SIZE) < 3, 0.9, 0.01)
    memory = RepeatFactors(0, 0, np.ones((1, 1, VISIT_KINDS)))
    location, _, _ = memory.walk(anywhere()._replace(end=end), plan(2_000, 3), np.random.default_rng(4))
    assert np.mean(location.reshape(-1, 3)[:, 2] < 3) > 0.8


def test_walks_follow_the_rows():
    following = np.roll(np.arange(SIZE), -1)
    rows = MoveRows(
        np.arange(SIZE + 1), following, np.ones(SIZE), np.zeros(SIZE), np.full(SIZE, 1 / SIZE), np.ones(SIZE)
    )
    memory = RepeatFactors(0, 0, np.ones((1, 1, VISIT_KINDS)))
    location, _, mass = memory.walk(rows, plan(500, 6), np.random.default_rng(5))
    assert all((two - one) % SIZE == 1 for walk in location.reshape(-1, 6) for one, two in pairwise(walk))
    assert abs(mass[0, 0, NEW] - 500) < 1e-3
    assert REMEMBERED == VISIT_KINDS + 1


def lengths_of(counts: dict[int, float], deviation: float, seed=1) -> tuple[LengthLaw, np.ndarray]:
    edges = length_edges(17)
    true = np.zeros((2, len(edges)))
    for length, count in counts.items():
        true[min(length - 1, 1), np.searchsorted(edges, length, side="right") - 1] = count
    noise = np.random.default_rng(seed).laplace(0, deviation / 2**0.5, true.shape)
    noisy = CellEstimates((true + noise).ravel(), deviation)
    return LengthLaw(
        edges, read_lengths({"length": noisy}, edges, true.sum(), Generation(), on_list=True)["length"].value
    ), true


@pytest.mark.parametrize("seed", range(5))
def test_noise_does_not_make_long_trips(seed):
    lengths, _ = lengths_of({1: 5_000.0, 2: 3_000.0, 3: 1_000.0, 5: 900.0}, 60.0, seed)
    _, drawn = lengths.draw(50_000, np.random.default_rng(1))
    assert abs(drawn.mean() - 1.76) < 0.3
    assert np.mean(drawn > 20) < 0.01


def test_lengths_are_drawn_as_measured_and_their_marks_weigh_what_they_should():
    lengths, true = lengths_of({1: 5_000.0, 2: 3_000.0, 4: 1_000.0, 11: 900.0}, 5.0)
    far, drawn = lengths.draw(100_000, np.random.default_rng(1))
    assert abs(np.mean(drawn == 11) - 900 / true.sum()) < 0.01
    assert np.all(far[drawn == 1] == 0)
    assert abs(lengths.weigh_ends() - (5_000 / 2 + 3_000 / 3 + 1_000 / 5 + 900 / 12)) < 60
    given = lengths.draw_given(np.zeros(100, np.int64), np.ones(100, np.int64), np.random.default_rng(1))
    assert np.mean(given == 1) > 0.95


def test_visits_are_new_as_often_as_they_should_be_also_when_most_places_are_known():
    rng, rows, few = np.random.default_rng(6), anywhere(), plan(20_000, 10)
    table = np.zeros((count_contexts(2), VISIT_KINDS))
    table[:, STAY] = table[:, NEW] = 0.5
    memory = RepeatFactors.learn(CellEstimates(1_000 * table.ravel(), 1e-6), 2, 0, rows, few, rng)
    location, offsets, _ = memory.walk(rows, few, rng)
    late = classify_visits(location, offsets, SIZE).reshape(-1, 10)[:, 6:]
    assert abs(np.mean(late == NEW) - 0.5) < 0.12
