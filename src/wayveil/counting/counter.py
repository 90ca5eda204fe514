"""The counter of every engine: which function each count is, and nothing about where the trips are."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wayveil.arrays import Ints
from wayveil.counting.blocks import CountBlock
from wayveil.counting.counts import CountLengths, CountNgrams, CountPairs, CountTrips, CountVisits
from wayveil.counting.hops import CountHopWeights, CountStarts
from wayveil.counting.levels import Prefixes, Start, Suffixes
from wayveil.counting.ngram_counts import CountCappedNgrams, CountNormalisedNgrams
from wayveil.counting.normalised_moves import CountNormalisedMoves
from wayveil.counting.protocol import Alphabet, Encoding, LevelCounter
from wayveil.counting.tally import Count, CountWeightClasses, Weighted
from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.training import Examples
from wayveil.privacy.units import Unit
from wayveil.privacy.weights import PARTS
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.counting.hops import HopCells
    from wayveil.world.marked_ngrams import MarkedNgrams
    from wayveil.world.ngrams import NgramUniverse
    from wayveil.world.successors import MarkedMoves
    from wayveil.world.timebins import TimeBins
    from wayveil.world.walk_blocks import Block
    from wayveil.world.zones import Zones


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
