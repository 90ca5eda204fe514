"""A released trie of n-grams: a table, a tree for people, and trips that walk through overlapping n-grams."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from wayveil.errors import RefusedError
from wayveil.synthesis.ngram_model import NgramModel, NgramTable
from wayveil.synthesis.walks import Steps, Walker
from wayveil.trips.trips import Trips
from wayveil.world.world import World


class NothingAcceptedError(RefusedError):
    """A private search ended without a result. That is a private answer too, and it has been paid for."""


@dataclass(frozen=True, eq=False)
class Trie:
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

    def generate(self, seed: int | None = None, *, trips: int | None = None) -> Trips:
        """Trips that start and end at marks. Each next stop completes an n-gram; where none is known, a shorter one."""
        if not self.accepted:
            raise NothingAcceptedError(
                "the search ended without a trie of the wanted quality. Its epsilon is spent, because ending without "
                "a result is an answer as well. Searching again is a new purchase; a lower wanted quality, or "
                "`mobitrie`, which needs no search, is more likely to give a result."
            )
        start = tuple(range(self.world.size, self.end))
        walker = Walker.of(self.steps(), start, self.end)
        count = self.trips if trips is None else trips
        return walker.walk(self.world, count, self.longest, np.random.default_rng(seed))

    def steps(self) -> list[Steps]:
        """What may follow what: n - 1 symbols decide, fewer where they are not known; and how trips begin."""
        n, symbols, weight = self.grams.n, self.grams.symbols, self.grams.count
        steps = [Steps(symbols[:, :-1], symbols[:, -1], weight)]
        for order in range(n - 2, 0, -1):
            inside = symbols[:, n - 1 - order] < self.world.size
            steps.append(Steps(symbols[inside, n - 1 - order : n - 1], symbols[inside, -1], weight[inside]))
        if n > 2:
            # The n-grams with all begin marks hold the first stop and what comes after it.
            first = symbols[:, 0] == self.world.size
            steps.append(Steps(symbols[first, : n - 2], symbols[first, n - 2], weight[first]))
        return steps

    def table(self) -> pl.DataFrame:
        """One row per n-gram: its length, its stops with ^ and $ for the marks, noisy and cleaned count."""
        return NgramModel(self.world, (self.grams,), (), self.end, self.trips, self.longest).table()

    def nested(self, widest: int | None = None) -> dict[str, Any]:
        """The trie as nodes within nodes (see `nested_table`)."""
        return nested_table(self.table(), widest)

    def to_json(self, widest: int | None = None) -> str:
        """The nested trie as JSON, with the number of trips."""
        return json.dumps(
            {"n": self.grams.n, "trips": self.trips, "root": self.nested(widest)}, ensure_ascii=False
        )


def nested_table(table: pl.DataFrame, widest: int | None = None) -> dict[str, Any]:
    """The n-grams of a released table as nodes within nodes, the most frequent first, at most `widest` children each.

    A node has `stop`, `count` (the sum over its n-grams) and `children`; the root has no stop. Of n-grams of several
    lengths the longest are shown.
    """
    longest = table.filter(pl.col("length") == pl.col("length").max())
    rows = list(zip(longest["ngram"].to_list(), longest["count"].to_list(), strict=True))
    return {"count": float(longest["count"].sum()), "children": _children(rows, 0, widest)}


def _children(rows: list[tuple[list[str], float]], depth: int, widest: int | None) -> list[dict[str, Any]]:
    branches: dict[str, list[tuple[list[str], float]]] = {}
    for row in rows:
        if depth < len(row[0]):
            branches.setdefault(row[0][depth], []).append(row)
    totals = {stop: sum(count for _, count in below) for stop, below in branches.items()}
    return [
        {"stop": stop, "count": totals[stop], "children": _children(branches[stop], depth + 1, widest)}
        for stop in sorted(branches, key=lambda stop: -totals[stop])[:widest]
    ]
