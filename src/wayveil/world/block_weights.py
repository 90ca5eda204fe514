"""How much each part of a walk weighs in a block that walks spread over: one function for counting and for fitting.

Weights are 1 / parts, so that a walk adds at most one in all (L1). In a euclidean block they are 1 / sqrt(sum of
squared numbers of parts per cell), so that what a walk adds has L2 norm one: 1 / sqrt(parts) if no cell repeats.
"""

import numpy as np
from numba import njit

from wayveil.arrays import AnyInts, Floats, Ints
from wayveil.world.walk_blocks import Block, Walks


def count_parts(block: Block, walks: Walks) -> Ints:
    """Return how many parts each walk has in a block that it spreads over."""
    if block.parts is None:
        raise ValueError(f"{block.name} is not spread")
    return block.parts(walks)


def measure_norms(block: Block, parts: Ints, cells: AnyInts) -> Floats:
    """The norm of each walk's numbers of parts per cell; a part weighs one over it. At least one."""
    if block.euclidean:
        return np.sqrt(_sum_squares(cells, parts, block.cells))
    return np.maximum(parts, 1).astype(np.float64)


def whole_weights(block: Block, parts: Ints, cells: AnyInts, whole: int) -> Ints:
    """Weights as whole parts of `whole`, rounded down: no walk's norm exceeds `whole`."""
    if not block.euclidean:
        return whole // np.maximum(parts, 1)
    squares = _sum_squares(cells, parts, block.cells)
    weights = np.sqrt(whole * whole // squares).astype(np.int64)
    # A square root that was rounded up must not be kept.
    return weights - (weights * weights * squares > whole * whole)


@njit(cache=True)
def _sum_squares(cells, parts, size):  # type: ignore[no-untyped-def]
    """Sum over cells of the squared number of a walk's parts in it; parts without a cell (-1) add nothing."""
    out = np.ones(len(parts), np.int64)
    times = np.zeros(size, np.int64)
    begin = 0
    for walk in range(len(parts)):
        end = begin + parts[walk]
        total = 0
        for k in range(begin, end):
            if cells[k] >= 0:
                # The square of n + 1 is that of n, and 2 n + 1.
                total += 2 * times[cells[k]] + 1
                times[cells[k]] += 1
        for k in range(begin, end):
            if cells[k] >= 0:
                times[cells[k]] = 0
        out[walk] = max(total, 1)
        begin = end
    return out
