"""Range counts: how many visits fall into a box of latitude, longitude and time of day?

Boxes are public and random: two sides of 5 to 50 % of the network's extent and, where raw trips carry times, a
run of 1 to 12 whole hours of the day (which may pass midnight). So a box is a set of stops and a set of hours,
and all boxes are answered from one table of visits per stop and hour.
"""

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import SANITY_SHARE, relative_errors
from wayveil.utility.figures import Figures, Measure, check_comparable, check_not_empty
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins

DEFAULT_BOXES = 2_000
_HOURS = 24


class RangeCounts(Figures):
    """Mean relative error over random boxes; the sanity bound is 0.1 % of the raw visits."""

    title = "Range counts"

    def __init__(self, raw: Trips, *, boxes: int = DEFAULT_BOXES, seed: int = 0) -> None:
        check_not_empty(raw)
        if not isinstance(raw.world, Network):
            raise ParameterError("range counts need coordinates; this world is a plain list")
        if boxes < 1:
            raise ParameterError("range counts need at least one box")
        self.raw, self.network, self.timed = raw, raw.world, raw.time is not None
        rng = np.random.default_rng(seed)
        self.inside = self._boxes(boxes, rng)
        begin, hours = rng.integers(0, _HOURS, boxes), rng.integers(1, 13, boxes)
        hour = (np.arange(_HOURS) - begin[:, None]) % _HOURS
        self.during = hour < hours[:, None] if self.timed else np.ones((boxes, 1), bool)
        self.true = self.answers(raw)

    def _boxes(self, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Which stops each box holds."""
        inside = np.ones((count, self.network.size), bool)
        for axis in (self.network.lat, self.network.lon):
            low, span = float(axis.min()), float(np.ptp(axis))
            width = rng.uniform(0.05, 0.5, count) * span
            start = low + rng.uniform(0, 1, count) * (span - width)
            inside &= (axis >= start[:, None]) & (axis <= (start + width)[:, None])
        return inside

    def answers(self, trips: Trips) -> NDArray[np.int64]:
        """The visits in every box."""
        counts = visits_per_stop_and_hour(trips, timed=self.timed)
        # Whole numbers far below 2^53, so that floating-point products are exact, and much faster.
        per_hour = self.inside.astype(np.float64) @ counts.astype(np.float64)
        return np.rint((per_hour * self.during).sum(axis=1)).astype(np.int64)

    def measure(self, private: Trips) -> list[Measure]:
        check_comparable(self.raw, private)
        label = "error of visits in boxes of place and hour" if self.timed else "error of visits in boxes"
        if self.timed and private.time is None and private.visits:
            return [Measure("range_error", label, float("nan"))]
        sanity = SANITY_SHARE * self.raw.visits
        errors = relative_errors(self.true, self.answers(private), sanity)
        return [Measure("range_error", label, float(errors.mean()))]


def visits_per_stop_and_hour(trips: Trips, *, timed: bool) -> NDArray[np.int64]:
    """Visits as a table of stops by hours of the day; one column if `timed` is false."""
    size = trips.world.size
    if not timed or trips.time is None:
        columns = _HOURS if timed else 1
        table = np.zeros((size, columns), np.int64)
        table[:, 0] = np.bincount(trips.location, minlength=size)
        return table
    hour = TimeBins.hour_of_day().bin_of(trips.time)
    return np.bincount(trips.location.astype(np.int64) * _HOURS + hour, minlength=size * _HOURS).reshape(
        size, _HOURS
    )
