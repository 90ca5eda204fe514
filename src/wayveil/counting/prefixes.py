"""Exact prefix counts on this machine: every trip walks down the tree, one symbol per level."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.counting.protocol import Encoding, Frontier
from wayveil.privacy.gate import SparseCounts
from wayveil.trips.trips import Trips
from wayveil.world.successors import SparseSuccessors


class LocalPrefixes:
    """A cursor through the tree of prefixes: for every trip that is still inside it, the node it has reached.

    Visits are encoded when they are reached and only for the trips that reach them: most trips leave the tree long
    before they end, and memory stays that of the trips themselves.
    """

    def __init__(self, trips: Trips, encoding: Encoding | None = None) -> None:
        self._trips = trips
        self._encoding = encoding
        self._position = trips.offsets[:-1]
        self._end = trips.offsets[1:]
        self._node = np.zeros(len(trips), np.int32)
        self._cell = np.zeros(0, np.int64)
        self._starts = np.zeros(2, np.int64)
        # Symbols of the current visit that are still to come, the next one last.
        self._symbols: list[NDArray[np.int32]] = []
        self._keep(self._position < self._end)

    def count(self, frontier: Frontier) -> SparseCounts:
        if not self._symbols:
            self._symbols = self._encode()
        symbol = self._symbols.pop()
        self._cell = _cells(frontier, self._node, symbol)
        legal = self._cell >= 0
        if not legal.all():
            # The public alphabet has no such move: the trip ends here, whatever else is in the data.
            self._keep(legal)
            self._cell = self._cell[legal]
        self._starts = frontier.starts
        return SparseCounts.of_keys(frontier.universe, self._cell)

    def descend(self, kept: NDArray[np.int64]) -> None:
        universe = int(self._starts[-1])
        if universe <= max(4 * len(self._cell), 1 << 16):
            table = np.full(universe, -1, np.int32)
            table[kept] = np.arange(len(kept), dtype=np.int32)
            self._node = table[self._cell]
        else:
            # The kept children of a node lie side by side: a trip looks among its own node's children only.
            self._node = _child(kept, np.searchsorted(kept, self._starts), self._node, self._cell)
        inside = self._node >= 0
        if not self._symbols:
            self._position = self._position + 1
            inside &= self._position < self._end
        self._keep(inside)

    def _encode(self) -> list[NDArray[np.int32]]:
        location = self._trips.location[self._position]
        if self._encoding is None:
            return [location]
        time = None if self._trips.time is None else self._trips.time[self._position]
        return self._encoding.encode(location, time)[::-1]

    def _keep(self, stay: NDArray[np.bool_]) -> None:
        index = np.flatnonzero(stay)
        if len(index) == len(stay):
            return
        self._position, self._end, self._node = self._position[index], self._end[index], self._node[index]
        self._symbols = [column[index] for column in self._symbols]


def _cells(frontier: Frontier, node: NDArray[np.int32], symbol: NDArray[np.int32]) -> NDArray[np.int64]:
    """The cell of the frontier that each trip moves to, -1 where there is none."""
    moves = frontier.successors
    if isinstance(moves, SparseSuccessors):  # most trips on networks: worth a loop of its own
        return _edge_cells(moves.indptr, moves.indices, frontier.states, frontier.starts, node, symbol)
    rank = moves.rank(frontier.states[node], symbol)
    return np.where(rank >= 0, frontier.starts[node] + rank, -1)


@njit(cache=True)
def _edge_cells(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    states: NDArray[np.int64],
    starts: NDArray[np.int64],
    node: NDArray[np.int32],
    symbol: NDArray[np.int32],
) -> NDArray[np.int64]:
    out = np.empty(len(symbol), np.int64)
    for i in range(len(symbol)):
        state = states[node[i]]
        first, end = indptr[state], indptr[state + 1]
        low, size = first, end - first
        # Halving without branches: which way it goes cannot be predicted.
        while size > 1:
            half = size >> 1
            low += half * (indices[low + half] <= symbol[i])
            size -= half
        found = size > 0 and indices[low] == symbol[i]
        out[i] = starts[node[i]] + (low - first) if found else -1
    return out


@njit(cache=True)
def _child(
    kept: NDArray[np.int64], children: NDArray[np.int64], node: NDArray[np.int32], cell: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Where each cell stands among the kept ones (ascending), -1 if it was not kept."""
    out = np.empty(len(cell), np.int32)
    for i in range(len(cell)):
        low, high = children[node[i]], children[node[i] + 1]
        end = high
        while low < high:
            middle = (low + high) >> 1
            if kept[middle] < cell[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low if low < end and kept[low] == cell[i] else -1
    return out
