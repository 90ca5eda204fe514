"""Times of invented trips: a departure inside the time bin, then what the public timetable takes."""

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.paths import along_paths
from wayveil.world.timebins import DAY, HOUR, TimeBins

# The first Monday of the timeline: where weeks without a date are put.
FIRST_MONDAY = 4 * DAY
# Seconds between visits where no timetable says more.
SECONDS_PER_MOVE = 120
HOURS_OF_A_DAY, HOURS_OF_A_WEEK = 24, 168


def bins_of(times: int) -> TimeBins:
    """The hours of a day, or those of a week."""
    return TimeBins.hour_of_week() if times == HOURS_OF_A_WEEK else TimeBins.hour_of_day()


def with_times(trips: Trips, bin_: NDArray[np.integer], times: int, rng: np.random.Generator) -> Trips:
    """The trips with a time for every visit, in seconds on the timeline of undated trips."""
    start = bins_of(times).start[bin_] + rng.integers(0, HOUR, len(bin_))
    if times == HOURS_OF_A_WEEK:
        start = start + FIRST_MONDAY
    world = trips.world
    if isinstance(world, Network):
        passed = along_paths(world, trips.location, trips.offsets, world.seconds).astype(np.int64)
    else:
        place = np.arange(trips.visits) - np.repeat(trips.offsets[:-1], trips.lengths)
        passed = place * SECONDS_PER_MOVE
    return Trips(trips.location, trips.offsets, world, np.repeat(start, trips.lengths) + passed)
