"""Contexts of which only the frequent next symbols are known, completed so that walks can go on from them.

Where there are too many possible n-grams to count each, what stands out of the noise comes back and the rest does not.
A context then knows some of what follows it, and how often it occurs in all. What is missing is shared out as the
longest shorter context has it; of a single symbol, where there is no shorter one, the missing trips end.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.synthesis.ngram_model import NOT_ASKED, NgramTable
from wayveil.synthesis.walks import ContextBook


@dataclass(frozen=True, eq=False)
class Kept:
    """The n-grams of one length that stood out.

    symbols    one row each; the first n - 1 are the context
    noisy      their counts as the gate returned them; count: what they are taken for
    scale      noise scale; threshold that they reached
    """

    symbols: Ints
    noisy: Ints
    count: Floats
    scale: Fraction
    threshold: int


@dataclass(frozen=True, eq=False)
class _Rows:
    """Completed contexts of one length: row i goes on with `symbol[first[i]:first[i + 1]]` by these weights."""

    book: ContextBook
    first: Ints
    symbol: Ints
    weight: Floats


class SparseContexts:
    """Completes one length after the other. Symbols run up to `end`, which is the end mark."""

    def __init__(self, end: int) -> None:
        self.end = end
        self._levels: list[_Rows] = []

    def complete(self, contexts: Ints, total: Floats, kept: Kept) -> NgramTable:
        """The table of n-grams one symbol longer than the contexts, whose rows add up to the contexts' totals."""
        book = ContextBook(contexts, self.end + 1)
        order = np.empty(book.size, np.int64)
        order[book.row] = np.arange(book.size)
        contexts, total = contexts[order], total[order]
        row = book.find(kept.symbols[:, :-1])
        known = row >= 0
        row, symbol = row[known], kept.symbols[known, -1]
        noisy, weight = kept.noisy[known], kept.count[known]
        rest = np.maximum(total - np.bincount(row, weight, book.size), 0.0)
        more_row, more_symbol, more = self._rest(contexts, rest, row, symbol)
        # An end that was asked for takes up what is missing too: one entry, not two.
        keys = np.concatenate([row * (self.end + 1) + symbol, more_row * (self.end + 1) + more_symbol])
        cells, place = np.unique(keys, return_inverse=True)
        rows, symbols = np.divmod(cells, self.end + 1)
        weights = np.bincount(place, np.concatenate([weight, more]), len(cells)).astype(np.float64)
        asked = np.full(len(cells), NOT_ASKED, np.int64)
        asked[place[: len(noisy)]] = noisy
        first = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=book.size))]).astype(np.int64)
        self._levels.append(_Rows(book, first, symbols, weights))
        grams = np.concatenate([contexts[rows], symbols[:, None]], axis=1)
        return NgramTable(grams, asked, weights, kept.scale, kept.threshold)

    def _rest(self, contexts: Ints, rest: Floats, row: Ints, symbol: Ints) -> tuple[Ints, Ints, Floats]:
        """Rows, symbols and weights of what no kept n-gram tells, as shorter contexts have it."""
        parts: list[tuple[Ints, Ints, Floats]] = []
        width, open_ = self.end + 1, np.flatnonzero(rest > 0)
        taken = np.sort(row * width + symbol)
        for level in reversed(self._levels):
            found = level.book.find(contexts[open_, contexts.shape[1] - level.book.order :])
            linked, found = open_[found >= 0], found[found >= 0]
            entries = level.first[found + 1] - level.first[found]
            owner = np.repeat(linked, entries)
            within = np.arange(len(owner)) - np.repeat(np.cumsum(entries) - entries, entries)
            place = np.repeat(level.first[found], entries) + within
            key = owner * width + level.symbol[place]
            at = np.minimum(np.searchsorted(taken, key), max(len(taken) - 1, 0))
            free = taken[at] != key if len(taken) else np.ones(len(key), bool)
            owner, place = owner[free], place[free]
            mass = np.bincount(owner, level.weight[place], len(rest))
            some = mass[owner] > 0
            owner, place = owner[some], place[some]
            parts.append((owner, level.symbol[place], rest[owner] * level.weight[place] / mass[owner]))
            open_ = np.setdiff1d(open_, owner)
        parts.append((open_, np.full(len(open_), self.end, np.int64), rest[open_]))
        rows, symbols, weights = zip(*parts, strict=True)
        return np.concatenate(rows), np.concatenate(symbols), np.concatenate(weights)
