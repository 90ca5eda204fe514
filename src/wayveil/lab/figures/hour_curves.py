"""Length and origin-destination error hour by hour: the curves behind the means of the scorecard. Internal."""

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.utility.figures import check_comparable, check_not_empty
from wayveil.utility.length_figures import jensen_shannon, length_histogram
from wayveil.utility.origin_destination import MOST_PAIRS, OriginDestinationDistance, od_pairs
from wayveil.world.timebins import HOUR, TimeBins

HourOf = Literal["start", "majority"]


def hours_of(trips: Trips, which: HourOf = "start") -> NDArray[np.int64]:
    """The hour of day of each trip with a visit: in which it sets out, or in which most of it was."""
    if which not in ("start", "majority"):
        raise ParameterError(f"the hour of a trip is that of its 'start' or the 'majority', not {which!r}")
    if trips.time is None:
        raise ParameterError("these trips carry no times")
    filled = np.flatnonzero(trips.lengths > 0)
    start = trips.time[trips.offsets[filled]]
    if which == "start":
        return TimeBins.hour_of_day().bin_of(start).astype(np.int64)
    end = trips.time[trips.offsets[filled + 1] - 1]
    first, last = start // HOUR, end // HOUR
    before, after = (first + 1) * HOUR - start, end - last * HOUR
    hour = np.where((first == last) | ((last == first + 1) & (before >= after)), first, last)
    return np.where(last > first + 1, first + 1, hour) % 24


def hour_curves(
    raw: Trips,
    private: Trips,
    *,
    hour: HourOf = "start",
    most_pairs: int = MOST_PAIRS,
    seed: int = 0,
    ends: bool = True,
) -> pl.DataFrame:
    """One row per hour with raw trips: JSD of stops per trip (bits) and earth mover's distance of both ends (metres).

    An hour in which the release has no trip shares nothing with the raw one and is as far off as the world is wide.
    Releases without times have one curve for all hours, as the DP-Loc study drew them. Without `ends` there is no
    distance of ends, which needs an optional package.
    """
    check_not_empty(raw)
    check_comparable(raw, private)
    own = hours_of(raw, hour)
    timed = private.time is not None
    their = hours_of(private, hour) if timed else None
    distance = OriginDestinationDistance(raw, most_pairs=most_pairs, seed=seed)
    pairs, other = od_pairs(raw), od_pairs(private)
    filled, released = raw.take(raw.lengths > 0), private.take(private.lengths > 0)
    rows = []
    for one in np.unique(own).tolist():
        mine = own == one
        seen = np.ones(len(other), bool) if their is None else their == one
        lengths = length_histogram(released.take(seen)) if seen.any() else np.zeros(1, np.int64)
        rows.append(
            {
                "hour": one,
                "raw trips": int(mine.sum()),
                "length_jsd": jensen_shannon(length_histogram(filled.take(mine)), lengths),
                "od_emd": distance.distance(pairs[mine], other[seen])[0] if ends else None,
            }
        )
    return pl.DataFrame(rows)
