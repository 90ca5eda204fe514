"""A table with given sums: iterative proportional fitting."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Floats

CLOSE = 1e-9


class Sums(NamedTuple):
    """What some cells must add up to: the cells with `cell` i to `wanted[i]`."""

    cell: NDArray[np.integer]
    wanted: Floats


def fit_sums(cells: Floats, sides: Sequence[Sums], rounds: int) -> Floats:
    """The table scaled to one side's sums after the other until all are met, or for so many rounds.

    Empty cells stay empty, so a sum whose cells are all empty cannot be met. Where sides contradict each other, the
    last one is met.
    """
    for _ in range(rounds):
        worst = 0.0
        for index, wanted in sides:
            have = np.bincount(index, cells, len(wanted))
            factor = np.divide(wanted, have, out=np.ones(len(wanted)), where=have > 0)
            worst = max(worst, float(np.abs(have - np.where(have > 0, wanted, 0)).max(initial=0)))
            cells = cells * factor[index]
        if worst <= CLOSE * max(float(sides[0].wanted.sum()), 1.0):
            break
    return cells
