"""Ranks with ties by noise: which places among all a number may have, given its interval and those of the others."""

from typing import Final

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.synthesis.noise_sums import NORMAL_95

DRAWS: Final = 200
# Of more numbers than this, no ranks are said.
MOST: Final = 20_000


def rank_ranges(values: Floats, low: Floats, high: Floats) -> tuple[Ints, Ints]:
    """The best and the worst rank that every number has in 95 of 100 cases; 1 is the largest.

    All numbers are drawn again and again, each from a bell whose sides reach as far as its interval, and ranked (Laird
    and Louis 1989, "Empirical Bayes ranking methods"). Of what is not known, any rank is possible.

    >>> best, worst = rank_ranges(*np.array([[100.0, 50.0, 55.0], [90.0, 40.0, 45.0], [110.0, 60.0, 65.0]]))
    >>> best.tolist(), worst.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    known = ~(np.isnan(low) | np.isnan(high))
    best, worst = np.ones(len(values), np.int64), np.full(len(values), len(values), np.int64)
    low, high, middle = low[known], high[known], np.clip(values[known], low[known], high[known])
    rng, many = np.random.default_rng(0), len(middle)
    ranks = np.empty((DRAWS, many), np.int32)
    for draw in ranks:
        bell = rng.standard_normal(many)
        side = np.where(bell > 0, high - middle, middle - low) / NORMAL_95
        at = np.maximum(middle + bell * side, 0.0)
        draw[np.argsort(-at + 1e-9 * rng.random(many))] = np.arange(1, many + 1)
    if many:
        ends = np.quantile(ranks, (0.025, 0.975), axis=0, method="nearest").astype(np.int64)
        best[known], worst[known] = ends[0], ends[1] + len(values) - many
    return best, worst


def can_rank(best: Ints, worst: Ints) -> bool:
    """Tell whether any number is known to stand in the upper half."""
    return len(worst) < 2 or bool((worst <= max(len(worst) // 2, 1)).any())


def say_rank(best: int, worst: int) -> str:
    """Put a range of ranks in words."""
    return _ordinal(best) if best == worst else f"{_ordinal(best)} to {_ordinal(worst)}"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
