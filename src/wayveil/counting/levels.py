"""Trees counted level by level, as a pure function of a piece of trips and of what was kept on the levels above."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.counting.prefixes import PrefixWalk
from wayveil.counting.protocol import Alphabet, Encoding, Frontier, LevelCounter
from wayveil.counting.tally import Count
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.weights import PARTS
from wayveil.trips.trips import Trips


class RunWalk:
    """Some trips on their way down a tree of contexts: for every place that is still inside, the node it has reached.

    A trip a b c is read as ^ a b c $ and makes one move more than it has stops. Of a longer trip only the first `moves`
    are counted, and it then has no end: where it would have ended is not known. So a trip has at most `moves` places
    that runs start from, each of which is in one node of every level at most. Place by place, the first node is the
    symbol there: nodes 0..locations-1 and the begin mark. With an encoding of one symbol per visit, its `size` symbols
    take the place of the locations; from a visit that it has no symbol for, no run starts, and none goes on to it.
    """

    def __init__(self, trips: Trips, moves: int, encoding: Alphabet | None = None) -> None:
        size = trips.world.size if encoding is None else encoding.size
        visited = trips.location if encoding is None else encoding.encode(trips.location, trips.time)[0]
        lengths = trips.lengths
        whole = lengths < moves
        symbols = np.where(lengths > 0, np.where(whole, lengths + 2, moves + 1), 0)
        offsets = np.concatenate([[0], np.cumsum(symbols)]).astype(np.int64)
        self._symbol = np.empty(offsets[-1], np.int32)
        filled = np.flatnonzero(lengths > 0)
        self._symbol[offsets[filled]] = size
        ended = np.flatnonzero(whole & (lengths > 0))
        self._symbol[offsets[ended + 1] - 1] = size + 1
        stops = np.minimum(lengths, moves)
        within = np.arange(int(stops.sum())) - np.repeat(np.cumsum(stops) - stops, stops)
        self._symbol[np.repeat(offsets[:-1] + 1, stops) + within] = visited[
            np.repeat(trips.offsets[:-1], stops) + within
        ]
        last = np.zeros(len(self._symbol), bool)
        last[offsets[filled + 1] - 1] = True
        self._last = last
        self._place = np.flatnonzero(~last & (self._symbol >= 0))
        self._node = self._symbol[self._place].astype(np.int64)
        self._cells = np.zeros(0, np.int64)

    def count(self, frontier: Frontier) -> SparseCounts:
        """Return how many places go on to each candidate. Places that leave the public world are dropped."""
        rank = frontier.successors.rank(frontier.states[self._node], self._symbol[self._place + 1])
        self._keep(rank >= 0)
        self._cells = frontier.starts[self._node] + rank[rank >= 0]
        return SparseCounts.of_keys(frontier.universe, self._cells)

    def descend(self, kept: NDArray[np.int64]) -> None:
        """Make the kept candidates (ascending) the nodes of the next level."""
        node = np.searchsorted(kept, self._cells)
        inside = node < len(kept)
        inside[inside] = kept[node[inside]] == self._cells[inside]
        self._node = node
        self._place = self._place + 1
        inside &= ~self._last[self._place]
        self._keep(inside)

    def _keep(self, stay: NDArray[np.bool_]) -> None:
        self._place, self._node = self._place[stay], self._node[stay]


class Start(Protocol):
    """Start of trips on a tree; can be sent to another machine."""

    def walk(self, trips: Trips) -> LevelCounter:
        """The trips at the root."""

    def shares(self, trips: Trips, count: int) -> Sequence[LevelCounter]:
        """Return it in so many shares, which can walk side by side."""


@dataclass(frozen=True)
class Prefixes:
    """Trips read from their first visit on, each symbol a step."""

    encoding: Encoding | None = None

    def walk(self, trips: Trips) -> PrefixWalk:
        return PrefixWalk(trips, self.encoding)

    def shares(self, trips: Trips, count: int) -> list[PrefixWalk]:
        """By where trips begin: those that go on alike are then in one share, and walk as one."""
        return [PrefixWalk(trips, self.encoding, share, count) for share in range(count)]


@dataclass(frozen=True)
class Suffixes:
    """Marked trips read from each of their places on, within their first moves."""

    moves: int
    encoding: Alphabet | None = None

    def walk(self, trips: Trips) -> RunWalk:
        return RunWalk(trips, self.moves, self.encoding)

    def shares(self, trips: Trips, count: int) -> list[RunWalk]:
        bounds = np.linspace(0, len(trips), count + 1).astype(np.int64).tolist()
        return [self.walk(trips.part(*ends)) for ends in pairwise(bounds)]


@dataclass(frozen=True, eq=False)
class WeightedWalk:
    """Trips of one weight on a tree: each adds its weight in place of one."""

    walk: LevelCounter
    weight: int

    def count(self, frontier: Frontier) -> SparseCounts:
        found = self.walk.count(frontier)
        return replace(found, counts=found.counts * self.weight, parts=PARTS)

    def descend(self, kept: Ints) -> None:
        self.walk.descend(kept)


Above = Sequence[tuple[Frontier, Ints]]
Walk = TypeVar("Walk", bound=LevelCounter)


def walk_down(walk: Walk, above: Above) -> Walk:
    """Go from the root through what was kept on the levels above."""
    for frontier, kept in above:
        walk.count(frontier)
        walk.descend(kept)
    return walk


def count_level(start: Start, frontier: Frontier, above: Above) -> Count:
    """One level of a tree: trips walk from the root through what was kept above.

    Nothing is remembered between levels. An engine that can keep its walks where they are need not start again.
    """

    def of(trips: Trips) -> tuple[Ints, Ints]:
        found = walk_down(start.walk(trips), above).count(frontier)
        return found.keys, found.counts

    return Count(frontier.universe, of)
