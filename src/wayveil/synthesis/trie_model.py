"""A released trie of n-grams: a table, a tree for people, and trips that walk through overlapping n-grams.

Contexts of which only the frequent next symbols are known, completed so that walks can go on from them.

Where there are too many possible n-grams to count each, what stands out of the noise comes back and the rest does not.
A context then knows some of what follows it, and how often it occurs in all. What is missing is shared out as the
longest shorter context has it; of a single symbol, where there is no shorter one, the missing trips end.
"""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from wayveil.arrays import Floats, Ints
from wayveil.errors import RefusedError
from wayveil.synthesis.model import Model
from wayveil.synthesis.ngram_model import NOT_ASKED, NgramModel, NgramTable, nest_table
from wayveil.synthesis.walks import ContextBook, Walker, WeightedSteps
from wayveil.trips.trips import Trips
from wayveil.world.world import World


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


class NothingAcceptedError(RefusedError):
    """A private search ended without a result. That is a private answer too, and it has been paid for."""


@dataclass(frozen=True, eq=False)
class Trie(Model):
    """Noisy n-grams of one length n, marks included, as the paths of a tree of depth n.

    grams     the n-grams that were kept
    begins    marks at the beginning of a trip; symbol `world.size + begins` is the mark of the end
    trips     how many trips there are, from noisy counts
    longest   most stops of a generated trip (public)
    accepted  False when a search found no trie that is good enough: there is then nothing to use
    """

    world: World
    grams: NgramTable
    begins: int
    trips: float
    longest: int
    accepted: bool = True

    @property
    def end(self) -> int:
        return self.world.size + self.begins

    def generate(self, seed: int | None = None) -> Trips:
        """Trips that start and end at marks. Each next stop completes an n-gram; where none is known, a shorter one."""
        if not self.accepted:
            raise NothingAcceptedError(
                "the search ended without a trie of the wanted quality. Its epsilon is spent, because ending without "
                "a result is an answer as well. Searching again is a new purchase; a lower wanted quality, or "
                "`mobitrie`, which needs no search, is more likely to give a result."
            )
        start = tuple(range(self.world.size, self.end))
        walker = Walker.of(self.steps(), start, self.end)
        rng = np.random.default_rng(seed)
        return walker.walk(self.world, self.trips, self.longest, rng, budget=self.budget())

    def lost(self) -> float:
        """Return how far the kept n-grams that begin a trip are from the number of trips, in shares of it."""
        return abs(1.0 - self._begins() / self.trips) if self.trips > 0 else 0.0

    def _begins(self) -> float:
        return float(self.grams.count[self.grams.symbols[:, 0] == self.world.size].sum())

    def budget(self) -> float:
        """Return how often walks may use an n-gram, in counts of it.

        Of a long trip only some n-grams were counted, chosen at random; those of the beginning tell which share.
        """
        begins = self._begins()
        return max(self.trips / begins, 1.0) if begins > 0 else 1.0

    def draw(self, trips: int | None = None, seed: int | None = None) -> Trips:
        """So many walks; None for as many as there are trips."""
        return (self if trips is None else replace(self, trips=float(trips))).generate(seed)

    def steps(self) -> list[WeightedSteps]:
        """Return what may follow what: n - 1 symbols decide, fewer where they are not known; and how trips begin."""
        n, symbols, weight = self.grams.n, self.grams.symbols, self.grams.count
        steps = [WeightedSteps(symbols[:, :-1], symbols[:, -1], weight)]
        for order in range(n - 2, 0, -1):
            inside = symbols[:, n - 1 - order] < self.world.size
            steps.append(
                WeightedSteps(symbols[inside, n - 1 - order : n - 1], symbols[inside, -1], weight[inside])
            )
        if n > 2:
            # The n-grams with all begin marks hold the first stop and what comes after it.
            first = symbols[:, 0] == self.world.size
            steps.append(WeightedSteps(symbols[first, : n - 2], symbols[first, n - 2], weight[first]))
        return steps

    def ngrams(self, n: int) -> tuple[Ints, Floats] | None:
        """The n-grams of n places that were kept."""
        return self.grams.of_places(self.world.size) if n == self.grams.n else None

    def table(self) -> pl.DataFrame:
        """One row per n-gram: its length, its stops with ^ and $ for the marks, noisy and cleaned count."""
        return NgramModel(self.world, (self.grams,), (), self.end, self.trips, self.longest).table()

    def nested(self, widest: int | None = None) -> dict[str, Any]:
        """The trie as nodes within nodes (see `nest_table`)."""
        return nest_table(self.table(), widest)

    def to_json(self, widest: int | None = None) -> str:
        """The nested trie as JSON, with the number of trips."""
        return json.dumps(
            {"n": self.grams.n, "trips": self.trips, "root": self.nested(widest)}, ensure_ascii=False
        )
