"""Can the raw trips be replayed on the release? Share of their moves that released trips also make."""

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.utility.edges import EdgeFlows, edge_flows
from wayveil.utility.question import Measure, Question, check_comparable, check_not_empty
from wayveil.utility.windows import window_starts


class ReplayFitness(Question):
    """Replay of the raw trips on the moves (pairs of stops in a row) that the release knows.

    Trips with fewer than two stops make no move and are left out. Anything that walks every legal edge replays
    everything, so this is read beside the floor.
    """

    title = "Replay fitness"

    def __init__(self, raw: Trips) -> None:
        check_not_empty(raw)
        self.raw = raw
        self.flows = edge_flows(raw)
        start = window_starts(raw, 2)
        move = raw.location[start] * np.int64(raw.world.size) + raw.location[start + 1]
        self.edge = np.searchsorted(self.flows.keys, move)  # the place of every move among the raw edges
        self.first = np.concatenate([[0], np.cumsum(np.maximum(raw.lengths - 1, 0))])
        self.moving = np.flatnonzero(raw.lengths > 1)

    def replayed(self, model: EdgeFlows) -> NDArray[np.float64]:
        """Share of the moves that the model allows, for every trip that moves."""
        allowed = (model.at(self.flows.keys) > 0)[self.edge]
        running = np.concatenate([[0], np.cumsum(allowed)])
        hits = running[self.first[self.moving + 1]] - running[self.first[self.moving]]
        return np.asarray(hits / (self.raw.lengths[self.moving] - 1))

    def measure(self, private: Trips) -> list[Measure]:
        check_comparable(self.raw, private)
        share = self.replayed(edge_flows(private))
        mean = float(share.mean()) if len(share) else 1.0
        whole = float((share == 1).mean()) if len(share) else 1.0
        return [
            Measure("fitness/moves", "share of a trip's moves that can be replayed", mean, "higher"),
            Measure("fitness/trips", "share of trips replayed from end to end", whole, "higher"),
        ]
