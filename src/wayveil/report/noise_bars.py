"""Error bars for the numbers of a report, from the law of the noise alone: they cost nothing and may be published.

Known where the mechanism's numbers are sums of noisy counts that its model lists. Where they are not, there is no bar,
and the page says so.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.releases.error_bars import ErrorBars, Spread, cell_half_widths
from wayveil.trips.trips import Trips


class NoiseBars:
    """Half widths of 95 % intervals; None where nothing is known."""

    def __init__(self, trips: Trips, model: pl.DataFrame | None, datasheet: dict[str, Any]) -> None:
        self.trips, self.datasheet = trips, datasheet
        self.bars = None if model is None else ErrorBars(model, datasheet, trips.world)

    @property
    def known(self) -> bool:
        """Whether anything at all has a bar."""
        return self.stops() is not None

    def stops(self) -> Spread:
        """Of visits per stop."""
        return None if self.bars is None else self.bars.stops()

    def hours(self) -> Spread:
        """Of visits per hour of the day, where the release has times."""
        return None if self.bars is None or self.trips.time is None else self.bars.hours()

    def total(self) -> float | None:
        """Of all visits."""
        spread = None if self.bars is None else self.bars.total()
        return None if spread is None else float(spread[0])

    def runs(self, patterns: list[tuple[int, ...]]) -> Spread:
        """Of trips with these stops in a row."""
        if self.bars is None or not patterns:
            return None
        out = np.zeros(len(patterns))
        lengths = np.array([len(pattern) for pattern in patterns])
        for length in np.unique(lengths):
            some = np.flatnonzero(lengths == length)
            spread = self.bars.patterns(np.array([patterns[i] for i in some], np.int32))
            if spread is None:
                return None
            out[some] = spread
        return out

    def moves(self, a: NDArray[np.integer], b: NDArray[np.integer]) -> Spread:
        """Of trips between two neighbouring stops, both directions together."""
        there = self.runs(list(zip(a.tolist(), b.tolist(), strict=True)))
        back = self.runs(list(zip(b.tolist(), a.tolist(), strict=True)))
        return None if there is None or back is None else np.hypot(there, back)

    def journeys(self, keys: NDArray[np.int64]) -> Spread:
        """Of trips from an origin to a destination (origin x size + destination)."""
        found = cell_half_widths(self.trips, None, self.datasheet) if self.bars is not None else None
        if found is None:
            return None
        known = found["origin"].to_numpy() * np.int64(self.trips.world.size) + found["destination"].to_numpy()
        half = dict(zip(known.tolist(), found["half"].to_list(), strict=True))
        return np.array([half.get(key, 0.0) for key in keys.tolist()])
