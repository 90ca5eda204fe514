"""Could the released trips have happened? Moves that the network has, and moves faster than it allows."""

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.utility.question import Measure, Question, check_comparable, check_not_empty
from wayveil.utility.windows import window_starts
from wayveil.world.network import Network
from wayveil.world.trees import travel_seconds

_ROWS_AT_ONCE = 256


def legal_moves(trips: Trips) -> NDArray[np.bool_]:
    """For every move (two visits in a row of one trip): whether the public world has it."""
    start = window_starts(trips, 2)
    return trips.world.successors.contains(trips.location[start], trips.location[start + 1])


def too_fast(trips: Trips, network: Network) -> NDArray[np.bool_]:
    """For every move: whether it takes less time than the fastest way on the network between its stops.

    Where there is no way at all, any time is too short. Trips without times have no such moves.
    """
    if trips.time is None:
        return np.zeros(0, bool)
    start = window_starts(trips, 2)
    taken = trips.time[start + 1] - trips.time[start]
    source, target = trips.location[start], trips.location[start + 1]
    fast = np.zeros(len(start), bool)
    order = np.argsort(source, kind="stable")
    sources, first = np.unique(source[order], return_index=True)
    bounds = np.append(first, len(order))
    for low in range(0, len(sources), _ROWS_AT_ONCE):
        rows = travel_seconds(network, sources[low : low + _ROWS_AT_ONCE])
        here = order[bounds[low] : bounds[min(low + _ROWS_AT_ONCE, len(sources))]]
        row = np.searchsorted(sources[low : low + _ROWS_AT_ONCE], source[here])
        fast[here] = taken[here] < rows[row, target[here]]
    return fast


class Feasibility(Question):
    """Share of released moves that exist, and share of timed ones that are faster than the network.

    Nothing here is compared with the raw trips: a release without moves has no share. Scheduled seconds are
    medians, so that real trips are sometimes a little faster; read the second figure beside the ceiling.
    """

    title = "Feasibility"

    def __init__(self, raw: Trips) -> None:
        check_not_empty(raw)
        self.raw = raw
        self.network = raw.world if isinstance(raw.world, Network) else None
        self.timed = raw.time is not None and self.network is not None

    def measure(self, private: Trips) -> list[Measure]:
        check_comparable(self.raw, private)
        measures = [
            Measure(
                "feasible_moves", "share of moves that the world has", _mean(legal_moves(private)), "higher"
            )
        ]
        if self.timed and self.network is not None:
            share = _mean(too_fast(private, self.network))
            measures.append(Measure("too_fast", "share of timed moves faster than the network", share))
        return measures


def _mean(values: NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else float("nan")
