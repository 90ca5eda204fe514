"""A released trie of n-grams: a table, a tree for people, and trips that walk through overlapping n-grams."""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import RefusedError
from wayveil.synthesis.model import Model
from wayveil.synthesis.ngram_model import NgramModel, NgramTable, nest_table
from wayveil.synthesis.walks import Walker, WeightedSteps
from wayveil.trips.trips import Trips
from wayveil.world.world import World


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

    def ngrams(self, n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
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
