"""The law test accepts noise as claimed and rejects everything else that has been seen in the wild."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from wayveil.errors import ParameterError
from wayveil.lab.audits.conformance import (
    Rare,
    cells_of,
    coins_p_value,
    conformance,
    independence_p_value,
    uniform_p_value,
)
from wayveil.lab.audits.likelihood import WIDE, GaussianLaw, LaplaceLaw
from wayveil.lab.audits.mutants import SAME_NOISE
from wayveil.lab.audits.recording import Subject, record
from wayveil.lab.audits.tiny_worlds import crowd, plain_world
from wayveil.lab.audits.transcript import Exchange, Flip
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts, SparseCounts
from wayveil.privacy.units import Trip

TRIPS = crowd(plain_world())
ONE = Contribution(per_trip=1)


@dataclass(frozen=True)
class Histogram:
    """Two histograms of 400 cells, half of them empty."""

    threshold: int | None = None

    def measure(self, counter, gate):
        exact = SparseCounts(400, np.arange(0, 400, 2), np.arange(200) % 9)
        gate.histogram("one", exact, ONE, gate.budget.total / 2, threshold=self.threshold)
        gate.histogram("two", exact, ONE, gate.budget.total / 2, threshold=self.threshold)


def subject(threshold=None, gate=Gate, currency="epsilon"):
    return Subject(Histogram(threshold), Trip(), Fraction(1), gate, currency=currency)


class Scaled(Gate):
    times = Fraction(1)

    def answer(self, question, exact):
        noisy = super().answer(replace(question, scale=question.scale * self.times), exact)
        return NoisyCounts(question, noisy.keys, noisy.counts)


class TooSmall(Scaled):
    times = Fraction(19, 20)


class TooLarge(Scaled):
    times = Fraction(21, 20)


@pytest.mark.parametrize("threshold", [None, 1, 4, 12])
def test_noise_as_claimed_is_accepted(threshold):
    found = conformance(subject(threshold), TRIPS, SeededBits(1), draws=200_000)
    assert found.draws >= 200_000
    assert found.smallest[1] > 1e-4, found


@pytest.mark.parametrize("threshold", [None, 1, 4])
@pytest.mark.parametrize("gate", [TooSmall, TooLarge])
def test_five_percent_more_or_less_noise_is_rejected(threshold, gate):
    found = conformance(subject(threshold, gate), TRIPS, SeededBits(1), draws=400_000)
    assert found.smallest[1] < 1e-6
    assert "law" in found.smallest[0]


def test_survivors_of_a_high_threshold_are_counted_together():
    found = conformance(subject(12, TooSmall), TRIPS, SeededBits(1), draws=400_000)
    assert found.p_values["number of survivors"] < 1e-6


def test_gaussian_noise_is_accepted_and_rejected_by_its_own_law():
    sound = subject(currency="rho")
    assert conformance(sound, TRIPS, SeededBits(1), draws=100_000).smallest[1] > 1e-4
    broken = replace(sound, gate=TooSmall)
    assert conformance(broken, TRIPS, SeededBits(1), draws=400_000).smallest[1] < 1e-6


def test_a_threshold_that_never_passes_leaves_nothing_to_test():
    found = conformance(subject(10_000), TRIPS, SeededBits(1), draws=10_000)
    assert found.p_values["law in counted cells"] == found.p_values["law in empty cells"] == 1.0
    assert found.p_values["number of survivors"] == 1.0


def test_a_survivor_that_cannot_be_is_rejected():
    question = record(subject(10_000), TRIPS, SeededBits(1))[0].exchanges[0].question
    exact = SparseCounts(400, np.zeros(0, np.int64), np.zeros(0, np.int64))
    answer = NoisyCounts(question, np.array([3]), np.array([10_000]))
    cells = cells_of(Exchange(question, exact, answer), "epsilon")
    assert cells.rare.all()
    rare = Rare()
    rare.add(cells)
    assert rare.p_value() < 1e-6


def test_dependent_numbers_are_rejected_whatever_the_law_of_the_first():
    rng = np.random.default_rng(0)
    first, second = rng.random(20_000) ** 2, rng.random(20_000)
    assert independence_p_value(np.stack([first, second], 1)) > 1e-4
    mixed = np.where(rng.random(20_000) < 0.1, first, second)
    assert independence_p_value(np.stack([first, mixed], 1)) < 1e-6


@dataclass(frozen=True)
class OneAndMany:
    """One cell, then many others: neither the cells nor their number agree."""

    threshold: int | None

    def measure(self, counter, gate):
        gate.histogram("one", SparseCounts.dense(np.array([30])), ONE, gate.budget.total / 10)
        exact = SparseCounts(300, np.arange(100, 200), np.full(100, 5))
        gate.histogram("many", exact, ONE, gate.budget.total * 9 / 10, threshold=self.threshold)


@pytest.mark.parametrize("threshold", [None, 3])
def test_noise_used_twice_shows_where_one_of_two_questions_has_a_single_cell(threshold):
    sound = Subject(OneAndMany(threshold), Trip(), Fraction(1))
    assert conformance(sound, TRIPS, SeededBits(1), draws=1000).smallest[1] > 1e-4
    found = conformance(SAME_NOISE.of(sound), TRIPS, SeededBits(1), draws=1000)
    assert found.smallest[0] == "independence of the next question"
    assert found.smallest[1] < 1e-6


def test_too_few_numbers_say_nothing():
    assert uniform_p_value(np.zeros(10)) == 1.0
    assert independence_p_value(np.zeros((10, 2))) == 1.0


def test_selections_have_no_noise_to_test():
    class Selects:
        def measure(self, counter, gate):
            return gate.select("one", np.arange(3), ONE, Fraction(1))

    with pytest.raises(ParameterError, match="no noise to test"):
        conformance(Subject(Selects(), Trip(), Fraction(1)), TRIPS, SeededBits(1))
    transcript, _ = record(Subject(Selects(), Trip(), Fraction(1)), TRIPS, SeededBits(1))
    with pytest.raises(ParameterError, match="only on histograms"):
        cells_of(transcript.exchanges[0], "epsilon")


@pytest.mark.parametrize("law", [LaplaceLaw(0.7), LaplaceLaw(3.0), GaussianLaw(0.4), GaussianLaw(30.0)])
def test_laws_add_up(law):
    k = np.arange(-200, 201)
    assert law.pmf(k).sum() == pytest.approx(1, abs=1e-12)
    assert law.below(k) == pytest.approx(np.concatenate([[0], np.cumsum(law.pmf(k))])[:-1], abs=1e-12)
    assert law.pmf(k) == pytest.approx(law.pmf(-k))


def test_a_wide_gaussian_law_goes_on_where_the_table_ends():
    narrow, wide = GaussianLaw(WIDE), GaussianLaw(WIDE * (1 + 1e-12))
    k = np.array([-40_000, -3, 0, 1, 7_000, 25_000])
    assert wide.below(k) == pytest.approx(narrow.below(k), abs=1e-9)
    assert wide.log_pmf(k) == pytest.approx(narrow.log_pmf(k), abs=1e-9)


def test_coins_are_held_to_the_probability_that_was_asked_for():
    rng = np.random.default_rng(1)

    def coins(asked, real):
        return [Flip(0, Fraction(asked), bool(heads)) for heads in rng.random(400) < real]

    assert coins_p_value([]) == 1
    assert coins_p_value(coins("1/3", 1 / 3) + coins("1/20", 1 / 20)) > 1e-6
    assert coins_p_value(coins("1/3", 1 / 6) + coins("1/20", 1 / 20)) < 1e-6
