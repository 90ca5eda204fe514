"""Names for the arrays that everything here is made of."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Whole numbers of any width, where callers bring what they have.
AnyInts = NDArray[np.integer]


class Ragged(NamedTuple):
    """Rows of any length for compiled loops: row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: NDArray[Any]
    offsets: Ints
