"""The sampler with 8-bit words, every word enumerated, and single 64-bit words at the places where it matters."""

from collections import defaultdict
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privacy.reference_noise import (
    ListedBits,
    OutOfWordsError,
    gaussian_survivals,
    laplace_survivals,
    survivals_of,
)
from wayveil.privacy.laws import Coin, Exp, Gaussian, Geometric, GeometricDigit, LaplaceMagnitude, Rational
from wayveil.privacy.noise import SurvivalTable, table_of

F = Fraction
TOP = (1 << 64) - 1

with mpmath.workprec(300):
    SMALL = [
        (LaplaceMagnitude(F(2)), laplace_survivals(2, 100)),
        (LaplaceMagnitude(F(7, 2)), laplace_survivals(F(7, 2), 150)),
        (LaplaceMagnitude(F(1, 3)), laplace_survivals(F(1, 3), 20)),
        (Gaussian(F(4), folded=True), gaussian_survivals(4, 30)),
        (Gaussian(F(1, 2), folded=True), gaussian_survivals(F(1, 2), 12)),
        (Geometric(Exp(F(1, 2))), [mpmath.exp(-mpmath.mpf(m) / 2) for m in range(1, 80)]),
        (GeometricDigit(Exp(F(1, 3)), 8), survivals_of([mpmath.exp(-mpmath.mpf(k) / 3) for k in range(8)])),
        (Coin(Rational(F(1, 3))), [mpmath.mpf(1) / 3]),
        (Coin(Rational(F(1, 2))), [mpmath.mpf(1) / 2]),
    ]


def enumerate_words(table, signed, prefix=()):
    """Every value with the share of words that lead to it, and the share not decided by two words."""
    shares, undecided = defaultdict(Fraction), Fraction(0)
    for word in range(256):
        words = [*prefix, word]
        weight = Fraction(1, 256 ** len(words))
        try:
            bits = ListedBits(words)
            value = int(table.draw(1, bits, signed=signed)[0])
            assert bits.used == len(words)
            shares[value] += weight
        except OutOfWordsError:
            if len(words) == 2:
                undecided += weight
                continue
            more, open_ = enumerate_words(table, signed, (word,))
            undecided += open_
            for value, share in more.items():
                shares[value] += share
    return shares, undecided


@pytest.mark.parametrize(("law", "survivals"), SMALL, ids=[str(law) for law, _ in SMALL])
def test_8_bit_words_give_the_exact_law_as_far_as_they_decide(law, survivals):
    shares, undecided = enumerate_words(SurvivalTable.of(law, word_bits=8), signed=False)
    assert sum(shares.values()) + undecided == 1
    assert undecided < F(1, 200)
    with mpmath.workprec(300):
        reach = [mpmath.mpf(1), *survivals, mpmath.mpf(0)]
        for value in range(len(survivals) + 1):
            share = mpmath.mpf(shares[value].numerator) / shares[value].denominator
            slack = mpmath.mpf(undecided.numerator) / undecided.denominator
            mass = reach[value] - reach[value + 1]
            # No word may lead to a value that further digits could still take away from it.
            assert -(mpmath.mpf(2) ** -200) <= mass - share <= slack + mpmath.mpf(2) ** -200
    assert max(shares) <= len(survivals)


@pytest.mark.parametrize("law", [LaplaceMagnitude(F(2)), Gaussian(F(1, 2), folded=True)], ids=str)
def test_8_bit_words_give_both_signs_the_same_share(law):
    plain, _ = enumerate_words(SurvivalTable.of(law, word_bits=8), signed=False)
    signed, _ = enumerate_words(SurvivalTable.of(law, word_bits=8), signed=True)
    assert max(plain) > 10 or isinstance(law, Gaussian)
    for value, share in plain.items():
        if value == 0:
            assert signed[0] == share
        else:
            assert signed[value] == signed[-value] == share / 2


@pytest.mark.parametrize("law", [LaplaceMagnitude(F(20)), Gaussian(F(400), folded=True)], ids=str)
@pytest.mark.parametrize("m", [1, 2, 17, 40])
def test_a_tie_takes_the_next_word_and_decides_both_ways(law, m):
    table = table_of(law)
    tie = int(table.entries[m - 1]) << 1
    below, above = ListedBits([tie, 0]), ListedBits([tie, TOP])
    assert table.draw(1, below)[0] == m
    assert table.draw(1, above)[0] == m - 1
    assert below.used == above.used == 2
    assert table.draw(1, ListedBits([tie - 2]))[0] == m
    assert table.draw(1, ListedBits([tie + 2]))[0] == m - 1
    assert table.draw(1, ListedBits([tie | 1, 0]), signed=True)[0] == -m


@pytest.mark.parametrize("law", [LaplaceMagnitude(F(20)), Gaussian(F(400), folded=True)], ids=str)
def test_a_tie_can_need_a_third_word(law):
    with mpmath.workprec(400):
        survival = (
            laplace_survivals(20, 5)[2]
            if isinstance(law, LaplaceMagnitude)
            else gaussian_survivals(400, 5)[2]
        )
        first_127 = int(mpmath.floor(survival * 2**127))
        bit = int(mpmath.floor(survival * 2**128)) & 1
    first, second = first_127 >> 64 << 1, first_127 & TOP
    for third, value in ((0, 3 if bit else None), (TOP, None if bit else 2)):
        bits = ListedBits([first, second, third])
        drawn = table_of(law).draw(1, bits)[0]
        assert bits.used == 3
        assert value is None or drawn == value


@pytest.mark.parametrize(
    ("law", "survivals"),
    [(LaplaceMagnitude(F(3)), laplace_survivals), (Gaussian(F(25), folded=True), gaussian_survivals)],
    ids=["laplace", "gaussian"],
)
@pytest.mark.parametrize("second", [99_991, 12_345, 1 << 40, 1 << 63, TOP])
def test_the_tail_beyond_the_table_is_exact(law, survivals, second):
    """The word zero says only U < 2^-63; the second word must find the value among those beyond the table."""
    with mpmath.workprec(500):
        exact = survivals(3, 600) if isinstance(law, LaplaceMagnitude) else survivals(25, 120)
        u = mpmath.mpf(second) / mpmath.mpf(2) ** 127
        expected = sum(s > u for s in exact)
    assert expected >= len(table_of(law).entries) - 1
    assert table_of(law).draw(1, ListedBits([0, second]))[0] == expected


def test_no_two_draws_share_a_word():
    words = np.random.default_rng(3).integers(1 << 40, 1 << 63, 40_000, dtype=np.uint64).tolist()
    table = table_of(LaplaceMagnitude(F(20)))
    bits = ListedBits(words)
    together = table.draw(len(words), bits, signed=True)
    assert bits.used == len(words)
    for i in (0, 1, 16_383, 16_384, 39_999):
        assert together[i] == table.draw(1, ListedBits([words[i]]), signed=True)[0]
