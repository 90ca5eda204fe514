import numpy as np
import pytest

from privacy.reference_noise import ALPHA, ListedBits, goodness
from wayveil.errors import ParameterError
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.selection import uniform_integers

TOP = (1 << 64) - 1


def test_a_word_of_the_last_incomplete_round_is_rejected():
    # 2^64 leaves 1 modulo 3, so the largest word would favour one remainder.
    bits = ListedBits([TOP, 5])
    assert uniform_integers(1, 3, bits).tolist() == [2]
    assert bits.used == 2
    assert uniform_integers(1, 4, ListedBits([TOP])).tolist() == [3]


@pytest.mark.parametrize("bound", [2, 3, 10, 1000])
def test_integers_below_a_bound_are_equally_likely(bound):
    draws = uniform_integers(200_000, bound, SeededBits(4))
    assert goodness(np.bincount(draws, minlength=bound + 1)[:bound], np.full(bound, 200_000 / bound)) > ALPHA


def test_large_bounds_reach_all_of_their_range():
    bound = 3 << 61  # a quarter of all words is rejected
    draws = uniform_integers(200_000, bound, SeededBits(5))
    assert draws.min() >= 0
    assert goodness(np.bincount((draws >> 55) // 16, minlength=12), np.full(12, 200_000 / 12)) > ALPHA
    assert uniform_integers(1000, 1 << 63).min() >= 0
    assert not uniform_integers(1000, 1).any()


def test_requests_without_meaning_are_refused():
    for bound in (0, -1, (1 << 63) + 1):
        with pytest.raises(ParameterError, match="bound"):
            uniform_integers(1, bound)
