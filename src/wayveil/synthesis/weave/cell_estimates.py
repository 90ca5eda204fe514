"""`CellEstimates`: what is known of the cells of a block, and how surely."""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CellEstimates:
    """One value per cell of a block, in trips, all with this standard deviation."""

    value: NDArray[np.float64]
    deviation: float

    @property
    def scale(self) -> float:
        """The scale of Laplace noise with this deviation."""
        return self.deviation / sqrt(2)

    def reach(self, false_cells: float) -> float:
        """What noise alone exceeds in so few cells: the more cells, the farther its largest value lies out."""
        return self.scale * max(log(len(self.value) / (2 * false_cells)), 1.0)
