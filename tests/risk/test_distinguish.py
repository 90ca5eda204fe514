"""The game never accuses a sound mechanism, and its bounds come close to the truth for a leaky one."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log

import numpy as np
import pytest

from wayveil.lab.audits.distinguish import Attack, choose_event, distinguish, epsilon_bound
from wayveil.lab.audits.recording import Subject
from wayveil.lab.audits.tiny_worlds import canary_pairs, plain_world
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.noise import discrete_laplace
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.repeat import Stopping
from wayveil.privacy.units import Trip

BUSY = canary_pairs(plain_world())[0]


def sampler(shift, scale, seed):
    bits = SeededBits(f"{shift} {scale} {seed}")
    return lambda runs: discrete_laplace(runs, scale, bits).astype(float) + shift


def test_the_bound_is_close_below_the_truth_for_laplace_noise():
    found = distinguish(sampler(0, 1, 1), sampler(1, 1, 1), 1.0, test=200_000)
    assert 0.95 < found.bound <= 1.0
    assert not found.refuted


def test_half_the_noise_is_refuted():
    found = distinguish(sampler(0, Fraction(1, 2), 1), sampler(1, Fraction(1, 2), 1), 1.0)
    assert 1.7 < found.bound <= 2.0
    assert found.refuted


@pytest.mark.parametrize("seed", range(20))
def test_a_sound_mechanism_is_not_accused(seed):
    assert not distinguish(sampler(0, 1, seed), sampler(1, 1, seed), 1.0, test=5_000).refuted


def test_the_same_data_cannot_be_told_apart():
    assert distinguish(sampler(0, 1, 1), sampler(0, 1, 2), 0.1).bound < 0.1


def test_an_event_with_probability_one_against_zero_gives_the_most_that_the_runs_can_show():
    found = distinguish(lambda runs: np.full(runs, -inf), lambda runs: np.full(runs, inf), 1.0, test=20_000)
    assert found.bound == pytest.approx(7.6, abs=0.1)


def test_both_tails_and_both_directions_are_tried():
    zeros, rare = np.zeros(1_000), np.where(np.arange(1_000) < 100, 5.0, 0.0)
    assert choose_event(zeros, rare, 0, 1e-4).sign == 1
    assert choose_event(zeros, -rare, 0, 1e-4).sign == -1
    assert choose_event(rare, zeros, 0, 1e-4).favours == 0
    assert choose_event(zeros, rare, 0, 1e-4).favours == 1


def test_the_bound_holds_for_known_counts():
    assert epsilon_bound(0, 10, 100, 0, 1e-4) == -inf
    assert epsilon_bound(100, 100, 100, 0, 1e-4) < 0
    assert epsilon_bound(5, 0, 100, 0.5, 1e-4) == -inf
    low, high = epsilon_bound(9_000, 1_000, 10_000, 0, 1e-4), log(9)
    assert high - 0.2 < low < high


@dataclass(frozen=True)
class TripCount:
    """Noisy number of trips; the noise pays for `allowed` trips."""

    allowed: int = 1
    leaky: bool = False

    def measure(self, counter, gate):
        exact = SparseCounts.dense(np.array([int(counter.lengths(1).counts.sum())]))
        noisy = gate.histogram("trips", exact, Contribution(per_trip=self.allowed), gate.budget.total)
        return (noisy.counts, int(counter.lengths(1).counts.sum())) if self.leaky else noisy.counts


def attack(mechanism, seed=1, **game):
    subject = Subject(mechanism, Trip(), Fraction(1))
    return Attack(subject, BUSY.without, BUSY.within, SeededBits(seed)).play(**game)


def test_the_attack_finds_the_whole_epsilon_of_a_single_count():
    found = attack(TripCount(), selection=200, test=1_500)
    assert 0.5 < found.bound <= 1.0


def test_the_attack_sees_a_model_that_only_one_dataset_can_have_made():
    assert attack(TripCount(leaky=True), selection=100, test=400).bound > 3


def test_the_attack_sees_a_question_that_only_one_dataset_can_have_asked():
    class Asks:
        def measure(self, counter, gate):
            exact = SparseCounts.dense(np.zeros(int(counter.lengths(1).counts.sum()), np.int64))
            return gate.histogram("trips", exact, Contribution(per_trip=1), gate.budget.total).counts

    assert attack(Asks(), selection=100, test=400).bound > 3


def test_rejected_draws_of_a_search_are_not_for_the_attacker():
    class Searches:
        def measure(self, counter, gate):
            def draw(inner):
                noisy = TripCount().measure(counter, inner)
                return noisy, int(noisy[0])

            return gate.search("search", draw, 24, Fraction(1), Stopping(Fraction(1, 50)))

    assert not attack(Searches(), selection=50, test=200).refuted


def test_the_accepted_draw_of_a_search_is_for_the_attacker_whatever_coins_it_flipped():
    class Searches:
        def measure(self, counter, gate):
            def draw(inner):
                inner.flip(Fraction(1, 2))
                noisy = TripCount().measure(counter, inner)
                return noisy, int(noisy[0])

            return gate.search("search", draw, 0, Fraction(1), Stopping(Fraction(1, 50)))

    attacker = Attack(Subject(Searches(), Trip(), Fraction(1)), BUSY.without, BUSY.within, SeededBits(1))
    # A draw has half of epsilon, and one trip more is half a unit of evidence for or against it.
    assert np.abs([attacker.statistic(side) for side in (0, 1) * 10]) == pytest.approx(0.5)


def test_selections_are_attacked_too():
    class Selects:
        def measure(self, counter, gate):
            utilities = np.array([0, int(counter.lengths(1).counts.sum())])
            return gate.select("larger", utilities, Contribution(per_trip=1), gate.budget.total)

    assert not attack(Selects(), selection=100, test=300).refuted
