"""Linkage: is there a released trip that lies on a person's own trip?

The nearest released trip is looked for by warping distance (see `attacks/warping.py`), in space, and where both sides
carry times also in space and time, where a second counts like a metre. A target is linked where it is closer than a
public number of metres on average along the way.
"""

from dataclasses import dataclass

import numpy as np

from wayveil.attacks.draws import uniform
from wayveil.attacks.metric_paths import distinct_paths
from wayveil.attacks.rates import Rate
from wayveil.attacks.warping import Floats, distances_of_pairs, nearest
from wayveil.trips.trips import Trips

LINKED_METRES = 100.0


@dataclass(frozen=True, eq=False)
class Nearness:
    """Metres from each target to the nearest released trip, and to one that was taken blindly."""

    metres: Floats
    blind: Floats

    def linked(self, closer_than: float) -> Rate:
        return Rate.of(self.metres < closer_than)

    def naive(self, closer_than: float) -> Rate:
        return Rate.of(self.blind < closer_than)


def nearness(targets: Trips, released: Trips, *, timed: bool, seed: int) -> Nearness:
    """Search for every target; equal targets and equal released trips are looked at once."""
    released = released.take(released.lengths > 0)
    theirs, found = distinct_paths(released, timed=timed)
    mine, same = distinct_paths(targets, timed=timed)
    metres, _ = nearest(mine, theirs)
    metres = metres[same.of_row]
    if len(released) == 0:
        return Nearness(metres, metres)
    lot = uniform("a released trip taken blindly", seed, np.arange(len(targets)))
    drawn = found.of_row[(lot * len(released)).astype(np.int64)]
    return Nearness(metres, distances_of_pairs(mine, same.of_row, theirs, drawn))
