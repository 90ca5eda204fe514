"""Weights of the trips of one unit: every trip counts, and all of a unit's together count no more than its bound.

A unit with m trips and the bound k gives each of them floor(PARTS x min(1, k / m)) parts of a trip. Rounded down, its
weights add up to at most k trips, whatever m is, and m is a function of that unit alone. So a histogram to which a
whole trip adds at most c in all is moved by at most k c when a unit comes or goes, as with k trips drawn at random, but
no trip is thrown away. What a trip adds is multiplied by its weight and rounded down, so this holds in L1 and in L2.

Weighted counts are numbers of weights. How many trips a weight stands for is bought (`all_rows`) and turns them into
numbers of all trips (`Size.factor`): that is post-processing, and the same factor for every cell. Trips of units
with many of them weigh less, so that cells which only they visit come out too low: `Size.heaviest` says by how much.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, hypot, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

NORMAL_95 = 1.96
# What a whole trip counts.
PARTS = 1 << 20
# Trips of one unit that are in the number of all of them, at most.
MOST_ROWS = 32
# Of the rows of a unit, so large a part is in one cell with any of them: somebody boards at home as often as at work,
# and now and then elsewhere. A rider of one place has all of them there, one without habits hardly any.
TOGETHER = Fraction(1, 3)


def weigh(groups: NDArray[np.integer], most: int) -> NDArray[np.int64]:
    """Weight of each trip in parts, from the unit that it belongs to; -1 is a unit of its own.

    >>> weigh(np.array([7, 7, 7, -1, -1]), 2).tolist() == [2 * PARTS // 3] * 3 + [PARTS] * 2
    True
    """
    _, place, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    trips = np.where(groups == -1, 1, sizes[place])
    return PARTS * most // np.maximum(trips, most)


def count_classes(most: int, most_rows: int) -> int:
    """Classes of units that have up to k, 2 k, 4 k, ... trips: as many as reach `most_rows`.

    >>> count_classes(2, 32)
    5
    """
    return max((-(-most_rows // most) - 1).bit_length(), 0) + 1


def weight_class(weight: int, classes: int) -> int:
    """Class of a unit whose trips have this weight: how often k doubles before it reaches the unit's trips.

    m <= k 2^c exactly where floor(PARTS k / m) >= PARTS / 2^c, as the right side is whole. In the last class a unit may
    have more trips.
    """
    return min(PARTS.bit_length() - weight.bit_length(), classes - 1)


@dataclass(frozen=True)
class Size:
    """Noisy numbers of all rows and of their weights, with the variances of their noise.

    classes  noisy rows by class of their unit (see `weight_class`)
    most     trips of a unit that weigh as whole ones
    """

    rows: float
    rows_variance: float
    weights: float
    weights_variance: float
    classes: tuple[float, ...]
    most: int

    @classmethod
    def of(
        cls, classes: Sequence[int], deviation: float, weights: int, weights_deviation: float, most: int
    ) -> "Size":
        """Put together what was bought: class c in rows / 2^c; the deviations are those of their noise."""
        rows = tuple(float(count) * 2**place for place, count in enumerate(classes))
        variance = deviation**2 * sum(4.0**place for place in range(len(rows)))
        weighed = max(float(weights), 1.0)
        return cls(max(sum(rows), weighed), variance, weighed, weights_deviation**2, rows, most)

    @property
    def factor(self) -> Fraction:
        """Rows that a whole weight stands for on average."""
        return max(Fraction(self.rows / self.weights).limit_denominator(1 << 16), Fraction(1))

    @property
    def relative_error(self) -> float:
        """Standard deviation of the factor, as a share of it."""
        return hypot(sqrt(self.rows_variance) / self.rows, sqrt(self.weights_variance) / self.weights)

    @property
    def unevenness(self) -> float:
        """Variance of a cell for each of its rows, from who happens to be there: units with many rows, or with few.

        A unit whose rows weigh w is off by factor x w - 1 for each row that it has in the cell, and has several there
        (`TOGETHER`). That is added up over the classes, as often as their rows occur.
        """
        bought, found = max(sum(each for each in self.classes if each > 0), 1.0), 0.0
        for place, rows in enumerate(self.classes):
            trips = self.most * (1.0 if place == 0 else 0.75 * 2**place)
            together = 1 + float(TOGETHER) * (trips - 1)
            off = float(self.factor) * min(1.0, self.most / trips) - 1
            found += max(rows, 0.0) / bought * together * off**2
        return found

    def heaviest(self) -> tuple[int, int, float] | None:
        """Trips (from, to) of the busiest units that stand out of the noise, and the share that is shown of a cell
        which only they visit; None: of no unit is known that it has more than `most`.
        """
        each = self.rows_variance / sum(4.0**place for place in range(len(self.classes)))
        for place in range(len(self.classes) - 1, 0, -1):
            if self.classes[place] > 2 * sqrt(each) * 2**place:
                high = self.most * 2**place
                return high // 2 + 1, high, float(self.factor) * self.most / (0.75 * high)
        return None

    def describe(self) -> dict[str, object]:
        """For the datasheet."""
        heaviest = self.heaviest()
        return {
            "rows": round(self.rows),
            "rows_95": ceil(NORMAL_95 * sqrt(self.rows_variance)),
            "weights": round(self.weights),
            "rows_per_weight": str(self.factor),
            "relative_error": self.relative_error,
            "unevenness": self.unevenness,
            "heaviest": None
            if heaviest is None
            else dict(zip(("from", "to", "shown"), heaviest, strict=True)),
        }


@dataclass(frozen=True)
class Scaling:
    """How far off numbers are because counts were scaled to all rows, whatever their noise.

    error       of the factor, as a share: all numbers are off together
    unevenness  variance of each number per row of it (see `Size.unevenness`)
    """

    error: float
    unevenness: float

    @classmethod
    def of(cls, datasheet: Mapping[str, Any]) -> "Scaling | None":
        """Read what a datasheet says; None: its numbers were not scaled."""
        size = datasheet.get("size")
        return cls(size["relative_error"], size.get("unevenness", 0.0)) if size else None

    def deviation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standard deviation of numbers of this size."""
        return np.hypot(self.error * values, np.sqrt(self.unevenness * np.maximum(values, 0.0)))

    def widen(
        self, values: NDArray[np.float64], ends: tuple[NDArray[np.float64], NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both ends of 95 % intervals, farther from the values by this independent error."""
        more = NORMAL_95 * self.deviation(values)
        low, high = values - np.hypot(values - ends[0], more), values + np.hypot(ends[1] - values, more)
        return np.maximum(low, 0.0), high
