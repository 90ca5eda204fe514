"""How many trips have how many stops, from a noisy histogram of classes of lengths."""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from wayveil.synthesis.projection import onto_total

# Each number of stops is a class of its own up to here; beyond, classes grow by a sixth.
SINGLE = 12
GROWTH = 7 / 6
# Standard deviations of the noise that make a number clear.
CLEAR = 3


@dataclass(frozen=True, eq=False)
class LengthClasses:
    """Public classes of trips by their number of stops: class i has `least[i]` .. `least[i + 1]` - 1 of them."""

    least: NDArray[np.int64]

    @classmethod
    def up_to(cls, longest: int) -> "LengthClasses":
        """Classes for 1..longest stops; longer trips are in the last one."""
        least = list(range(1, min(SINGLE, longest) + 1))
        while (following := round(least[-1] * GROWTH)) <= longest and least[-1] >= SINGLE:
            least.append(following)
        return cls(np.array([*least, longest + 1], np.int64))

    def __len__(self) -> int:
        return len(self.least) - 1

    def of(self, lengths: NDArray[np.integer]) -> NDArray[np.int64]:
        """The class of each trip that has a stop."""
        visited = np.minimum(lengths[lengths > 0], self.least[-1] - 1)
        return np.searchsorted(self.least, visited, side="right") - 1


@dataclass(frozen=True, eq=False)
class NoisyLengths:
    """A noisy histogram of the classes."""

    classes: LengthClasses
    noisy: NDArray[np.int64]
    scale: Fraction

    def hazard(self, trips: float) -> NDArray[np.float64]:
        """Of the trips that have made 0, 1, 2, ... stops, the share that ends there; NaN where noise hides it.

        Within a class the share is the same for all numbers of stops. It is known as long as those that go on are
        clearly more than the noise of all later classes together: a few trips too many, if long, would be many visits.
        """
        width = np.diff(self.classes.least)
        count = onto_total(self.noisy, trips)
        left = np.cumsum(count[::-1])[::-1]
        noise = sqrt(2) * float(self.scale) * np.sqrt(np.arange(len(count), 0, -1))
        clear = np.logical_and.accumulate(np.cumsum(self.noisy[::-1])[::-1] >= CLEAR * noise) & (left > 0)
        goes_on = 1 - np.divide(count, left, out=np.ones(len(count)), where=left > 0)
        share = np.where(clear, 1 - np.clip(goes_on, 0.0, 1.0) ** (1 / width), np.nan)
        return np.concatenate([[0.0], np.repeat(share, width)])
