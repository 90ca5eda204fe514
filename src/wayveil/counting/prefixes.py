"""Exact prefix counts of a piece of trips: trips walk down the tree, those that go on alike as one."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import find_sorted
from wayveil.counting.like_trips import group_alike, setting_out, still_walking
from wayveil.counting.protocol import Encoding, Frontier
from wayveil.privacy.questions import SparseCounts
from wayveil.trips.trips import Trips
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World

# How many visits ahead trips are compared. More makes fewer passes over the trips, and fewer of them go together.
AHEAD = 12


class PrefixWalk:
    """Some trips on their way down the tree of prefixes.

    Trips that go on alike are grouped once for a few levels, in one pass over those that are still inside the tree;
    each level then moves groups, which are far fewer than trips. Visits are encoded when they are reached and only for
    the trips that reach them: memory stays that of the trips themselves.
    """

    def __init__(
        self, trips: Trips, encoding: Encoding | None = None, share: int = 0, shares: int = 1
    ) -> None:
        self._trips = trips
        self._encoding = encoding
        self._share = share, shares
        # Of each trip: its next visit, its end, and its group. Nobody has set out yet.
        self._position = self._end = np.zeros(0, np.int64)
        self._group: NDArray[np.int32] | None = None
        # Of each group: its node (-1: it has left the tree), trips, cell, and symbols to come, the next one last.
        self._node = np.zeros(1, np.int32)
        self._size = np.zeros(1, np.int64)
        self._cell = np.zeros(0, np.int64)
        self._symbols: list[NDArray[np.int32]] = []
        self._starts = np.zeros(2, np.int64)

    @classmethod
    def of_groups(
        cls, node: NDArray[np.int32], symbols: NDArray[np.int32], size: NDArray[np.int64]
    ) -> "PrefixWalk":
        """Groups alone, without the trips behind them: node, symbols to come (a row each) and number of trips."""
        walk = cls(_NOBODY)
        walk._node, walk._size = node, size
        walk._symbols = [np.ascontiguousarray(column) for column in symbols.T[::-1]]
        return walk

    def weighing(self, weight: int) -> "PrefixWalk":
        """Return the groups with each trip counted so many times."""
        self._size = self._size * weight
        return self

    def groups(self) -> "PrefixWalk":
        """The walk's groups alone, newly made. Those of several pieces can be merged; they walk until symbols end."""
        self._group_trips()
        return PrefixWalk.of_groups(self.nodes, self.symbols, self.sizes)

    @property
    def nodes(self) -> NDArray[np.int32]:
        return self._node

    @property
    def sizes(self) -> NDArray[np.int64]:
        return self._size

    @property
    def symbols(self) -> NDArray[np.int32]:
        """The symbols to come of each group, -1 after its end."""
        return np.column_stack(self._symbols[::-1])

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return what groups need to go on later (see `of_arrays`)."""
        symbols = np.column_stack([*self._symbols, np.zeros((len(self._node), 0), np.int32)])
        return {
            "node": self._node,
            "size": self._size,
            "cell": self._cell,
            "starts": self._starts,
            "symbols": symbols,
        }

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray[np.generic]]) -> "PrefixWalk":
        walk = cls(_NOBODY)
        walk._node, walk._size = arrays["node"], arrays["size"]  # type: ignore[assignment]
        walk._cell, walk._starts = arrays["cell"], arrays["starts"]  # type: ignore[assignment]
        walk._symbols = list(arrays["symbols"].T)
        return walk

    def count(self, frontier: Frontier) -> SparseCounts:
        """Return how many trips reach each candidate of the next level."""
        if not self._symbols:
            self._group_trips()
        self._cell = _cells(frontier, self._node, self._symbols.pop())
        self._starts = frontier.starts
        # Where the public alphabet has no such move a group ends here, whatever else is in the data.
        legal = np.flatnonzero(self._cell >= 0)
        return SparseCounts.of_keys(frontier.universe, self._cell[legal], self._size[legal])

    def descend(self, kept: NDArray[np.int64]) -> None:
        """Make the kept candidates the nodes of the next level."""
        # The kept children of a node lie side by side: a group looks among its own node's children only.
        self._node = _child(kept, np.searchsorted(kept, self._starts), self._node, self._cell)

    def _group_trips(self) -> None:
        if self._group is None:
            self._position, self._end = setting_out(self._trips.offsets, self._trips.location, *self._share)
            node = np.zeros(len(self._position), np.int32)
        else:
            self._position, self._end, node = still_walking(
                self._position, self._end, self._group, self._node
            )
        if self._encoding is None:
            symbols, begin, end, visits, width = self._trips.location, self._position, self._end, AHEAD, AHEAD
        else:
            location = self._trips.location[self._position]
            time = None if self._trips.time is None else self._trips.time[self._position]
            symbols = np.column_stack(self._encoding.encode(location, time)).ravel()
            visits, width = 1, self._encoding.width
            begin = np.arange(len(node), dtype=np.int64) * width
            end = begin + width
        self._group, first, ahead = group_alike(node, symbols, begin, end, width)
        self._node = node[first]
        self._size = np.bincount(self._group, minlength=len(first))
        self._symbols = list(np.ascontiguousarray(ahead.T[::-1]))
        self._position = self._position + visits


_NOBODY = Trips.of_lists([], World.of_symbols(["nowhere"]))


def _cells(frontier: Frontier, node: NDArray[np.int32], symbol: NDArray[np.int32]) -> NDArray[np.int64]:
    """The cell of the frontier that each group moves to, -1 where there is none."""
    moves = frontier.successors
    if isinstance(moves, SparseSuccessors):  # most trips on networks: worth a loop of its own
        return _edge_cells(moves.indptr, moves.indices, frontier.states, frontier.starts, node, symbol)
    out = np.full(len(node), -1, np.int64)
    inside = np.flatnonzero((node >= 0) & (symbol >= 0))
    at = node[inside]
    rank = moves.rank(frontier.states[at], symbol[inside])
    out[inside] = np.where(rank >= 0, frontier.starts[at] + rank, -1)
    return out


@njit(cache=True, nogil=True)
def _edge_cells(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    states: NDArray[np.int64],
    starts: NDArray[np.int64],
    node: NDArray[np.int32],
    symbol: NDArray[np.int32],
) -> NDArray[np.int64]:
    out = np.full(len(symbol), -1, np.int64)
    for i in range(len(symbol)):
        if node[i] < 0 or symbol[i] < 0:
            continue
        first = indptr[states[node[i]]]
        at = find_sorted(indices, first, indptr[states[node[i]] + 1], symbol[i])
        if at >= 0:
            out[i] = starts[node[i]] + (at - first)
    return out


@njit(cache=True, nogil=True)
def _child(
    kept: NDArray[np.int64], children: NDArray[np.int64], node: NDArray[np.int32], cell: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Where each cell stands among the kept ones (ascending), -1 if it was not kept."""
    out = np.full(len(cell), -1, np.int32)
    for i in range(len(cell)):
        if cell[i] >= 0:
            out[i] = find_sorted(kept, children[node[i]], children[node[i] + 1], cell[i])
    return out
