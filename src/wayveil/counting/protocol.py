"""Trees as they are counted: candidates of a level, symbols of a visit, and what walks from level to level."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wayveil.privacy.questions import SparseCounts
from wayveil.world.successors import Successors


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
