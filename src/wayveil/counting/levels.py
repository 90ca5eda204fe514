"""Trees counted level by level, as a pure function of a piece of trips and of what was kept on the levels above."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.counting.prefixes import PrefixWalk
from wayveil.counting.protocol import Alphabet, Encoding, Frontier, LevelCounter
from wayveil.counting.runs import RunWalk
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.weights import PARTS
from wayveil.trips.trips import Trips


class Start(Protocol):
    """How trips set out on a tree; can be sent to another machine."""

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


@dataclass(frozen=True)
class CountLevel:
    """One level of a tree: trips walk from the root through what was kept above.

    Nothing is remembered between levels. An engine that can keep its walks where they are need not start again.
    """

    start: Start
    frontier: Frontier
    above: tuple[tuple[Frontier, NDArray[np.int64]], ...] = field(default=())

    @property
    def universe(self) -> int:
        return self.frontier.universe

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        walk = self.start.walk(trips)
        for frontier, kept in self.above:
            walk.count(frontier)
            walk.descend(kept)
        found = walk.count(self.frontier)
        return found.keys, found.counts
