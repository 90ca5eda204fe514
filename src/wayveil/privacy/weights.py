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
from functools import cached_property
from itertools import pairwise
from math import ceil, sqrt
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


def size_steps(most: int, most_rows: int) -> tuple[int, ...]:
    """Numbers of rows between which the weight of a unit is split: its bound, then up to `most_rows`.

    >>> size_steps(3, 32)
    (3, 4, 8, 16, 32)
    """
    above = [most_rows >> step for step in range(most_rows.bit_length())]
    return most, *sorted(each for each in above if each > most)


def split_weight(weight: int, steps: Sequence[int]) -> list[int]:
    """Parts of a trip's weight at each step, which add up to its weight.

    A trip of a unit with m rows weighs v = k / m. Between the steps a < m <= b, (k - a v) / (b - a) goes to b and the
    rest to a. So a / k times what is at a, and b / k times what is at b, are one row together, and weights at the steps
    tell the number of rows. A unit with more rows than the last step is there as a whole.
    """
    parts, most = [0] * len(steps), steps[0]
    for place, (low, high) in enumerate(pairwise(steps), 1):
        if weight >= PARTS * most // high:
            parts[place] = min((PARTS * most - low * weight) // (high - low), weight)
            parts[place - 1] = weight - parts[place]
            return parts
    parts[-1] = weight
    return parts


def _lift(noisy: NDArray[np.float64], deviation: float) -> NDArray[np.float64]:
    """Return how much cutting noise at nothing lifts numbers on average, as far as noisy ones tell: nearly unbiased."""
    scale = max(deviation / sqrt(2), 1e-9)
    return scale / 2 * np.exp(-np.maximum(noisy, 0.0) / scale)


@dataclass(frozen=True)
class Size:
    """Noisy weights of all rows at each step of `size_steps`, which tell how many rows there are.

    noisy      weights at each step
    steps      numbers of rows; the first is how many rows of a unit weigh as whole ones
    deviation  standard deviation of the noise of each
    """

    noisy: tuple[float, ...]
    steps: tuple[int, ...]
    deviation: float

    @classmethod
    def expect(cls, rows: float, weights: float, steps: tuple[int, ...], deviation: float) -> "Size":
        """Return the size that would be bought of so many rows and weights, but for the noise itself."""
        last = (rows - weights) / (steps[-1] / steps[0] - 1)
        there = np.array([weights - last, *[0.0] * (len(steps) - 2), last])
        noisy = there
        for _ in range(20):
            noisy = there + _lift(noisy, deviation)
        return cls(tuple(noisy.tolist()), steps, deviation)

    @property
    def _rows_each(self) -> list[float]:
        """Rows that a weight of one stands for at each step."""
        return [step / self.steps[0] for step in self.steps]

    @cached_property
    def _kept(self) -> NDArray[np.float64]:
        """Weights at each step: below nothing there is only noise, and cutting it there lifts what is left."""
        noisy = np.array(self.noisy)
        return np.maximum(noisy, 0.0) - _lift(noisy, self.deviation)

    @property
    def weights(self) -> float:
        """Return the number of all weights."""
        return max(float(self._kept.sum()), 1.0)

    @property
    def rows(self) -> float:
        """Return the number of all rows."""
        return max(float(self._kept @ self._rows_each), self.weights)

    @property
    def rows_variance(self) -> float:
        """Return the variance of the noise of the number of all rows; cutting it makes it smaller, never larger."""
        return self.deviation**2 * sum(rows**2 for rows in self._rows_each)

    @property
    def factor(self) -> Fraction:
        """Rows that a whole weight stands for on average."""
        return max(Fraction(self.rows / self.weights).limit_denominator(1 << 16), Fraction(1))

    @property
    def relative_error(self) -> float:
        """Standard deviation of the factor, as a share of it: rows and weights have their noise in common."""
        each = ((rows / self.rows - 1 / self.weights) ** 2 for rows in self._rows_each)
        return self.deviation * sqrt(sum(each))

    @property
    def unevenness(self) -> float:
        """Variance of a cell for each of its rows, from who happens to be there: units with many rows, or with few.

        A unit whose rows weigh w is off by factor x w - 1 for each row that it has in the cell, and has several there
        (`TOGETHER`). That is added up over the steps, as often as their rows occur.
        """
        found, each = 0.0, zip(self.noisy, self.steps, self._rows_each, strict=True)
        for weights, trips, rows in each:
            together = 1 + float(TOGETHER) * (trips - 1)
            found += max(weights, 0.0) * rows * together * (float(self.factor) / rows - 1) ** 2
        return found / self.rows

    def heaviest(self) -> tuple[int, int, float] | None:
        """Trips (from, to) of the busiest units that stand out of the noise, and the share that is shown of a cell
        which only they visit; None: of no unit is known that it has more than its bound.
        """
        for place in range(len(self.steps) - 1, 0, -1):
            if self.noisy[place] > 2 * self.deviation:
                low, high = self.steps[place - 1], self.steps[place]
                return low + 1, high, float(self.factor) * self.steps[0] / sqrt(low * high)
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
    """Error of numbers because counts were scaled to all rows, whatever their noise.

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
