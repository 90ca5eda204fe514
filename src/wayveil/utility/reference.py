"""The lines that stand beside every figure, so that nobody is impressed by a number that no data would reach.

ceiling  a bootstrap resample of the raw trips: what sampling noise alone does
floor    trips from public knowledge only: no data at all
empty    no trips: what silence scores
"""

import numpy as np

from wayveil.synthesis.public_knowledge import empty, floor
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins

CEILING, FLOOR, EMPTY = LINES = ("ceiling", "floor", "empty")


def reference_trips(line: str, raw: Trips, seed: int, bins: TimeBins | None) -> Trips:
    """The trips of one of the `LINES`; with time bins, those that have times."""
    if line == CEILING:
        return ceiling(raw, seed)
    if line == FLOOR:
        return floor(raw.world, len(raw), seed, bins=bins)
    return empty(raw.world, timed=bins is not None)


def ceiling(raw: Trips, seed: int) -> Trips:
    """As many trips as there are, drawn from them with replacement. As sensitive as the raw trips."""
    rng = np.random.default_rng(seed)
    return raw.take(rng.integers(0, len(raw), len(raw)))
