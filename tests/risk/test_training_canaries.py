"""Canaries in one run of a training: sound noise is not accused, no noise is."""

import pytest

from wayveil.lab.audits.one_run import one_training
from wayveil.lab.audits.plan_registry import audit_plan
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip


def played(variant, seed=1):
    return one_training(
        audit_plan("dp-loc").subject(Trip(), variant), 800, SeededBits(seed), share=0.15, alpha=1e-4
    )


@pytest.mark.parametrize("seed", range(4))
def test_sound_training_is_not_accused(seed):
    found = played(None, seed)
    assert not found.refuted
    assert found.reach > found.claimed


def test_noise_that_is_off_is_seen_in_one_run():
    assert played("no noise").refuted
