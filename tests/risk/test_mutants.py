"""Broken variants are caught, each by the audits that it names; and they cannot be used for real."""

from fractions import Fraction

import numpy as np
import pytest

from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Frontier
from wayveil.lab.audits import mutants
from wayveil.lab.audits.conformance import conformance
from wayveil.lab.audits.distinguish import Attack
from wayveil.lab.audits.mutants import GAME, GREY, LAW, Mutation, OnlyInAuditsError
from wayveil.lab.audits.plan_registry import audit_plan
from wayveil.lab.audits.recording import Subject
from wayveil.lab.audits.run_audits import EFFORTS, Job, run_job
from wayveil.lab.audits.tiny_worlds import canary_pairs, crowd, pair_named, plain_world, small_network
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.trips.trips import Trips

ALL = [value for value in vars(mutants).values() if isinstance(value, Mutation)]
# Low thresholds: a game sees what noise does to empty cells only where some of them come back.
LOW = {"false_roots": 0.5, "false_children": 1.0, "size_share": 0}
SOUND = Subject(NoisyPrefixTree(height=2, **LOW), Trip(), Fraction(1))
GATES = [
    kind for kind in vars(mutants).values() if isinstance(kind, type) and issubclass(kind, mutants.BrokenGate)
]


@pytest.mark.parametrize("kind", GATES, ids=lambda kind: kind.__name__)
def test_a_broken_gate_refuses_to_work_for_real(kind):
    with pytest.raises(OnlyInAuditsError, match="protects nobody"):
        kind(Trip(), Budget(1))


@pytest.mark.parametrize("mutation", [mutants.TOTAL], ids=lambda mutation: mutation.name)
def test_a_broken_mechanism_refuses_to_work_for_real(mutation):
    counter = LocalCounter(crowd(plain_world()))
    with pytest.raises(OnlyInAuditsError):
        mutation.of(SOUND).mechanism.measure(counter, Gate(Trip(), Budget(1)))


def test_every_mutation_says_what_catches_it_and_keeps_the_claim():
    assert len(ALL) == 17
    for mutation in ALL:
        broken = mutation.of(SOUND)
        assert mutation.caught_by
        assert (broken.variant, broken.unit, broken.epsilon) == (mutation.name, SOUND.unit, SOUND.epsilon)


@pytest.mark.parametrize("audit", [GREY, LAW])
@pytest.mark.parametrize(
    "mutation", audit_plan("noisy-prefix-tree").mutations, ids=lambda mutation: mutation.name
)
def test_the_cheap_audits_catch_what_they_are_named_for(mutation, audit):
    if audit not in mutation.caught_by:
        pytest.skip("this audit is not expected to see it")
    row = run_job(Job("noisy-prefix-tree", audit, mutation.name), effort=EFFORTS["fast"], seed=5)
    assert row.raised, row


@pytest.mark.parametrize(
    "mutation",
    [mutants.NO_NOISE, mutants.EMPTY_SKIPPED, mutants.NO_BOUND, mutants.TOTAL, mutants.OBSERVED_WORLD],
    ids=lambda mutation: mutation.name,
)
def test_the_game_refutes_gross_mistakes_in_a_few_runs(mutation):
    assert GAME in mutation.caught_by
    pair = pair_named(canary_pairs(small_network()), mutation.canary)
    subject = mutation.of(Subject(SOUND.mechanism, pair.unit, SOUND.epsilon))
    found = Attack(subject, pair.without, pair.within, SeededBits(1)).play(selection=250, test=400)
    assert found.refuted, found


class Dense:
    """All cells of two histograms of first stops, without a threshold."""

    def measure(self, counter, gate):
        exact = counter.prefixes().count(Frontier(np.zeros(1, np.int64), counter.world.successors))
        for label in ("one", "two"):
            noisy = gate.histogram(label, exact, Contribution(per_trip=1), gate.budget.total / 2)
        return noisy.counts


@pytest.mark.parametrize(
    "mutation",
    [
        mutants.HALF_NOISE,
        mutants.SILENT_END,
        mutants.EMPTY_SKIPPED,
        mutants.ZEROS_SPECIAL,
        mutants.SHARED_NOISE,
        mutants.SAME_NOISE,
        mutants.SEEDED,
    ],
    ids=lambda mutation: mutation.name,
)
def test_the_law_is_tested_in_histograms_without_a_threshold_too(mutation):
    subject = Subject(Dense(), Trip(), Fraction(1))
    world = plain_world(300)
    trips = Trips.of_lists([[stop] for stop in range(0, 300, 2)] * 4, world)
    assert conformance(subject, trips, SeededBits(1), draws=60_000).smallest[1] > 1e-4
    assert conformance(mutation.of(subject), trips, SeededBits(1), draws=60_000).smallest[1] < 1e-6
