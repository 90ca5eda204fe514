"""What a query can ask for: a stop, or a stop within a public time bin, as one integer code."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World


@dataclass(frozen=True)
class Items:
    """The universe of items: all stops of a world, or all its (stop, time bin) pairs."""

    world: World
    bins: TimeBins | None = None

    @property
    def size(self) -> int:
        """Number of items."""
        return self.world.size * (1 if self.bins is None else self.bins.count)

    def of(self, trips: Trips) -> NDArray[np.integer]:
        """The item of every visit; -1 outside all bins (only bins that do not repeat leave a moment out)."""
        if self.bins is None:
            return trips.location
        if trips.time is None:
            if trips.visits == 0:
                return np.empty(0, np.int64)
            raise ParameterError("time bins were given, but these trips carry no times")
        bin_ = self.bins.bin_of(trips.time).astype(np.int64)
        return np.where(bin_ >= 0, trips.location.astype(np.int64) * self.bins.count + bin_, -1)
