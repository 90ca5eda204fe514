from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.reference_noise import ALPHA, ListedBits, goodness, independence
from wayveil.errors import ParameterError
from wayveil.privacy import sampling
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.sampling import choose, sample_per_group, uniform_integers

TOP = (1 << 64) - 1


def subsets(mask, size):
    """The kept subset of every group of equal size, as a number."""
    return mask.reshape(-1, size) @ (1 << np.arange(size))


@given(st.lists(st.integers(0, 12), max_size=30), st.integers(0, 6))
def test_every_group_keeps_as_many_as_it_may(sizes, most):
    mask = sample_per_group(sizes, most)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    kept = np.bincount(groups[mask], minlength=len(sizes))
    assert (kept == np.minimum(sizes, most)).all()


@pytest.mark.parametrize(("size", "most"), [(5, 2), (6, 1), (6, 5), (4, 3)])
@pytest.mark.parametrize("block", [1 << 16, 3], ids=["large blocks", "words run out"])
def test_all_subsets_are_kept_equally_often(monkeypatch, size, most, block):
    groups = 100_000 if block > 3 else 20_000
    monkeypatch.setattr(sampling, "_BLOCK", block)
    found = subsets(sample_per_group(np.full(groups, size), most, SeededBits(1)), size)
    codes = [sum(1 << i for i in chosen) for chosen in combinations(range(size), most)]
    counts = np.bincount(found, minlength=1 << size)[codes]
    assert counts.sum() == groups
    assert goodness(counts, np.full(len(codes), groups / len(codes))) > ALPHA
    assert (
        goodness(counts + np.eye(len(codes))[0] * groups / 20, np.full(len(codes), groups / len(codes)))
        < ALPHA
    )


def test_groups_choose_independently():
    found = subsets(sample_per_group(np.full(100_000, 4), 2, SeededBits(2)), 4)
    codes = np.unique(found)
    pairs = np.bincount(
        np.searchsorted(codes, found[:-1]) * 6 + np.searchsorted(codes, found[1:]), minlength=36
    ).reshape(6, 6)
    assert independence(pairs) > ALPHA


def test_mixed_groups_are_cut_where_they_lie():
    mask = sample_per_group([2, 7, 0, 3, 5], 3, SeededBits(3))
    assert mask[:2].all()
    assert mask[2:9].sum() == 3
    assert mask[9:12].all()
    assert mask[12:].sum() == 3


def test_a_word_of_the_last_incomplete_round_is_rejected():
    # 2^64 leaves 1 modulo 3, so the largest word would favour one remainder.
    bits = ListedBits([TOP, 5])
    assert uniform_integers(1, 3, bits).tolist() == [2]
    assert bits.used == 2
    assert uniform_integers(1, 4, ListedBits([TOP])).tolist() == [3]
    # The first word is passed over by both; a group of 3 with one place draws modulo 3, then modulo 2.
    assert (
        sample_per_group([3], 1, ListedBits([TOP, 4, 6])).tolist()
        == sample_per_group([3], 1, ListedBits([4, 6, 0])).tolist()
    )


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


def test_choose_gives_ascending_numbers_without_repetition():
    chosen = choose(1000, 30)
    assert len(chosen) == 30
    assert (np.diff(chosen) > 0).all()
    assert choose(3, 10).tolist() == [0, 1, 2]


def test_requests_without_meaning_are_refused():
    for bound in (0, -1, (1 << 63) + 1):
        with pytest.raises(ParameterError, match="bound"):
            uniform_integers(1, bound)
    with pytest.raises(ParameterError, match="negative"):
        sample_per_group([3, -1], 2)
    with pytest.raises(ParameterError, match="negative"):
        sample_per_group([3], -2)
