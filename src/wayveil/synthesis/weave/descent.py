"""Minimising a smooth convex function of many variables: L-BFGS with a backtracking line search (Nocedal 1980)."""

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MEMORY = 12
_ENOUGH = 1e-4  # share of the promised descent that a step must bring
_SHORTEST = 1e-8


def minimise(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    iterations: int,
    tolerance: float = 1e-8,
) -> tuple[Floats, int]:
    """A point near the minimum, and the steps it took; `function` gives value and gradient.

    Stops after so many steps, or when a step gains less than `tolerance` of the value's range so far.
    """
    point = start
    value, slope = function(point)
    first = value
    memory: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    for step in range(iterations):
        direction = -_curved(slope, memory)
        descent = float(direction @ slope)
        if descent >= 0:  # rounding has spoilt the memory
            memory.clear()
            direction, descent = -slope, -float(slope @ slope)
        if descent == 0:
            return point, step
        length = 1.0 if memory else min(1.0, 1.0 / float(np.sqrt(slope @ slope)))
        while True:
            there = point + length * direction
            new_value, new_slope = function(there)
            if new_value <= value + _ENOUGH * length * descent:
                break
            length *= 0.5
            if length < _SHORTEST:
                return point, step
        moved, turned = there - point, new_slope - slope
        bend = float(moved @ turned)
        if bend > 1e-14 * float(turned @ turned):
            memory.append((moved, turned, 1 / bend))
        gained = value - new_value
        point, value, slope = there, new_value, new_slope
        if gained <= tolerance * max(first - value, 1e-12):
            return point, step + 1
    return point, iterations


def _curved(slope: Floats, memory: deque[tuple[Floats, Floats, float]]) -> Floats:
    """The slope divided by the curvature, as far as the last steps tell (two-loop recursion)."""
    out = slope.copy()
    factors = []
    for moved, turned, inverse in reversed(memory):
        factor = inverse * float(moved @ out)
        factors.append(factor)
        out -= factor * turned
    if memory:
        moved, turned, inverse = memory[-1]
        out *= 1 / (inverse * float(turned @ turned))
    for (moved, turned, inverse), factor in zip(memory, reversed(factors), strict=True):
        out += (factor - inverse * float(turned @ out)) * moved
    return out
