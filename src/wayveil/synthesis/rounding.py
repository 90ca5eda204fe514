"""Whole trips from fractional counts."""

import numpy as np
from numpy.typing import NDArray


def round_keeping_total(mass: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Integers with these expectations whose sum is the total, up to one.

    One random shift is added to the running total and the crossings of whole numbers are counted (systematic
    sampling). Rounding each cell to the nearest integer would delete every cell below one half.
    """
    running = np.floor(np.concatenate([[0.0], np.cumsum(mass)]) + rng.random())
    return np.diff(running).astype(np.int64)
