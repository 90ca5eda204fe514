"""Error bars of sums of independent Laplace noise."""

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Floats

NORMAL_95 = 1.96


def half_width(variance: NDArray[np.floating], fourth: NDArray[np.floating] | None = None) -> Floats:
    """Half the width of a 95 % interval, rounded up to whole trips or taps.

    A noisy count has variance 2 b^2 and a fourth cumulant of 12 b^4, and both add up. One count alone has longer tails
    than the normal law (2.996 b instead of 2.77 b); the first term of the Cornish-Fisher expansion tells how much
    longer, and exceeds the exact figure by 2 % at most. Without `fourth`, the variance is taken as that of one count,
    which is the longest tail there is.
    """
    spread = np.asarray(variance, np.float64)
    tails = (
        3.0 if fourth is None else np.divide(fourth, spread**2, out=np.zeros_like(spread), where=spread > 0)
    )
    quantile = NORMAL_95 + tails * (NORMAL_95**3 - 3 * NORMAL_95) / 24
    return np.asarray(np.ceil(quantile * np.sqrt(spread) - 1e-9))
