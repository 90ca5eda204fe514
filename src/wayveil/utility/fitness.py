"""Can the raw trips be replayed on the release? Share of their moves that released trips also make."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.utility.edges import EdgeFlows, edge_flows, place_of
from wayveil.utility.figures import Figures, Measure, check_comparable, check_not_empty


def replayed(trips: Trips, model: EdgeFlows) -> NDArray[np.float64]:
    """Share of the moves that the model allows, for every trip that moves."""
    known = _known_moves(trips.location, trips.offsets, model.first, model.target)
    moving = trips.lengths > 1
    return np.asarray(known[moving] / (trips.lengths[moving] - 1))


@njit(cache=True)
def _known_moves(
    location: NDArray[np.int32],
    offsets: NDArray[np.int64],
    first: NDArray[np.int64],
    target: NDArray[np.int32],
) -> NDArray[np.int64]:
    known = np.zeros(len(offsets) - 1, np.int64)
    for trip in range(len(known)):
        for visit in range(offsets[trip] + 1, offsets[trip + 1]):
            if place_of(first, target, location[visit - 1], location[visit]) >= 0:
                known[trip] += 1
    return known


class ReplayFitness(Figures):
    """Replay of the raw trips on the moves (pairs of stops in a row) that the release knows.

    Trips with fewer than two stops make no move and are left out. Anything that walks every legal edge replays
    everything, so this is read beside the floor.
    """

    title = "Replay fitness"

    def __init__(self, raw: Trips) -> None:
        check_not_empty(raw)
        self.raw = raw

    def measure(self, private: Trips) -> list[Measure]:
        check_comparable(self.raw, private)
        share = replayed(self.raw, edge_flows(private))
        mean = float(share.mean()) if len(share) else 1.0
        whole = float((share == 1).mean()) if len(share) else 1.0
        return [
            Measure("fitness/moves", "share of a trip's moves that can be replayed", mean, "higher"),
            Measure("fitness/trips", "share of trips replayed from end to end", whole, "higher"),
        ]
