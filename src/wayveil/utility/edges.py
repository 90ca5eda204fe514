"""Flow on moves: trips from a stop straight to the next one, per pair of stops."""

from dataclasses import dataclass

import numpy as np
from numba import njit

from wayveil.arrays import Int32s, Ints, look_up
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import relative_errors, sanity_bound
from wayveil.utility.figures import Figures, Measure
from wayveil.world.successors import SparseSuccessors

_DENSE_PAIRS = 40_000_000  # 320 MB of counters; larger worlds are grouped instead


@dataclass(frozen=True, eq=False)
class EdgeFlows:
    """Moves between consecutive visits, ascending by source and target: `count` > 0 trips made each."""

    source: Int32s
    target: Int32s
    count: Ints
    size: int

    @property
    def keys(self) -> Ints:
        """One ascending number per pair."""
        return self.source * np.int64(self.size) + self.target

    @property
    def first(self) -> Ints:
        """Where the pairs of every source begin, and one past the last."""
        return np.searchsorted(self.source, np.arange(self.size + 1))

    def at(self, keys: Ints) -> Ints:
        """The counts of these pairs, 0 where nobody moved."""
        return look_up(self.keys, self.count, keys)


def edge_flows(trips: Trips) -> EdgeFlows:
    """Count every move of every trip, legal or not."""
    size = trips.world.size
    if size * size <= _DENSE_PAIRS:
        dense = _count_moves(trips.location, trips.offsets, size)
        keys = np.flatnonzero(dense)
        count = dense[keys]
    else:
        keys, count = np.unique(trips.pair_into(trips.later_visits()), return_counts=True)
    return EdgeFlows((keys // size).astype(np.int32), (keys % size).astype(np.int32), count, size)


@njit(cache=True)
def _count_moves(location: Int32s, offsets: Ints, size: int) -> Ints:
    dense = np.zeros(size * size, np.int64)
    for trip in range(len(offsets) - 1):
        for visit in range(offsets[trip] + 1, offsets[trip + 1]):
            dense[np.int64(location[visit - 1]) * size + location[visit]] += 1
    return dense


class EdgeFigures(Figures):
    """Relative error of the flow per edge: the mean over all public edges and all pairs that raw trips use.

    Moves that only a release makes add their error without adding to the number it is divided by; else a
    release could dilute its errors with invented moves.
    """

    title = "Edges"

    def __init__(self, raw: Trips) -> None:
        super().__init__(raw)
        self.flows = edge_flows(raw)
        self.known = self.flows.keys
        successors = raw.world.successors
        if isinstance(successors, SparseSuccessors):
            source = np.repeat(np.arange(successors.size, dtype=np.int64), np.diff(successors.indptr))
            self.known = np.union1d(self.known, source * successors.size + successors.indices)

    def _measured(self, private: Trips) -> list[Measure]:
        flows = edge_flows(private)
        keys = np.union1d(self.known, flows.keys)
        errors = relative_errors(self.flows.at(keys), flows.at(keys), sanity_bound(self.raw))
        value = float(errors.sum()) / max(len(self.known), 1)
        return [Measure("edge_error", "relative error of flow per edge", value)]
