"""`Bands`: where the truth lies when a release shows such a number."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayveil.arrays import Floats
from wayveil.synthesis.noise_sums import NORMAL_95


@dataclass(frozen=True, eq=False)
class Bands:
    """Ends of intervals by the number shown: `low` and `high` are in roots of the number, at the numbers `shown`.

    unlisted  how much may be in a cell that the release does not show; None if replicas never missed one
    together  deviation of all numbers together, as a share of each: an error that they have in common
    """

    shown: Floats
    low: Floats
    high: Floats
    unlisted: float | None
    together: float = 0.0

    def widen(self, more: float) -> "Bands":
        """With a bias of unknown sign whose deviation is so many roots of the number."""
        centre, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        half = np.hypot(half, NORMAL_95 * more)
        return Bands(self.shown, centre - half, centre + half, self.unlisted, self.together)

    def record(self) -> dict[str, Any]:
        """For a file."""
        return {
            "shown": self.shown.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "unlisted": self.unlisted,
            "together": self.together,
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "Bands":
        """Read what `record` wrote."""
        shown, low, high = (np.asarray(record[name], np.float64) for name in ("shown", "low", "high"))
        if not len(shown) or not len(shown) == len(low) == len(high):
            raise ValueError("bands need as many ends as numbers")
        return cls(shown, low, high, record["unlisted"], record.get("together", 0.0))

    def ends(self, values: Floats) -> tuple[Floats, Floats]:
        """The ends of the intervals of these numbers."""
        root, at = np.sqrt(values + 1), np.log1p(np.maximum(values, 0))
        places = np.log1p(self.shown)
        common = NORMAL_95 * self.together * np.maximum(values, 0)
        low = values - np.hypot(np.interp(at, places, self.low) * root, common)
        high = values + _skewed(np.hypot(np.interp(at, places, self.high) * root, common), values)
        if not self.together:
            low = values + np.interp(at, places, self.low) * root
            high = values + np.interp(at, places, self.high) * root
        if self.unlisted is not None:
            low, high = np.where(values > 0, low, 0.0), np.where(values > 0, high, self.unlisted)
        return np.maximum(low, 0.0), np.maximum(high, 0.0)


def _skewed(half: Floats, values: Floats) -> Floats:
    """Return the upper side of an interval whose lower side is `half`: what may be off by a half may be twice as well.

    People who ride where nobody expected them are many at a few stops, and no stop has fewer than none: errors are even
    in the logarithm of a number, up to all of it. On the cities that widths were set on, truths lay above in 118 of 198
    misses of even intervals, and in 76 of 170 misses of these.
    """
    share = np.clip(half / np.maximum(values, 1.0), 1e-9, 1.0)
    return half * np.expm1(share) / share
