"""The counter of every engine: which function each count is, and nothing about where the trips are.

Engines give the same exact answers; mechanisms do not know which one they use.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wayveil.arrays import Ints
from wayveil.counting.hops import HOURS, HopCells, count_hop_weights, start_hours
from wayveil.counting.levels import Prefixes, Start, Suffixes
from wayveil.counting.ngram_counts import count_capped_ngrams, count_normalised_ngrams
from wayveil.counting.protocol import Alphabet, Encoding, LevelCounter
from wayveil.counting.tally import ONE, Count, count_weight_steps, weighted
from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.training import Examples
from wayveil.privacy.units import Unit
from wayveil.privacy.weights import PARTS
from wayveil.trips.trips import Trips
from wayveil.trips.windows import window_starts
from wayveil.world.marked_ngrams import MarkedNgrams
from wayveil.world.ngrams import NgramUniverse
from wayveil.world.successors import MarkedMoves
from wayveil.world.timebins import TimeBins
from wayveil.world.walk_blocks import Block, Walks, whole_weights
from wayveil.world.world import World
from wayveil.world.zones import Zones

TRAINED = (
    "a mechanism that is trained looks at single hops again and again: only the engine `memory` has them"
)


class Counter(ABC):
    """Exact counts of one bounded dataset. An engine says how a function is summed over the pieces of its trips.

    timed   whether the trips have times: a fact about the kind of data, not about anybody
    """

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
        by_weight, parts = weighted(count)
        return replace(self.total(by_weight), parts=parts)

    @abstractmethod
    def levels(self, start: Start) -> LevelCounter:
        """A tree, counted level by level."""

    def prefixes(self, encoding: Encoding | None = None) -> LevelCounter:
        """Start at the root of the tree of all prefixes. Each trip adds one to one node per level.

        Symbols are locations, or what the encoding makes of each visit. A trip is counted up to the first symbol
        that the public candidates do not have.
        """
        return self.levels(Prefixes(encoding))

    def runs(self, moves: int, encoding: Alphabet | None = None) -> LevelCounter:
        """Runs of symbols that start anywhere in the first `moves` moves of a marked trip.

        Symbols are locations, or those of an encoding with one symbol per visit. Start with every symbol as a node.
        Each place of a trip adds one to one node per level.
        """
        return self.levels(Suffixes(moves, encoding))

    def trips(self) -> SparseCounts:
        """Return how many trips there are that visit anything: a histogram of one cell."""
        counted = self.exact(Count(1, _count_trips))
        return SparseCounts.dense(np.array([counted.counts.sum()]), counted.parts)

    def repeats(self, most: int) -> SparseCounts:
        """Return how many visits, of the first `most` of a trip, are at a stop where the trip has been: one cell."""

        def again(trips: Trips) -> tuple[Ints, Ints]:
            trips = trips.cut(most)
            return np.zeros(1, np.int64), np.array([trips.repeats()])

        counted = self.exact(Count(1, again))
        return SparseCounts.dense(np.array([counted.counts.sum()]), counted.parts)

    def weight_steps(self, steps: Sequence[int]) -> SparseCounts:
        """Weights of trips by how many rows their unit has (see `count_weight_steps`)."""
        return replace(self.total(count_weight_steps(steps)), parts=PARTS)

    def lengths(self, most: int) -> SparseCounts:
        """Trips by their number of visits, empty ones included; those with more than `most` count as `most`."""
        return self.exact(Count(most + 1, lambda trips: (np.minimum(trips.lengths, most), ONE)))

    def visits(self, encoding: Encoding, universe: int, most: int | None) -> SparseCounts:
        """Return how often each symbol below `universe` occurs, of an encoding with one symbol per visit.

        Every visit adds one to one cell; of each trip only the first `most` visits count (None: all).
        """

        def symbols(trips: Trips) -> tuple[Ints, Ints]:
            trips = trips if most is None else trips.cut(most)
            (symbol,) = encoding.encode(trips.location, trips.time)
            return symbol[symbol >= 0].astype(np.int64), ONE

        return self.exact(Count(universe, symbols))

    def ngrams(self, universe: NgramUniverse) -> SparseCounts:
        """Occurrences of every n-gram of the public universe, repeats included; other n-grams are not counted."""

        def ranks(trips: Trips) -> tuple[Ints, Ints]:
            rank = universe.rank(
                trips.location[window_starts(trips, universe.n)[:, None] + np.arange(universe.n)]
            )
            return rank[rank >= 0], ONE

        return self.exact(Count(universe.size, ranks))

    def capped_ngrams(self, universe: MarkedNgrams, most: int, bits: Bits) -> SparseCounts:
        """Trips in which each marked n-gram occurs; a trip counts for at most `most` of its own, chosen by the bits."""
        return self.exact(count_capped_ngrams(universe, most, bits.words(2).copy()))

    def normalised_ngrams(self, universe: MarkedNgrams, whole: int) -> SparseCounts:
        """Weight of each marked n-gram when every trip spreads at most `whole` evenly over its n-grams."""
        return self.exact(count_normalised_ngrams(universe, whole))

    def normalised_moves(self, universe: MarkedMoves, whole: int, encoding: Alphabet) -> SparseCounts:
        """Weight of each move between encoded visits: a trip of L visits gives floor(whole / (L + 1)) to each.

        Begin and end are moves too. One trip more or less moves the counts by at most `whole` in all, whatever its
        length: moves that are not in the public universe are left out, and nobody else gets their weight.
        """

        def moves(trips: Trips) -> tuple[Ints, Ints]:
            some = trips.take(np.flatnonzero(trips.lengths > 0))
            symbol = encoding.encode(some.location, some.time)[0].astype(np.int64)
            # Both have one entry more per trip: ^ a b and a b $.
            before = np.insert(symbol, some.offsets[:-1], universe.begin)
            keys = universe.rank(before, np.insert(symbol, some.offsets[1:], universe.end))
            weight = np.repeat(whole // (some.lengths + 1), some.lengths + 1)
            inside = keys >= 0
            return keys[inside], weight[inside]

        return self.exact(Count(universe.size, moves, whole))

    def block(self, block: Block, whole: int, bins: TimeBins | None = None) -> SparseCounts:
        """Return what all trips add to the cells of a public block (see `count_block`)."""
        return self.exact(count_block(block, whole, bins))

    def pairs(self, zones: Zones) -> SparseCounts:
        """Return how many trips go from one place to another, over all pairs of codes of the zones."""

        def ends(trips: Trips) -> tuple[Ints, Ints]:
            full = trips.lengths > 0
            return zones.pair(trips.origins()[full], trips.destinations()[full]), ONE

        return self.exact(Count(1 << 2 * zones.depth, ends))

    def hop_weights(self, cells: HopCells, universe: int, whole: int) -> SparseCounts:
        """Weight of public cells of hops, when every trip spreads at most `whole` evenly over its hops."""
        return self.exact(count_hop_weights(cells, universe, whole))

    def starts(self, zone: Ints, zones: int) -> SparseCounts:
        """Trips by the zone of their origin (given for every place) and the hour of the day: zone x 24 + hour."""

        def beginnings(trips: Trips) -> tuple[Ints, Ints]:
            full = trips.lengths > 0
            return zone[trips.origins()[full]] * HOURS + start_hours(trips)[full], ONE

        return self.exact(Count(zones * HOURS, beginnings))

    def hop_examples(self, unit: Unit) -> Examples:
        """Hops to train on, as (here, next, destination, hour), grouped by trip and unit. For the gate only."""
        raise ParameterError(TRAINED)

    def end_examples(self, unit: Unit) -> Examples:
        """Ends of trips to train on, as (origin, destination, hour), likewise."""
        raise ParameterError(TRAINED)


def _count_trips(trips: Trips) -> tuple[Ints, Ints]:
    return np.zeros(1, np.int64), np.array([np.count_nonzero(trips.lengths)])


def count_block(block: Block, whole: int, bins: TimeBins | None = None) -> Count:
    """Count trips in the cells of a public block.

    A trip adds one to the cell it falls into, or, in a block that it spreads over, floor(whole / norm) for each of its
    parts: never more than `whole` in all (in L2, where the block is euclidean), however long it is. Trips without a
    visit are not counted. Time bins are asked for the moment at which a trip begins.
    """

    def of(trips: Trips) -> tuple[Ints, Ints]:
        walks = walks_of(trips, bins)
        if len(walks) == 0:
            return np.zeros(0, np.int64), ONE
        cells = block.of(walks)
        inside = cells >= 0
        if block.parts is None:
            return cells[inside], ONE * whole
        parts = block.parts(walks)
        weight = np.repeat(whole_weights(block, parts, cells, whole), parts)
        return cells[inside], weight[inside]

    return Count(block.cells, of, whole)


def walks_of(trips: Trips, bins: TimeBins | None = None) -> Walks:
    """The trips that visit anything, as the public blocks see them."""
    start = trips.offsets[:-1][trips.lengths > 0]
    begin = None if bins is None or trips.time is None else bins.bin_of(trips.time[start])
    return Walks(trips.location, np.append(start, trips.visits), begin)
