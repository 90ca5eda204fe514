"""Exact counts of runs of symbols that start anywhere in a marked trip, for trees of contexts."""

import numpy as np
from numpy.typing import NDArray

from wayveil.counting.protocol import Alphabet, Frontier
from wayveil.privacy.questions import SparseCounts
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
