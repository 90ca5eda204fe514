"""`CellEstimates`: what is known of the cells of a block, and how surely."""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from wayveil.synthesis.following import Known


@dataclass(frozen=True, eq=False)
class CellEstimates:
    """One value per cell of a block, in trips, all with this standard deviation.

    each   that of every cell, where earlier releases tell more of some cells than of others; `deviation` is then the
           root of the mean square
    """

    value: NDArray[np.float64]
    deviation: float
    each: NDArray[np.float64] | None = None

    @classmethod
    def of_known(cls, known: Known) -> "CellEstimates":
        """Cells whose variances differ."""
        return cls(known.value, float(np.sqrt(known.variance.mean())), np.sqrt(known.variance))

    @property
    def variance(self) -> NDArray[np.float64]:
        """Of every cell."""
        return np.full(len(self.value), self.deviation**2) if self.each is None else self.each**2

    @property
    def scale(self) -> float:
        """The scale of Laplace noise with this deviation."""
        return self.deviation / sqrt(2)

    def reach(self, false_cells: float) -> NDArray[np.float64]:
        """What noise alone exceeds in so few cells: the more cells, the farther its largest value lies out."""
        return np.sqrt(self.variance / 2) * max(log(len(self.value) / (2 * false_cells)), 1.0)
