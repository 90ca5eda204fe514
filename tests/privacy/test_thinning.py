"""Stronger protection by a coin: the loss at listed places is what was asked for, and without the coin it is not."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from wayveil.errors import ParameterError
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.noise import discrete_laplace
from wayveil.privacy.thinning import keep_chance, thin

EPSILON, STRONGER, RUNS = 3, 0.5, 60_000


def shown_loss(chance):
    """How far apart a counted tap and none are seen to be: the largest log ratio over thresholds, 99 % sure."""
    bits = SeededBits(1)
    kept = thin(np.full(RUNS, -1), chance, bits) if chance < 1 else np.ones(RUNS, bool)
    noise = [discrete_laplace(RUNS, Fraction(1, EPSILON), bits) for _ in range(2)]
    with_tap, without = noise[0] + kept, noise[1]
    found = []
    for limit in range(-1, 4):
        for one, other in ((with_tap >= limit, without >= limit), (without < limit, with_tap < limit)):
            a, b = one.mean(), other.mean()
            spread = 2.6 * np.sqrt(1 / RUNS)
            if a - spread > 0:
                found.append(log((a - spread * np.sqrt(a)) / (b + spread * np.sqrt(b) + 1e-9)))
    return max(found)


def test_a_tap_at_a_sensitive_place_costs_the_stronger_epsilon():
    assert shown_loss(keep_chance(STRONGER, EPSILON)) <= STRONGER
    assert shown_loss(keep_chance(STRONGER, EPSILON)) > 0.3, "the game sees most of what is allowed"


def test_without_the_coin_the_same_game_sees_much_more():
    assert shown_loss(1.0) > 2 > STRONGER


def test_a_coin_with_the_odds_of_the_ratio_alone_would_be_seen():
    """A broken variant: keeping with stronger / epsilon instead of the odds of the exponentials."""
    assert shown_loss(STRONGER / EPSILON) > STRONGER


def test_the_chance_is_that_of_the_proof_and_never_rounded_up():
    for stronger, distance in ((0.1, 1.0), (0.5, 3.0), (1.0, 1.5)):
        chance = keep_chance(stronger, distance)
        assert 1 + chance * (exp(distance) - 1) <= exp(stronger)
        assert 1 + chance * (exp(distance) - 1) == pytest.approx(exp(stronger), rel=1e-9)
    for wrong in (0.0, 3.0, 4.0):
        with pytest.raises(ParameterError, match="stronger epsilon"):
            keep_chance(wrong, 3.0)


def test_a_unit_has_one_coin_and_rows_without_a_unit_have_their_own():
    units = np.repeat(np.arange(500), 4)
    kept = thin(units, 0.5, SeededBits(2)).reshape(500, 4)
    assert (kept == kept[:, :1]).all()
    assert 0.4 < kept[:, 0].mean() < 0.6
    alone = thin(np.full(2_000, -1), 0.5, SeededBits(2)).reshape(500, 4)
    assert not (alone == alone[:, :1]).all()
