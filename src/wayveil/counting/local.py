"""Exact counts on this machine, with arrays and compiled loops."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wayveil.counting.blocks import block_counts
from wayveil.counting.hops import (
    HopCells,
    end_examples,
    hop_examples,
    hop_weights,
    trips_by_zone_and_hour,
)
from wayveil.counting.ngrams import capped_ngrams, normalised_ngrams
from wayveil.counting.prefixes import LocalPrefixes
from wayveil.counting.protocol import Encoding
from wayveil.counting.quadtree import pair_counts
from wayveil.counting.runs import LocalRuns
from wayveil.privacy.bits import Bits
from wayveil.privacy.gate import SparseCounts
from wayveil.privacy.training import Examples
from wayveil.privacy.units import Unit
from wayveil.trips.trips import Trips

if TYPE_CHECKING:
    from wayveil.world.marked_ngrams import MarkedNgrams
    from wayveil.world.ngrams import NgramUniverse
    from wayveil.world.timebins import TimeBins
    from wayveil.world.walk_blocks import Block
    from wayveil.world.zones import Zones

# n-grams are ranked in pieces of this many visits, so that memory does not grow with the dataset.
PIECE = 4_000_000


class LocalCounter:
    """Counts one bounded dataset held in memory."""

    def __init__(self, trips: Trips) -> None:
        self.world = trips.world
        self._trips = trips

    def prefixes(self, encoding: Encoding | None = None) -> LocalPrefixes:
        return LocalPrefixes(self._trips, encoding)

    def visits(self, encoding: Encoding, universe: int, most: int | None) -> SparseCounts:
        trips = self._trips if most is None else self._trips.cut(most)
        (symbol,) = encoding.encode(trips.location, trips.time)
        return SparseCounts.of_keys(universe, symbol[symbol >= 0].astype(np.int64))

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

    def runs(self, moves: int) -> LocalRuns:
        return LocalRuns(self._trips, moves)

    def trips(self) -> SparseCounts:
        return SparseCounts.dense(np.array([np.count_nonzero(self._trips.lengths)]))

    @property
    def timed(self) -> bool:
        return self._trips.time is not None

    def block(self, block: "Block", whole: int, bins: "TimeBins | None" = None) -> SparseCounts:
        return block_counts(self._trips, block, whole, bins)

    def pairs(self, zones: "Zones") -> SparseCounts:
        return pair_counts(self._trips, zones)

    def hop_examples(self, unit: Unit) -> Examples:
        return hop_examples(self._trips, unit)

    def end_examples(self, unit: Unit) -> Examples:
        return end_examples(self._trips, unit)

    def hop_weights(self, cells: HopCells, universe: int, whole: int) -> SparseCounts:
        return hop_weights(self._trips, cells, universe, whole)

    def starts(self, zone: NDArray[np.int64], zones: int) -> SparseCounts:
        return trips_by_zone_and_hour(self._trips, zone, zones)


def _windows(trips: Trips, n: int):  # type: ignore[no-untyped-def]
    """All runs of n consecutive visits of one trip, as rows, a piece at a time."""
    starts = np.flatnonzero(np.arange(trips.visits) + n <= np.repeat(trips.offsets[1:], trips.lengths))
    for begin in range(0, len(starts), PIECE):
        yield trips.location[starts[begin : begin + PIECE, None] + np.arange(n)]
