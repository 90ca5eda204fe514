"""Taking noise out of a table whose total is known."""

import numpy as np
from numpy.typing import NDArray


def onto_total(noisy: NDArray[np.integer] | NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """The nearest non-negative table with this total: max(noisy - t, 0) for the t that makes it add up.

    Setting negative cells to zero alone would keep the positive half of the noise of every empty cell, which in a large
    table is more than the data. Subtracting the same from all cells lets empty ones pay for each other.
    """
    values = np.asarray(noisy, np.float64)
    if values.size == 0 or total <= 0:
        return np.zeros(values.shape)
    descending = np.sort(values, axis=None)[::-1]
    shift = (np.cumsum(descending) - total) / np.arange(1, descending.size + 1)
    # Cells stay positive as long as they exceed the shift that they and all larger ones would need.
    return np.maximum(values - shift[np.flatnonzero(descending > shift)[-1]], 0.0)
