"""The gate: what passes it has the law of noise on every cell, is booked first, and can be recorded and replayed."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_noise import ALPHA, geometric_mass, goodness, laplace_mass

from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy import gate as gate_module
from wayveil.privacy.bits import SeededBits, secure_bits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts, SparseCounts
from wayveil.privacy.repeat import Stopping
from wayveil.privacy.units import Rider, Trip

F = Fraction
ONE = Contribution(per_trip=1)


def a_gate(total=1, unit=None, seed=1, **options):
    return Gate(unit or Trip(), Budget(total, **options), SeededBits(seed))


def sparse(universe, cells):
    keys = np.array(sorted(cells), np.int64)
    return SparseCounts(universe, keys, np.array([cells[k] for k in sorted(cells)], np.int64))


# The law of a thresholded histogram: the same as noise on every cell, of which those below are left out.

TINY = sparse(3, {1: 2})
THRESHOLD = 1
SCALE = F(3, 2)


def outcome(answer):
    """For each cell: 0 if left out, else which of the values 1, 2, 3+ above the threshold."""
    cells = [0, 0, 0]
    for key, count in zip(answer.keys.tolist(), answer.counts.tolist(), strict=True):
        cells[key] = min(count - THRESHOLD + 1, 3)
    return tuple(cells)


def cell_law(exact, scale):
    values = np.arange(-200, 200)
    mass = laplace_mass(values - exact, float(scale))
    classes = np.clip(values - THRESHOLD + 1, 0, 3)
    return np.bincount(classes, mass)


def expected_outcomes(scale, runs):
    laws = [cell_law(exact, scale) for exact in (0, 2, 0)]
    return np.array([laws[0][a] * laws[1][b] * laws[2][c] for a, b, c in product(range(4), repeat=3)]) * runs


def tiny_outcomes(answers):
    counts = Counter(outcome(answer) for answer in answers)
    return np.array([counts[cells] for cells in product(range(4), repeat=3)])


@cache
def ask_tiny(threshold, runs=4000):
    gate = a_gate(runs)
    return [gate.histogram("x", TINY, ONE, 1 / SCALE, threshold=threshold) for _ in range(runs)]


def test_a_sparse_histogram_has_the_joint_law_of_noise_on_every_cell():
    counts = tiny_outcomes(ask_tiny(THRESHOLD))
    assert goodness(counts, expected_outcomes(SCALE, counts.sum())) > ALPHA


def test_a_dense_histogram_cut_at_the_threshold_has_the_same_law():
    def cut(answer):
        over = answer.counts >= THRESHOLD
        return NoisyCounts(answer.question, answer.keys[over], answer.counts[over])

    counts = tiny_outcomes(cut(answer) for answer in ask_tiny(None))
    assert goodness(counts, expected_outcomes(SCALE, counts.sum())) > ALPHA


def test_the_law_test_would_see_less_noise_or_skipped_empty_cells():
    counts = tiny_outcomes(ask_tiny(THRESHOLD))
    assert goodness(counts, expected_outcomes(SCALE * F(4, 5), counts.sum())) < ALPHA
    skipped = [
        NoisyCounts(a.question, a.keys[a.keys == 1], a.counts[a.keys == 1]) for a in ask_tiny(THRESHOLD)
    ]
    assert goodness(tiny_outcomes(skipped), expected_outcomes(SCALE, len(skipped))) < ALPHA


def test_survivors_of_a_large_histogram_lie_anywhere_and_have_geometric_counts():
    universe, scale, threshold = 200_000, F(4), 12
    observed = np.unique(np.random.default_rng(1).integers(0, universe, 20_000))
    exact = SparseCounts(universe, observed, np.full(len(observed), 3))
    answers = [a_gate(1, seed=s).histogram("x", exact, ONE, 1 / scale, threshold=threshold) for s in range(5)]
    keys, counts = (np.concatenate([getattr(a, part) for a in answers]) for part in ("keys", "counts"))
    empty = ~np.isin(keys, observed)
    chance = laplace_mass(np.arange(threshold, 400), 4.0).sum()
    holes = np.setdiff1d(np.arange(universe), observed)
    place = np.bincount(np.searchsorted(holes, keys[empty]) * 40 // len(holes), minlength=40)
    assert goodness(place, np.full(40, empty.sum() / 40)) > ALPHA
    total = 5 * len(holes)
    assert (
        goodness(np.array([empty.sum(), total - empty.sum()]), np.array([chance, 1 - chance]) * total) > ALPHA
    )
    above = np.minimum(counts[empty] - threshold, 20)
    mass = geometric_mass(np.arange(20), 4.0)
    expected = np.append(mass, 1 - mass.sum()) * empty.sum()
    assert goodness(np.bincount(above, minlength=21), expected) > ALPHA


@settings(max_examples=100)
@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_the_empty_cells_are_exactly_those_without_a_key(case):
    universe, observed = case
    exact = sparse(universe, dict.fromkeys(observed, 10**6))
    with pytest.MonkeyPatch.context() as patch:
        # Every empty cell survives, and carries its own number.
        patch.setattr(gate_module, "survivors", lambda empty, *_: (np.arange(empty), np.arange(empty) + 1))
        answer = a_gate().histogram("x", exact, ONE, F(1), threshold=1)
    assert answer.keys.tolist() == list(range(universe))
    numbers = answer.counts[~np.isin(answer.keys, list(observed))]
    assert numbers.tolist() == list(range(1, universe - len(observed) + 1))


def test_a_dense_histogram_noises_every_cell_on_its_own():
    exact = SparseCounts.dense(np.zeros(100_000, int))
    answer = a_gate().histogram("x", exact, ONE, F(1, 5))
    assert len(answer.counts) == 100_000
    spread = np.bincount(np.clip(answer.counts + 20, 0, 40), minlength=41)
    mass = laplace_mass(np.arange(-19, 20), 5.0)
    tail = (1 - mass.sum()) / 2
    assert goodness(spread, np.concatenate([[tail], mass, [tail]]) * 100_000) > ALPHA
    assert abs(np.corrcoef(answer.counts[1:], answer.counts[:-1])[0, 1]) < 0.02


def test_under_rho_the_noise_is_gaussian_with_the_booked_variance():
    gate = a_gate(1, Rider(max_trips=2), currency="rho")
    answer = gate.histogram(
        "x", SparseCounts.dense(np.zeros(50_000, int)), Contribution(3, per_cell=1), F(1, 2)
    )
    (spend,) = gate.budget.spends
    assert (spend.sensitivity, spend.scale) == (6 * 2, 12)
    assert answer.counts.var() == pytest.approx(12, rel=0.05)


# What is booked, when, and what a refusal leaves behind.


def test_the_booked_sensitivity_and_scale_follow_from_the_unit():
    gate = a_gate(1, Rider(max_trips=4))
    answer = gate.histogram("level 1", TINY, Contribution(per_trip=3), F(1, 2), threshold=2, group="levels")
    (spend,) = gate.budget.spends
    assert (spend.label, spend.price, spend.group, spend.kind) == ("level 1", F(1, 2), "levels", "counts")
    assert (spend.sensitivity, spend.scale) == (12, 24)
    assert answer.question.scale == 24


REFUSED = {
    "no budget": (ParameterError, {"price": F(0)}),
    "too dear": (BudgetExceededError, {"price": F(2)}),
    "threshold 0": (ParameterError, {"threshold": 0}),
    "too many cells": (ParameterError, {"exact": sparse(10**12, {})}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_spent_or_drawn_when_a_question_is_refused(name):
    error, changed = REFUSED[name]
    opened = []
    gate = Gate(Trip(), Budget(1), SeededBits(1), before_first_answer=lambda: opened.append(1))
    asked = {"exact": TINY, "price": F(1, 2), "threshold": None} | changed
    with pytest.raises(error):
        gate.histogram("x", asked["exact"], ONE, asked["price"], threshold=asked["threshold"])
    assert gate.budget.spends == ()
    assert opened == []


def test_a_threshold_is_refused_under_rho():
    with pytest.raises(ParameterError, match="not in rho"):
        a_gate(1, currency="rho").histogram("x", TINY, ONE, F(1), threshold=3)


class Watched:
    """Bits that say when they are read."""

    private = False

    def __init__(self, log):
        self.log, self.inner = log, SeededBits(1)

    def words(self, count):
        self.log.append("noise")
        return self.inner.words(count)


def test_the_first_answer_is_announced_once_and_before_any_noise():
    log = []
    gate = Gate(Trip(), Budget(3), Watched(log), before_first_answer=lambda: log.append("announced"))
    gate.histogram("x", TINY, ONE, F(1))
    gate.histogram("x", TINY, ONE, F(1))
    gate.select("x", np.array([1, 2]), ONE, F(1))
    assert log[0] == "announced"
    assert log.count("announced") == 1


def test_no_noise_is_drawn_if_the_announcement_fails():
    log = []

    def fails():
        raise OSError("disk full")

    gate = Gate(Trip(), Budget(3), Watched(log), before_first_answer=fails)
    for _ in range(2):
        with pytest.raises(OSError, match="disk full"):
            gate.histogram("x", TINY, ONE, F(1))
    assert log == []


def test_noise_is_secure_unless_other_bits_are_passed_by_name():
    assert Gate(Trip(), Budget(1)).bits is secure_bits()
    assert Gate(Trip(), Budget(1)).private
    assert not a_gate().private


# Audits record what is asked on one dataset and replay the answers on another.


class Recorder(Gate):
    def __init__(self, *arguments, tape):
        super().__init__(*arguments)
        self.tape = tape

    def note(self, *what):
        self.tape.append(what)
        return what[-1]

    def answer(self, question, exact):
        return self.note(question, exact.counts.tolist(), super().answer(question, exact))

    def answer_selection(self, question, utilities):
        return self.note(question, utilities.tolist(), super().answer_selection(question, utilities))

    def flip(self, probability):
        return self.note("coin", probability, super().flip(probability))

    def inner(self, budget):
        return Recorder(self.unit, budget, self.bits, tape=self.tape)


class Player(Recorder):
    def __init__(self, *arguments, tape, script):
        super().__init__(*arguments, tape=tape)
        self.script = script

    def note(self, *what):
        asked, _, answer = self.script[len(self.tape)]
        assert what[0] == asked
        self.tape.append((*what[:-1], answer))
        return answer

    def inner(self, budget):
        return Player(self.unit, budget, self.bits, tape=self.tape, script=self.script)


def adaptive_run(gate, counts):
    """Three kinds of questions, later ones chosen by earlier answers."""
    exact = SparseCounts.dense(np.array(counts))
    first = gate.histogram("all", exact, ONE, F(1))
    best = gate.select("best", np.array(counts), ONE, F(1))

    def draw(inner):
        part = inner.histogram("again", SparseCounts.dense(np.array(counts[: best + 1])), ONE, F(1, 2))
        return part.counts.tolist(), int(part.counts.sum())

    return first.counts.tolist(), best, gate.search("search", draw, 14, F(1), Stopping(F(1, 4)))


@pytest.mark.parametrize("seed", range(8))
def test_a_recorded_run_is_replayed_on_a_neighbour_question_by_question(seed):
    script, tape = [], []
    recorded = adaptive_run(Recorder(Trip(), Budget(3), SeededBits(seed), tape=script), [5, 7, 1])
    player = Player(Trip(), Budget(3), SeededBits("unused"), tape=tape, script=script)
    assert adaptive_run(player, [5, 8, 1]) == recorded
    assert len(tape) == len(script)
    for (_, one, _), (question, other, _) in zip(script, tape, strict=True):
        if question != "coin":
            change = np.abs(np.subtract(one, other))
            far = change.max() if question.kind == "selection" else change.sum()
            assert far <= 1


# Counting keys.


@settings(max_examples=100)
@given(st.lists(st.integers(0, 40), max_size=60), st.sampled_from([41, 10**6]))
def test_sparse_counts_are_how_often_each_key_occurs(keys, universe):
    found = SparseCounts.of_keys(universe, np.array(keys, np.int64))
    assert dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True)) == Counter(keys)
    assert found.universe == universe
    assert np.all(np.diff(found.keys) > 0)
    assert (found.keys.dtype, found.counts.dtype) == (np.int64, np.int64)
