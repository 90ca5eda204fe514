"""Exact counts of origin-destination pairs, in the order in which a tree over pairs of zones divides them."""

import numpy as np

from wayveil.privacy.gate import SparseCounts
from wayveil.trips.trips import Trips
from wayveil.world.zones import Zones


def pair_counts(trips: Trips, zones: Zones) -> SparseCounts:
    """How many trips go from one place to another, over all pairs of codes; a trip without a visit is in none."""
    full = trips.lengths > 0
    pairs = zones.pair(trips.origins()[full], trips.destinations()[full])
    keys, counts = np.unique(pairs, return_counts=True)
    return SparseCounts(1 << 2 * zones.depth, keys, counts.astype(np.int64))
