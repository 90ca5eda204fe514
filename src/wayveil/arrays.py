"""Names for the arrays that everything here is made of, and how to find things in them."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
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


def append(column: NDArray[Any], values: NDArray[Any]) -> None:
    """Make an array longer where it lies, by these values; nobody else may hold a part of it."""
    before = len(column)
    column.resize(before + len(values), refcheck=False)
    column[before:] = values


def stretches(starts: AnyInts, lengths: AnyInts) -> tuple[Ints, Ints]:
    """Positions of several stretches, one after the other, and where each of them begins among these."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths), offsets


def look_up(keys: NDArray[Any], values: NDArray[Any], asked: NDArray[Any]) -> NDArray[Any]:
    """The value of each key that is asked for, 0 where it is not there; keys are ascending."""
    if len(keys) == 0:
        return np.zeros(len(asked), values.dtype)
    place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where(keys[place] == asked, values[place], values.dtype.type(0))


@njit(cache=True, nogil=True)
def find_sorted(values, low, high, wanted):  # type: ignore[no-untyped-def]
    """Return where in the ascending stretch `values[low:high]` a value stands, -1 if it does not."""
    size = high - low
    # Halving without branches: which way it goes cannot be predicted.
    while size > 1:
        half = size >> 1
        low += half * (values[low + half] <= wanted)
        size -= half
    return low if size > 0 and values[low] == wanted else -1
