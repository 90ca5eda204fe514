"""Times of invented trips: a departure inside the time bin, then what the public timetable takes."""

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.paths import along_paths
from wayveil.world.timebins import DAY, HOUR, TimeBins

# The first Monday of the timeline: where weeks without a date are put.
FIRST_MONDAY = 4 * DAY
HOURS_OF_A_DAY, HOURS_OF_A_WEEK = 24, 168


def make_time_bins(times: int) -> TimeBins:
    """The hours of a day, or those of a week."""
    return TimeBins.hour_of_week() if times == HOURS_OF_A_WEEK else TimeBins.hour_of_day()


def add_times(
    trips: Trips, bin_: NDArray[np.integer], times: int, seconds_per_move: int, rng: np.random.Generator
) -> Trips:
    """The trips with a time for every visit, in seconds on the timeline of undated trips.

    Without a timetable, visits follow each other every `seconds_per_move`.
    """
    start = make_time_bins(times).start[bin_] + rng.integers(0, HOUR, len(bin_))
    if times == HOURS_OF_A_WEEK:
        start = start + FIRST_MONDAY
    world = trips.world
    if isinstance(world, Network):
        passed = along_paths(world, trips.location, trips.offsets, world.seconds).astype(np.int64)
    else:
        place = np.arange(trips.visits) - np.repeat(trips.offsets[:-1], trips.lengths)
        passed = place * seconds_per_move
    return Trips(trips.location, trips.offsets, world, np.repeat(start, trips.lengths) + passed)
