"""Error bars for the numbers of a report, as far as the release knows them: free to publish.

Where nothing is known, there is no bar, and the page says so.
"""

import numpy as np
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.synthesis.estimates import Ends, Interval, Key, Runs, Visits
from wayveil.utility.stop_figures import origin_counts


class NoiseBars:
    """Both ends of 95 % intervals; None where nothing is known."""

    def __init__(self, release: JudgedRelease | None) -> None:
        self.release = release

    @property
    def known(self) -> bool:
        """Whether anything at all has a bar."""
        if self.release is None:
            return False
        counted = (self.trips(), self.boardings(), self.stops())
        return any(ends is not None for ends in counted) or bool(self.release.accuracy.bands)

    def stops(self) -> Interval | None:
        """Of visits per stop."""
        return self._visits("stop")

    def hours(self) -> Interval | None:
        """Of visits per hour of the day, where the release has times."""
        timed = self.release is not None and self.release.trips.time is not None
        return self._visits("hour") if timed else None

    def trips(self) -> tuple[float, float] | None:
        """Of the number of trips."""
        if self.release is None:
            return None
        ends = self.release.interval(
            "total", np.zeros(1, np.int64), np.array([float(len(self.release.trips))])
        )
        return None if ends is None else (float(ends[0][0]), float(ends[1][0]))

    def boardings(self) -> Interval | None:
        """Of trips that begin at each stop."""
        if self.release is None:
            return None
        shown = origin_counts(self.release.trips)
        return self.release.interval("boardings", np.arange(len(shown)), shown.astype(np.float64))

    def lengths(self, trips: NDArray[np.int64]) -> Interval | None:
        """Of trips with 0, 1, 2 ... stops, of which the release has so many; None where one of these is not known."""
        if self.release is None:
            return None
        ends = self.release.interval("lengths", np.arange(len(trips)), trips.astype(np.float64))
        if ends is None or np.isnan(np.stack(ends)[:, trips > 0]).any():
            return None
        return np.nan_to_num(ends[0]), np.nan_to_num(ends[1])

    def total(self) -> tuple[float, float] | None:
        """Of all visits."""
        ends = self._visits()
        return None if ends is None else (float(ends[0][0]), float(ends[1][0]))

    def runs(self, patterns: list[tuple[int, ...]]) -> Interval | None:
        """Of trips with these stops in a row; not a number where nothing is known of runs so long."""
        if self.release is None or not patterns:
            return None
        out = np.full((2, len(patterns)), np.nan)
        lengths = np.array([len(pattern) for pattern in patterns])
        for length in np.unique(lengths):
            some = np.flatnonzero(lengths == length)
            found = self.release.estimate(Runs(np.array([patterns[i] for i in some], np.int32)))
            if found is not None and found.interval is not None:
                out[:, some] = found.interval
        return None if np.isnan(out).all() else (out[0], out[1])

    def moves(self, a: NDArray[np.integer], b: NDArray[np.integer]) -> Interval | None:
        """Of trips between two neighbouring stops, both directions together."""
        if self.release is None or len(a) == 0:
            return None
        sides = [
            self.release.estimate(Runs(np.stack(pair, axis=1).astype(np.int32))) for pair in ((a, b), (b, a))
        ]
        known = [side for side in sides if side is not None and side.low is not None]
        if len(known) < len(sides):
            return None
        value = sum(side.values for side in known)
        down, up = (
            np.hypot(*(np.abs(getattr(side, end) - side.values) for side in known)) for end in ("low", "high")
        )
        return np.maximum(value - down, 0), value + up

    def journeys(self, keys: NDArray[np.int64]) -> Interval | None:
        """Of trips from an origin to a destination (origin x size + destination)."""
        if self.release is None:
            return None
        found = self.release.estimate(Ends(*np.divmod(keys, self.release.world.size)))
        return None if found is None else found.interval

    def _visits(self, *keys: Key) -> Interval | None:
        found = None if self.release is None else self.release.estimate(Visits(keys))
        return None if found is None else found.interval
