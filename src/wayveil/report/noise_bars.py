"""Error bars for the numbers of a report, as far as the model of the release knows them: free to publish.

Where a model does not know its noise, there is no bar, and the page says so.
"""

import numpy as np
from numpy.typing import NDArray

from wayveil.releases.answers import Spread
from wayveil.releases.release import Release
from wayveil.synthesis.estimates import Ends, Key, Runs, Visits


class NoiseBars:
    """Half widths of 95 % intervals; None where nothing is known."""

    def __init__(self, release: Release | None) -> None:
        self.release = release

    @property
    def known(self) -> bool:
        """Whether anything at all has a bar."""
        return self.stops() is not None

    def stops(self) -> Spread:
        """Of visits per stop."""
        return self._visits("stop")

    def hours(self) -> Spread:
        """Of visits per hour of the day, where the release has times."""
        timed = self.release is not None and self.release.trips.time is not None
        return self._visits("hour") if timed else None

    def total(self) -> float | None:
        """Of all visits."""
        spread = self._visits()
        return None if spread is None else float(spread[0])

    def runs(self, patterns: list[tuple[int, ...]]) -> Spread:
        """Of trips with these stops in a row."""
        if self.release is None or not patterns:
            return None
        out = np.zeros(len(patterns))
        lengths = np.array([len(pattern) for pattern in patterns])
        for length in np.unique(lengths):
            some = np.flatnonzero(lengths == length)
            found = self.release.estimate(Runs(np.array([patterns[i] for i in some], np.int32)))
            if found is None or found.half is None:
                return None
            out[some] = found.half
        return out

    def moves(self, a: NDArray[np.integer], b: NDArray[np.integer]) -> Spread:
        """Of trips between two neighbouring stops, both directions together."""
        there = self.runs(list(zip(a.tolist(), b.tolist(), strict=True)))
        back = self.runs(list(zip(b.tolist(), a.tolist(), strict=True)))
        return None if there is None or back is None else np.hypot(there, back)

    def journeys(self, keys: NDArray[np.int64]) -> Spread:
        """Of trips from an origin to a destination (origin x size + destination)."""
        if self.release is None:
            return None
        found = self.release.estimate(Ends(*np.divmod(keys, self.release.world.size)))
        return None if found is None else found.half

    def _visits(self, *keys: Key) -> Spread:
        found = None if self.release is None else self.release.estimate(Visits(keys))
        return None if found is None else found.half
