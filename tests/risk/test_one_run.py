"""Canaries in one run: sound noise is not accused, too little noise is."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np
import pytest

from wayveil.lab.audits.mutants import HALF_NOISE, WHOLE_PRICE
from wayveil.lab.audits.one_run import accuracy_bound, canary_scores, one_run
from wayveil.lab.audits.recording import DivergedError, Subject, record
from wayveil.lab.audits.tiny_worlds import town
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.units import Trip

TOWN = town(2_000, 60)
TREE = Subject(NoisyPrefixTree(height=2, false_children=1.0), Trip(), Fraction(1))


@pytest.mark.parametrize("seed", range(5))
def test_a_sound_tree_is_not_accused_and_the_attack_is_not_blind(seed):
    found = one_run(TREE, TOWN, SeededBits(seed), share=0.15)
    assert not found.refuted
    assert found.bound > 0.4


@pytest.mark.parametrize("mutation", [HALF_NOISE, WHOLE_PRICE], ids=lambda mutation: mutation.name)
def test_too_little_noise_is_seen_in_one_run(mutation):
    assert one_run(mutation.of(TREE), TOWN, SeededBits(1), share=0.15).refuted


def test_the_bound_follows_from_the_accuracy():
    assert accuracy_bound(0, 100, 1e-4) == -inf
    assert accuracy_bound(50, 100, 1e-4) < 0
    assert accuracy_bound(100, 100, 1e-4) < accuracy_bound(1_000, 1_000, 1e-4)
    assert accuracy_bound(73_106, 100_000, 1e-4) == pytest.approx(1, abs=0.03)


def test_without_noise_every_canary_is_scored_right():
    quiet = Subject(NoisyPrefixTree(height=1, false_children=1.0), Trip(), Fraction(60))
    is_in = np.arange(TOWN.quarters) % 3 == 0
    transcript, _ = record(quiet, TOWN.trips(is_in), SeededBits(1))
    assert ((canary_scores(quiet, TOWN, transcript) > 0) == is_in).all()


def test_cells_that_canaries_share_are_left_out():
    @dataclass(frozen=True)
    class Total:
        def measure(self, counter, gate):
            exact = SparseCounts.dense(np.array([int(counter.lengths(1).counts.sum())]))
            return gate.histogram("trips", exact, Contribution(per_trip=1), gate.budget.total).counts

    small = town(8, 1)
    subject = Subject(Total(), Trip(), Fraction(1))
    transcript, _ = record(subject, small.trips(np.ones(8, bool)), SeededBits(1))
    assert canary_scores(subject, small, transcript).tolist() == [0.0] * 8


def test_a_mechanism_that_asks_other_questions_cannot_be_scored():
    class Asks:
        def measure(self, counter, gate):
            exact = SparseCounts.dense(np.zeros(int(counter.lengths(1).counts.sum()), np.int64))
            return gate.histogram("trips", exact, Contribution(per_trip=1), gate.budget.total).counts

    with pytest.raises(DivergedError):
        one_run(Subject(Asks(), Trip(), Fraction(1)), town(8, 1), SeededBits(1))
