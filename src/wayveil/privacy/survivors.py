"""Empty cells that noise lifts over a threshold, drawn without visiting the others.

Of a histogram with discrete Laplace noise only the cells whose noisy count reaches a threshold t >= 1 are
kept. An empty cell is kept with probability p = a^t / (1 + a), a = exp(-1/scale), independently of all
others, and its noisy count is then t plus a geometric variable of ratio a (the tail of discrete Laplace has
no memory). So the kept cells are found by skipping: the number of cells passed over before the next kept one
is geometric with ratio 1 - p.

This is the same joint law of positions and values as noising every empty cell and keeping those that reach t,
not an approximation of it: gaps and values come from exact inversion, and no binomial or float takes part. A
float appears only to guess how many gaps to draw at once, which cannot change the law: gaps are used in
order, and the ones left over are thrown away unseen.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.privacy.laws import AllBelow
from wayveil.privacy.noise import (
    MAX_SCALE,
    NoiseOverflowError,
    Scale,
    geometric,
    geometric_of_ratio,
    rational,
)

MAX_CELLS = 1 << 50
MAX_THRESHOLD = 1 << 61
_LARGEST_BLOCK = 1 << 18


def survivors(
    empty: int, scale: Scale, threshold: int, bits: Bits | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of `empty` cells reach `threshold` under discrete Laplace noise, and their noisy counts.

    Returns ascending positions in [0, empty) and values >= threshold. Time and memory grow with the number of
    survivors, about `empty * survival_probability(scale, threshold)`, not with `empty`.
    """
    exact, source = rational(scale, MAX_SCALE), bits or secure_bits()
    empty, threshold = int(empty), int(threshold)
    if threshold < 1:
        raise ParameterError(f"A threshold for empty cells must be at least 1, not {threshold}.")
    if empty < 0:
        raise ParameterError(f"There cannot be {empty} empty cells.")
    if empty > MAX_CELLS or threshold > MAX_THRESHOLD:
        raise NoiseOverflowError(
            f"{empty:,} empty cells with threshold {threshold:,} do not fit 64-bit integers "
            f"(at most {MAX_CELLS:,} and {MAX_THRESHOLD:,})."
        )
    below, share = AllBelow(exact, threshold), survival_probability(exact, threshold)
    found: list[NDArray[np.int64]] = []
    start = 0
    while start < empty:
        expected = (empty - start) * share
        block = min(int(expected + 4 * math.sqrt(expected)) + 4, _LARGEST_BLOCK)
        gaps = geometric_of_ratio(block, below, source, saturate=empty)
        count, start = _walk(gaps, start, empty)
        found.append(gaps[:count])
    positions = np.concatenate(found) if found else np.empty(0, np.int64)
    return positions, threshold + geometric(len(positions), exact, source)


def survival_probability(scale: Scale, threshold: int) -> float:
    """The probability that an empty cell reaches the threshold, as a float for planning."""
    b = float(rational(scale, MAX_SCALE))
    return math.exp(-threshold / b) / (1 + math.exp(-1 / b))


def most_survivors(empty: int, scale: Scale, threshold: int) -> int:
    """A number of survivors that is passed with a probability below 1e-20, whatever the cells.

    The number is binomial. Bernstein's inequality with variance at most the mean: it exceeds the mean by t with
    probability at most exp(-t^2 / (2 mean + 2 t / 3)), and t = 10 sqrt(mean) + 50 makes that less than 1e-20.
    """
    mean = empty * survival_probability(scale, threshold)
    return min(empty, math.ceil(mean + 10 * math.sqrt(mean)) + 50)


@njit(cache=True, nogil=True)
def _walk(gaps, start, empty):  # type: ignore[no-untyped-def]
    """Turn gaps into positions, in place. Returns how many are below `empty`, and the cell where to go on."""
    for i in range(gaps.size):
        if gaps[i] >= empty - start:
            return i, empty
        gaps[i] += start
        start = gaps[i] + 1
    return gaps.size, start
