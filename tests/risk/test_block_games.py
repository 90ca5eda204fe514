"""A game for each question alone: it holds for sound noise, and fails where the whole release could not."""

from fractions import Fraction

import pytest

from wayveil.lab.audits.distinguish import block_games, largest_shown, runs_to_show
from wayveil.lab.audits.mutants import HALF_NOISE, NO_NOISE, SILENT_END, WHOLE_PRICE
from wayveil.lab.audits.one_run import accuracy_bound
from wayveil.lab.audits.plan_registry import audit_plan
from wayveil.lab.audits.recording import Subject
from wayveil.lab.audits.tiny_worlds import canary_pairs, small_network
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip

BUSY = canary_pairs(small_network())[0]
TREE = Subject(NoisyPrefixTree(height=2, false_children=1.0, size_share=0), Trip(), Fraction(4))


def games(subject, pair=BUSY, test=400):
    return block_games(subject, pair.without, pair.within, SeededBits(1), selection=100, test=test)


def test_each_question_is_held_to_its_own_price():
    played = games(TREE)
    assert [game.found.claimed for game in played] == [2, 2]
    assert not any(game.found.refuted or game.blind for game in played)


@pytest.mark.parametrize("mutation", [HALF_NOISE, WHOLE_PRICE], ids=lambda mutation: mutation.name)
def test_too_little_noise_in_a_question_is_refuted(mutation):
    assert any(game.found.refuted for game in games(mutation.of(TREE), test=700))


def test_only_the_question_without_noise_is_accused():
    assert [game.found.refuted for game in games(SILENT_END.of(TREE))] == [False, True]


def test_every_block_of_weave_without_noise_is_refuted():
    plan = audit_plan("weave")
    pair = plan.pairs[0]
    broken = NO_NOISE.of(plan.subject(pair.unit))
    played = block_games(broken, pair.without, pair.within, SeededBits(1), selection=20, test=60)
    histograms = [game for game in played if not game.label.startswith("partition")]
    assert len(histograms) > 10
    assert all(game.found.refuted for game in histograms)


def test_what_a_game_can_show_grows_with_the_logarithm_of_its_runs():
    assert largest_shown(1_000, 1e-4) == pytest.approx(4.61, abs=0.01)
    assert accuracy_bound(450, 450, 1e-4) == pytest.approx(3.88, abs=0.01)
    for epsilon in (0.1, 1, 3, 5):
        runs = runs_to_show(epsilon, 1e-4)
        assert epsilon < largest_shown(runs, 1e-4) < epsilon + 2
