"""Tables without noise: projected on a total, rounded to whole numbers, fitted to given sums."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wayveil.arrays import AnyInts, Floats, Ints


def onto_total(noisy: AnyInts | Floats, total: float) -> Floats:
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


def round_keeping_total(mass: Floats, rng: np.random.Generator) -> Ints:
    """Integers with these expectations whose sum is the total, up to one.

    One random shift is added to the running total and the crossings of whole numbers are counted (systematic
    sampling). Rounding each cell to the nearest integer would delete every cell below one half.
    """
    running = np.floor(np.concatenate([[0.0], np.cumsum(mass)]) + rng.random())
    return np.diff(running).astype(np.int64)


CLOSE = 1e-9


class Sums(NamedTuple):
    """Sums that some cells must add up to: the cells with `cell` i to `wanted[i]`."""

    cell: AnyInts
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
