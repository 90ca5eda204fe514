"""Ranks with ties by noise: which places among all a number may have, given its interval and those of the others."""

import numpy as np

from wayveil.arrays import Floats, Ints


def rank_ranges(low: Floats, high: Floats) -> tuple[Ints, Ints]:
    """The best and the worst rank of every number; 1 is the largest. Of what is not known, any rank is possible.

    A number is surely behind another if its interval ends where the other's has not begun.

    >>> best, worst = rank_ranges(np.array([90.0, 40.0, 45.0]), np.array([110.0, 60.0, 65.0]))
    >>> best.tolist(), worst.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    surely_above = len(low) - np.searchsorted(np.sort(low), high, side="right")
    surely_below = np.searchsorted(np.sort(high), low, side="left")
    return (1 + surely_above).astype(np.int64), (len(low) - surely_below).astype(np.int64)
