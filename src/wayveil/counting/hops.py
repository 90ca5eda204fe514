"""Hops of trips: what a next hop depends on, counted exactly or handed to a training, and when trips begin."""

from collections.abc import Callable

import numpy as np

from wayveil.arrays import Ints
from wayveil.counting.tally import Count
from wayveil.privacy.training import Examples
from wayveil.privacy.units import Unit
from wayveil.trips.trips import Trips
from wayveil.world.timebins import HOUR

HOURS = 24
# The public cell of each hop, from where it starts, where it ends, and where its trip goes; negative: not counted.
HopCells = Callable[[Ints, Ints, Ints], Ints]


def hop_columns(trips: Trips) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Of every hop: here, next, destination, hour of the trip's start; and where the hops of each trip begin."""
    at = trips.later_visits()
    lengths = np.maximum(trips.lengths - 1, 0)
    trip = np.repeat(np.arange(len(trips)), lengths)
    place = trips.location.astype(np.int64)
    of_trip = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    destination = trips.destinations().astype(np.int64)
    return place[at - 1], place[at], destination[trip], start_hours(trips)[trip], of_trip


def start_hours(trips: Trips) -> Ints:
    """The hour of the day in which each trip begins; 0 without times."""
    if trips.time is None or trips.visits == 0:
        return np.zeros(len(trips), np.int64)
    return trips.time[np.minimum(trips.offsets[:-1], trips.visits - 1)] // HOUR % HOURS


def hop_examples(trips: Trips, unit: Unit) -> Examples:
    """Hops to learn from: (here, next, destination, hour)."""
    *columns, of_trip = hop_columns(trips)
    return Examples.of(trips, unit, tuple(columns), of_trip)


def end_examples(trips: Trips, unit: Unit) -> Examples:
    """Ends of trips to learn from: (origin, destination, hour), one example per trip with a visit."""
    some = (trips.lengths > 0).astype(np.int64)
    filled = trips.lengths > 0
    ends = (trips.origins()[filled], trips.destinations()[filled], start_hours(trips)[filled])
    of_trip = np.concatenate([[0], np.cumsum(some)]).astype(np.int64)
    return Examples.of(trips, unit, tuple(np.asarray(one, np.int64) for one in ends), of_trip)


def count_hop_weights(cells: HopCells, universe: int, whole: int) -> Count:
    """Weight of each cell when every trip spreads at most `whole` evenly over its hops."""

    def of(trips: Trips) -> tuple[Ints, Ints]:
        here, then, to, _, of_trip = hop_columns(trips)
        count = np.diff(of_trip)
        key = cells(here, then, to)
        kept = key >= 0
        return key[kept], np.repeat(whole // np.maximum(count, 1), count)[kept]

    return Count(universe, of, whole)
