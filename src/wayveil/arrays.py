"""Names for the arrays that everything here is made of."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Whole numbers of any width, where callers bring what they have.
AnyInts = NDArray[np.integer]
