"""Kinds of question that a mechanism counted cell by cell, and where the truth lies by the law of the noise alone.

Whatever a model makes of its noisy counts, and however far its trips are from them: the exact count is the noisy one
less noise of a known law. So these intervals hold without any trust in the model.

Of cells that are kept only if their noisy count reaches a threshold, one is mostly seen when noise was high. For
Laplace noise of scale b, a count y and a threshold t, the chance of at least y in a kept cell does not depend on the
truth as long as that is below t: it is r = exp(-(y - t) / b). So the interval reaches down to nothing where r is 2.5 %
or more. Elsewhere its ends solve P(at least y | kept) = 2.5 % and 97.5 %, quadratic equations in exp(truth / b).
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.synthesis.estimates import Interval
from wayveil.synthesis.noise_sums import half_width

OUTSIDE = 0.025  # on either side of an interval


class CountedCells(Protocol):
    """Noisy counts of one kind of question."""

    def ends(self, cells: Ints) -> Interval:
        """Both ends of the 95 % intervals of these cells; not a number where nothing is known."""


@runtime_checkable
class CountsCells(Protocol):
    """Counted the cells of some kinds of question (see `synthesis.tallies`)."""

    def counted(self, kind: str) -> CountedCells | None:
        """The noisy counts of this kind; None if it was not counted cell by cell."""


@dataclass(frozen=True, eq=False)
class AllCounted:
    """Every cell from 0 on was counted; noise has this variance and fourth cumulant (0: it is Gaussian)."""

    values: Floats
    variance: float
    fourth: float
    # Whether this is the number of all rows itself, and not a count that was scaled to it.
    of_rows: bool = False

    def ends(self, cells: Ints) -> Interval:
        """Return the 95 % noise interval, clipped at 0."""
        half = half_width(np.array([self.variance]), np.array([self.fourth]))[0]
        known = (cells >= 0) & (cells < len(self.values))
        value = np.where(known, self.values[np.where(known, cells, 0)], np.nan)
        return np.maximum(value - half, 0.0), np.maximum(value + half, 0.0)


@dataclass(frozen=True, eq=False)
class KeptCounted:
    """Cells (ascending) whose counts with Laplace noise of this scale reached a threshold.

    `every`: all others were counted too and fell below it; if not, nothing is known of them.
    """

    cells: Ints
    values: Floats
    scale: float
    threshold: float
    every: bool = True

    def ends(self, cells: Ints) -> Interval:
        """By the law of a count that was kept, or of one that was not."""
        low, high = np.full((2, len(cells)), np.nan)
        if self.every:
            low[:], high[:] = 0.0, self.threshold - self.scale * np.log(2 * OUTSIDE)
        if len(self.cells):
            place = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
            kept = self.cells[place] == cells
            low[kept], high[kept] = self._kept_ends(self.values[place[kept]])
        return low, high

    def _kept_ends(self, values: Floats) -> Interval:
        chance = np.exp(-np.maximum(values - self.threshold, 0.0) / self.scale)
        under = OUTSIDE + np.sqrt(np.maximum(OUTSIDE**2 - OUTSIDE * chance, 0.0))
        low = np.where(chance < OUTSIDE, values + self.scale * np.log(under), 0.0)
        over = np.minimum(2 * OUTSIDE / np.maximum(1 - (1 - OUTSIDE) * chance, 1e-12), 1.0)
        return np.maximum(np.floor(low), 0.0), np.ceil(values - self.scale * np.log(over))
