"""Protocol of a counting engine. Engines give the same exact answers; mechanisms do not know which one they use."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from wayveil.privacy.bits import Bits
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.training import Examples
from wayveil.privacy.units import Unit
from wayveil.world.successors import Successors
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.counting.hops import HopCells
    from wayveil.world.marked_ngrams import MarkedNgrams
    from wayveil.world.ngrams import NgramUniverse
    from wayveil.world.successors import MarkedMoves
    from wayveil.world.timebins import TimeBins
    from wayveil.world.walk_blocks import Block
    from wayveil.world.zones import Zones


@dataclass(frozen=True, eq=False)
class Frontier:
    """The public candidates for the next level of a tree: the children of the nodes kept so far.

    Cell `starts[i] + r` is the child of node i with rank r among the successors of the node's state.
    """

    states: NDArray[np.int64]
    successors: Successors

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First cell of each node, and the number of cells at the end."""
        return np.concatenate([[0], np.cumsum(self.successors.degree(self.states))]).astype(np.int64)

    @property
    def universe(self) -> int:
        """Number of candidates, all nodes together."""
        return int(self.starts[-1])

    def children(
        self, cells: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """Parent node, symbol and state of the given candidates."""
        parent = np.searchsorted(self.starts, cells, side="right") - 1
        source = self.states[parent]
        symbol = self.successors.nth(source, cells - self.starts[parent])
        return parent, symbol, self.successors.follow(source, symbol)


class Encoding(Protocol):
    """A public way to write a visit as one or more symbols, for trees over other alphabets than locations."""

    @property
    def width(self) -> int:
        """Symbols per visit."""

    def encode(self, location: NDArray[np.int32], time: NDArray[np.int64] | None) -> list[NDArray[np.int32]]:
        """The first symbol of each visit, then the second, and so on: `width` columns.

        A negative symbol is one that the alphabet does not have.
        """


class Alphabet(Encoding, Protocol):
    """An encoding with one symbol per visit, out of `size` of them."""

    @property
    def size(self) -> int:
        """Symbols there are."""


class LevelCounter(Protocol):
    """Walks a tree level by level: count the candidates, keep some, count their children, and so on."""

    def count(self, frontier: Frontier) -> SparseCounts:
        """Return how many trips (or places of trips) reach each candidate of the next level."""

    def descend(self, kept: NDArray[np.int64]) -> None:
        """Make the kept candidates (ascending cells of the last frontier) the nodes of the next one."""


class Counter(Protocol):
    """Exact counts of one bounded dataset."""

    world: World

    def prefixes(self, encoding: Encoding | None = None) -> LevelCounter:
        """Start at the root of the tree of all prefixes. Each trip adds one to one node per level.

        Symbols are locations, or what the encoding makes of each visit. A trip is counted up to the first symbol
        that the public candidates do not have.
        """

    def visits(self, encoding: Encoding, universe: int, most: int | None) -> SparseCounts:
        """Return how often each symbol below `universe` occurs, of an encoding with one symbol per visit.

        Every visit adds one to one cell; of each trip only the first `most` visits count (None: all).
        """

    def lengths(self, most: int) -> SparseCounts:
        """Trips by their number of visits, empty ones included; those with more than `most` count as `most`."""

    def ngrams(self, universe: "NgramUniverse") -> SparseCounts:
        """Occurrences of every n-gram of the public universe, repeats included; other n-grams are not counted."""

    def capped_ngrams(self, universe: "MarkedNgrams", most: int, bits: Bits) -> SparseCounts:
        """Trips in which each marked n-gram occurs; a trip counts for at most `most` of its own, chosen by the bits."""

    def normalised_ngrams(self, universe: "MarkedNgrams", whole: int) -> SparseCounts:
        """Weight of each marked n-gram when every trip spreads at most `whole` evenly over its n-grams."""

    def normalised_moves(self, universe: "MarkedMoves", whole: int, encoding: Alphabet) -> SparseCounts:
        """Weight of each marked move between encoded visits, when every trip spreads at most `whole` evenly."""

    def weight_classes(self, classes: int) -> SparseCounts:
        """Trips by the class of their unit, where trips are weighed (see `tally.CountWeightClasses`)."""

    def trips(self) -> SparseCounts:
        """Return how many trips there are that visit anything: a histogram of one cell."""

    def runs(self, moves: int, encoding: Alphabet | None = None) -> LevelCounter:
        """Runs of symbols that start anywhere in the first `moves` moves of a marked trip.

        Symbols are locations, or those of an encoding with one symbol per visit.

        Start with every symbol as a node. Each place of a trip adds one to one node per level.
        """

    @property
    def timed(self) -> bool:
        """Tell whether the trips have times: a fact about the kind of data, not about anybody."""

    def block(self, block: "Block", whole: int, bins: "TimeBins | None" = None) -> SparseCounts:
        """Return what all trips add to the cells of a public block, when each has `whole` to give and may spread it."""

    def pairs(self, zones: "Zones") -> SparseCounts:
        """Return how many trips go from one place to another, over all pairs of codes of the zones."""

    def hop_examples(self, unit: Unit) -> Examples:
        """Hops to train on, as (here, next, destination, hour), grouped by trip and unit. For the gate only."""

    def end_examples(self, unit: Unit) -> Examples:
        """Ends of trips to train on, as (origin, destination, hour), likewise."""

    def hop_weights(self, cells: "HopCells", universe: int, whole: int) -> SparseCounts:
        """Weight of public cells of hops, when every trip spreads at most `whole` evenly over its hops."""

    def starts(self, zone: NDArray[np.int64], zones: int) -> SparseCounts:
        """Trips by the zone of their origin (given for every place) and the hour of the day: zone x 24 + hour."""
