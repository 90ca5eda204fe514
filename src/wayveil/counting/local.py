"""Exact counts on this machine, with arrays and compiled loops."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wayveil.counting.ngrams import capped_ngrams, normalised_ngrams
from wayveil.counting.protocol import Encoding, Frontier
from wayveil.privacy.bits import Bits
from wayveil.privacy.gate import SparseCounts
from wayveil.trips.trips import Trips

if TYPE_CHECKING:
    from wayveil.world.marked_ngrams import MarkedNgrams
    from wayveil.world.ngrams import NgramUniverse

# n-grams are ranked in pieces of this many visits, so that memory does not grow with the dataset.
PIECE = 4_000_000


class LocalPrefixes:
    """A cursor through the tree of prefixes: for every trip that is still inside it, the node it has reached."""

    def __init__(self, symbols: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        self._symbols = symbols
        self._position = offsets[:-1]
        self._end = offsets[1:]
        self._node = np.zeros(len(self._position), np.int32)
        self._cell = np.zeros(0, np.int64)
        self._drop(self._position < self._end)

    def count(self, frontier: Frontier) -> SparseCounts:
        symbol = self._symbols[self._position]
        rank = frontier.successors.rank(frontier.states[self._node], symbol)
        legal = rank >= 0
        if not legal.all():
            # The public alphabet has no such move: the trip ends here, whatever else is in the data.
            self._drop(legal)
            rank = rank[legal]
        self._cell = frontier.starts[self._node] + rank
        return SparseCounts.of_keys(frontier.universe, self._cell)

    def descend(self, kept: NDArray[np.int64]) -> None:
        node = np.searchsorted(kept, self._cell)
        inside = node < len(kept)
        inside[inside] = kept[node[inside]] == self._cell[inside]
        self._node = node.astype(np.int32)
        self._position = self._position + 1
        self._drop(inside & (self._position < self._end))

    def _drop(self, stay: NDArray[np.bool_]) -> None:
        self._position, self._end, self._node = self._position[stay], self._end[stay], self._node[stay]


class LocalCounter:
    """Counts one bounded dataset held in memory."""

    def __init__(self, trips: Trips) -> None:
        self.world = trips.world
        self._trips = trips

    def prefixes(self, encoding: Encoding | None = None) -> LocalPrefixes:
        if encoding is None:
            return LocalPrefixes(self._trips.location, self._trips.offsets)
        symbols = encoding.encode(self._trips.location, self._trips.time)
        return LocalPrefixes(symbols.ravel(), self._trips.offsets * encoding.width)

    def lengths(self) -> NDArray[np.int64]:
        return self._trips.lengths

    def ngrams(self, universe: "NgramUniverse") -> SparseCounts:
        found, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
        for piece in _windows(self._trips, universe.n):
            rank = universe.rank(piece)
            part = SparseCounts.of_keys(universe.size, rank[rank >= 0])
            keys = np.concatenate([found, part.keys])
            found, inverse = np.unique(keys, return_inverse=True)
            counts = np.bincount(inverse, np.concatenate([counts, part.counts]), len(found)).astype(np.int64)
        return SparseCounts(universe.size, found, counts)

    def capped_ngrams(self, universe: "MarkedNgrams", most: int, bits: Bits) -> SparseCounts:
        return capped_ngrams(self._trips, universe, most, bits)

    def normalised_ngrams(self, universe: "MarkedNgrams", whole: int) -> SparseCounts:
        return normalised_ngrams(self._trips, universe, whole)

    def trips(self) -> SparseCounts:
        return SparseCounts.dense(np.array([np.count_nonzero(self._trips.lengths)]))


def _windows(trips: Trips, n: int):  # type: ignore[no-untyped-def]
    """All runs of n consecutive visits of one trip, as rows, a piece at a time."""
    starts = np.flatnonzero(np.arange(trips.visits) + n <= np.repeat(trips.offsets[1:], trips.lengths))
    for begin in range(0, len(starts), PIECE):
        yield trips.location[starts[begin : begin + PIECE, None] + np.arange(n)]
