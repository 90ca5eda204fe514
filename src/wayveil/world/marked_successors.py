"""The moves of a world with two more symbols: the begin mark, after which any location may come, and the end mark,
which may come after any location. Single moves have ranks, so that a universe of all of them is never listed.
"""

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import AnyInts
from wayveil.world.successors import Successors


class MarkedSuccessors(Successors):
    """Locations 0..locations-1, then the begin mark, then the end mark. The end is the last in every row."""

    def __init__(self, moves: Successors) -> None:
        self.moves = moves
        self.locations = moves.size
        self.begin, self.end = moves.size, moves.size + 1
        self.size = moves.size + 2

    @property
    def mean_degree(self) -> float:
        return float(self.degree(np.arange(self.size)).mean())

    def degree(self, source: AnyInts) -> NDArray[np.int64]:
        source = np.asarray(source)
        inside = self.moves.degree(np.minimum(source, self.locations - 1)) + 1
        marks = np.where(source == self.begin, self.locations, 0)
        return np.where(source < self.locations, inside, marks).astype(np.int64)

    def nth(self, source: AnyInts, rank: AnyInts) -> NDArray[np.int32]:
        source, rank = np.broadcast_arrays(np.asarray(source), np.asarray(rank))
        out = np.where(source < self.locations, self.end, rank).astype(np.int32)
        inside = np.flatnonzero((source < self.locations) & (rank < self.degree(source) - 1))
        out[inside] = self.moves.nth(source[inside], rank[inside])
        return out

    def rank(self, source: AnyInts, target: AnyInts) -> NDArray[np.int64]:
        source, target = np.broadcast_arrays(np.asarray(source), np.asarray(target))
        out = np.full(source.shape, -1, np.int64)
        begin = np.flatnonzero((source == self.begin) & (target < self.locations))
        out[begin] = target[begin]
        ending = np.flatnonzero((source < self.locations) & (target == self.end))
        out[ending] = self.moves.degree(source[ending])
        inside = np.flatnonzero((source < self.locations) & (target < self.locations))
        out[inside] = self.moves.rank(source[inside], target[inside])
        return out


class MarkedMoves:
    """All moves over any successors, marks included, ranked 0..size-1: by where they start, then by where they go.

    Holds one number per symbol. An alphabet of tens of thousands has hundreds of millions of moves, and no table.
    """

    n = 2

    def __init__(self, moves: Successors) -> None:
        self.successors = MarkedSuccessors(moves)
        self.locations, self.begin, self.end = moves.size, self.successors.begin, self.successors.end
        degree = self.successors.degree(np.arange(self.end))
        self._starts = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
        self.size = int(self._starts[-1])

    def rank(self, source: AnyInts, target: AnyInts) -> NDArray[np.int64]:
        """The rank of each move, -1 for one that is not in the universe; a negative symbol is in none."""
        source = np.asarray(source, np.int64)
        known = (source >= 0) & (source < self.end)
        at = np.where(known, source, 0)
        rank = self.successors.rank(at, target)
        return np.where(known & (rank >= 0), self._starts[at] + rank, -1)

    def unrank(self, ranks: AnyInts) -> NDArray[np.int64]:
        """Both symbols of each rank, one row each."""
        ranks = np.asarray(ranks, np.int64)
        source = np.searchsorted(self._starts, ranks, side="right") - 1
        target = self.successors.nth(source, ranks - self._starts[source]).astype(np.int64)
        return np.stack([source, target], axis=1)
