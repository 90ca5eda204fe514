"""Exact lazy inversion: one 64-bit word per draw, and more only in the rare case that it does not decide.

A uniform real U in [0, 1) is revealed from its first binary digits on. The draw is X = #{m >= 1 : U < S_m},
which has P(X >= m) = S_m because S_1 >= S_2 >= ... Let v be the first w digits of U and T_m = floor(2^w S_m)
those of S_m. Then

    v < T_m   proves U < S_m          since U < (v + 1) / 2^w <= T_m / 2^w <= S_m
    v > T_m   proves U > S_m          since U >= v / 2^w >= (T_m + 1) / 2^w > S_m
    v = T_m   is undecided, and further digits of U are compared with further digits of S_m.

A table holds T_1 .. T_K where T_K is the first zero, so v > T_K or v = T_K: no word runs off its end, and the
tail beyond is the same undecided case. With 64-bit words w = 63 and the last bit is a fair sign for symmetric
laws; an undecided word has probability K 2^-63 at most. Every branch is a comparison of integers, so the law
is exact if the words are uniform. The time taken does depend on the value drawn.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.privacy.bits import Bits
from wayveil.privacy.enclosure import UndecidedError, settle
from wayveil.privacy.laws import Law

WORD_BITS = 64
_BLOCK = 1 << 14  # words and results of a block stay in the cache of a core
_GUIDE_BITS = 12
_GUARD = 64
_OPEN = np.iinfo(np.int64).min


@dataclass(frozen=True, eq=False)
class SurvivalTable:
    """The first digits of a law's survivals, ready to invert words of `word_bits` bits.

    `guide` says, for the leading digits of a word, how many entries lie above all words that begin so: the
    search starts there.
    """

    law: Law
    word_bits: int
    entries: NDArray[np.int64]
    guide: NDArray[np.int64]
    shift: int

    @classmethod
    def of(cls, law: Law, word_bits: int = WORD_BITS) -> "SurvivalTable":
        width = word_bits - 1
        entries = settle(lambda precision: _entries(law, width, precision), width + _GUARD)
        guide_bits = min(len(entries).bit_length() + 2, _GUIDE_BITS, width)
        shift = width - guide_bits
        after = np.arange(1, (1 << guide_bits) + 1, dtype=np.uint64) << np.uint64(shift)
        last_words = (after - np.uint64(1)).astype(np.int64)
        guide = len(entries) - np.searchsorted(entries[::-1], last_words, side="right")
        return cls(law, word_bits, entries, guide, shift)

    def draw(self, size: int, bits: Bits, *, signed: bool = False) -> NDArray[np.int64]:
        """`size` independent draws, each from a word of its own; `signed` gives each a fair sign."""
        out = np.empty(size, np.int64)
        for start in range(0, size, _BLOCK):
            block = out[start : start + _BLOCK]
            words = bits.words(len(block))
            if _invert(words, self.entries, self.guide, self.shift, signed, block):
                for i in np.flatnonzero(block == _OPEN):
                    magnitude = self._resolve(int(words[i]) >> 1, bits)
                    block[i] = -magnitude if signed and words[i] & np.uint64(1) else magnitude
        return out

    def _resolve(self, value: int, bits: Bits) -> int:
        """The plain definition of the draw, on as many digits of U as it takes."""
        width = self.word_bits - 1
        while True:
            try:
                return _count_above(self.law, value, width)
            except UndecidedError:
                value = value << self.word_bits | int(bits.words(1)[0])
                width += self.word_bits


@lru_cache(maxsize=512)
def table_of(law: Law) -> SurvivalTable:
    """The table of a law for 64-bit words, made once."""
    return SurvivalTable.of(law)


def _entries(law: Law, width: int, precision: int) -> NDArray[np.int64]:
    entries = []
    for survival in law.survivals(precision):
        entries.append(survival.digits(width))
        if entries[-1] == 0:
            break
    else:
        entries.append(0)
    return np.array(entries, np.int64)


def _count_above(law: Law, value: int, width: int) -> int:
    """#{m >= 1 : U < S_m} for any U whose first `width` digits are `value`, or `UndecidedError`."""
    above = 0
    for survival in law.survivals(width + _GUARD):
        if value + 1 << _GUARD <= survival.low:
            above += 1
        elif value << _GUARD >= survival.high:
            break
        else:
            raise UndecidedError
    return above


@njit(cache=True, nogil=True)
def _invert(words, entries, guide, shift, signed, out):  # type: ignore[no-untyped-def]
    """Invert every word; undecided ones become `_OPEN` and are counted."""
    undecided = 0
    for i in range(words.size):
        value = np.int64(words[i] >> np.uint64(1))
        m = guide[value >> shift]
        while entries[m] > value:
            m += 1
        negative = np.int64(words[i] & np.uint64(1)) & np.int64(signed)
        out[i] = (m ^ -negative) + negative
        if entries[m] == value:
            out[i] = _OPEN
            undecided += 1
    return undecided
