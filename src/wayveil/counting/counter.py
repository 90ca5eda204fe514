"""The counter of every engine: which function each count is, and nothing about where the trips are."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wayveil.arrays import Ints
from wayveil.counting.hops import CountHopWeights, CountStarts
from wayveil.counting.levels import Prefixes, Start, Suffixes
from wayveil.counting.ngram_counts import CountCappedNgrams, CountNormalisedNgrams
from wayveil.counting.protocol import Alphabet, Encoding, LevelCounter
from wayveil.counting.tally import ONE, Count, CountWeightClasses, Weighted
from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.training import Examples
from wayveil.privacy.units import Unit
from wayveil.privacy.weights import PARTS
from wayveil.trips.trips import Trips
from wayveil.world.ngrams import NgramUniverse
from wayveil.world.successors import MarkedMoves
from wayveil.world.timebins import TimeBins
from wayveil.world.walk_blocks import Block, Walks, whole_weights
from wayveil.world.world import World
from wayveil.world.zones import Zones

if TYPE_CHECKING:
    from wayveil.counting.hops import HopCells
    from wayveil.world.marked_ngrams import MarkedNgrams
    from wayveil.world.successors import MarkedMoves
    from wayveil.world.timebins import TimeBins
    from wayveil.world.walk_blocks import Block
    from wayveil.world.zones import Zones


@dataclass(frozen=True)
class CountTrips:
    """Trips that visit anything, in one cell."""

    universe: int = 1

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        return np.zeros(1, np.int64), np.array([np.count_nonzero(trips.lengths)])


@dataclass(frozen=True)
class CountLengths:
    """Trips by their number of visits, of which `most` at most are counted."""

    most: int

    @property
    def universe(self) -> int:
        return self.most + 1

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        return np.minimum(trips.lengths, self.most), ONE


@dataclass(frozen=True)
class CountVisits:
    """Number of times that each symbol occurs among the first `most` visits of every trip (None: all)."""

    encoding: Encoding
    universe: int
    most: int | None

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        trips = trips if self.most is None else trips.cut(self.most)
        (symbol,) = self.encoding.encode(trips.location, trips.time)
        return symbol[symbol >= 0].astype(np.int64), ONE


@dataclass(frozen=True)
class CountPairs:
    """Trips from one place to another, over all pairs of codes; a trip without a visit is in none."""

    zones: Zones

    @property
    def universe(self) -> int:
        return 1 << 2 * self.zones.depth

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        full = trips.lengths > 0
        return self.zones.pair(trips.origins()[full], trips.destinations()[full]), ONE


@dataclass(frozen=True)
class CountNgrams:
    """Occurrences of every n-gram of a public universe, repeats included; other n-grams are not counted."""

    ngrams: NgramUniverse

    @property
    def universe(self) -> int:
        return self.ngrams.size

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        n = self.ngrams.n
        starts = np.flatnonzero(np.arange(trips.visits) + n <= np.repeat(trips.offsets[1:], trips.lengths))
        rank = self.ngrams.rank(trips.location[starts[:, None] + np.arange(n)])
        return rank[rank >= 0], ONE


@dataclass(frozen=True)
class CountNormalisedMoves:
    """Weight of each move, when a trip of L visits gives floor(whole / (L + 1)) to each of its moves.

    Begin and end are moves too. One trip more or less moves the counts by at most `whole` in all, whatever its length:
    moves that are not in the public universe are left out, and nobody else gets their weight.
    """

    moves: MarkedMoves
    whole: int
    encoding: Alphabet

    @property
    def universe(self) -> int:
        return self.moves.size

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        some = trips.take(np.flatnonzero(trips.lengths > 0))
        lengths = some.lengths
        symbol = self.encoding.encode(some.location, some.time)[0].astype(np.int64)
        before = np.insert(symbol, some.offsets[:-1], self.moves.begin)
        after = np.insert(symbol, some.offsets[1:], self.moves.end)
        # Both have one entry more per trip: ^ a b and a b $.
        keys = self.moves.rank(before, after)
        weight = np.repeat(self.whole // (lengths + 1), lengths + 1)
        inside = keys >= 0
        return keys[inside], weight[inside]


@dataclass(frozen=True)
class CountBlock:
    """Count trips in the cells of a public block.

    A trip adds one to the cell it falls into, or, in a block that it spreads over, floor(whole / norm) for each of its
    parts: never more than `whole` in all (in L2, where the block is euclidean), however long it is. Trips without a
    visit are not counted. Time bins are asked for the moment at which a trip begins.
    """

    block: Block
    whole: int
    bins: TimeBins | None = None

    @property
    def universe(self) -> int:
        return self.block.cells

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        walks = walks_of(trips, self.bins)
        if len(walks) == 0:
            return np.zeros(0, np.int64), ONE
        cells = self.block.of(walks)
        inside = cells >= 0
        if self.block.parts is None:
            return cells[inside], ONE * self.whole
        parts = self.block.parts(walks)
        weight = np.repeat(whole_weights(self.block, parts, cells, self.whole), parts)
        return cells[inside], weight[inside]


def walks_of(trips: Trips, bins: TimeBins | None = None) -> Walks:
    """The trips that visit anything, as the public blocks see them."""
    start = trips.offsets[:-1][trips.lengths > 0]
    begin = None
    if bins is not None and trips.time is not None:
        begin = bins.bin_of(trips.time[start])
    return Walks(trips.location, np.append(start, trips.visits), begin)


TRAINED = (
    "a mechanism that is trained looks at single hops again and again: only the engine `memory` has them"
)


class EngineCounter(ABC):
    """Exact counts of one bounded dataset. An engine says how a function is summed over the pieces of its trips."""

    world: World
    timed: bool
    weighted: bool

    @abstractmethod
    def total(self, count: Count) -> SparseCounts:
        """The sum of the function over all pieces."""

    def exact(self, count: Count) -> SparseCounts:
        """The sum over all trips, each with its weight where it has one."""
        if not self.weighted:
            return self.total(count)
        weighted = Weighted(count)
        return replace(self.total(weighted), parts=weighted.parts)

    @abstractmethod
    def levels(self, start: Start) -> LevelCounter:
        """A tree, counted level by level."""

    def prefixes(self, encoding: Encoding | None = None) -> LevelCounter:
        return self.levels(Prefixes(encoding))

    def runs(self, moves: int, encoding: Alphabet | None = None) -> LevelCounter:
        return self.levels(Suffixes(moves, encoding))

    def trips(self) -> SparseCounts:
        counted = self.exact(CountTrips())
        return SparseCounts.dense(np.array([counted.counts.sum()]), counted.parts)

    def weight_classes(self, classes: int) -> SparseCounts:
        """Trips of weighed units by class (see `CountWeightClasses`)."""
        return replace(self.total(CountWeightClasses(classes)), parts=PARTS)

    def lengths(self, most: int) -> SparseCounts:
        return self.exact(CountLengths(most))

    def visits(self, encoding: Encoding, universe: int, most: int | None) -> SparseCounts:
        return self.exact(CountVisits(encoding, universe, most))

    def ngrams(self, universe: "NgramUniverse") -> SparseCounts:
        return self.exact(CountNgrams(universe))

    def capped_ngrams(self, universe: "MarkedNgrams", most: int, bits: Bits) -> SparseCounts:
        return self.exact(CountCappedNgrams(universe, most, bits.words(2).copy()))

    def normalised_ngrams(self, universe: "MarkedNgrams", whole: int) -> SparseCounts:
        return self.exact(CountNormalisedNgrams(universe, whole))

    def normalised_moves(self, universe: "MarkedMoves", whole: int, encoding: Alphabet) -> SparseCounts:
        return self.exact(CountNormalisedMoves(universe, whole, encoding))

    def block(self, block: "Block", whole: int, bins: "TimeBins | None" = None) -> SparseCounts:
        return self.exact(CountBlock(block, whole, bins))

    def pairs(self, zones: "Zones") -> SparseCounts:
        return self.exact(CountPairs(zones))

    def hop_weights(self, cells: "HopCells", universe: int, whole: int) -> SparseCounts:
        return self.exact(CountHopWeights(cells, universe, whole))

    def starts(self, zone: Ints, zones: int) -> SparseCounts:
        return self.exact(CountStarts(zone, zones))

    def hop_examples(self, unit: Unit) -> Examples:
        raise ParameterError(TRAINED)

    def end_examples(self, unit: Unit) -> Examples:
        raise ParameterError(TRAINED)
