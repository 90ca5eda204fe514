"""Minimising a smooth convex function of many variables: L-BFGS with a backtracking line search (Nocedal 1980).

Vectors are a few ten thousand numbers long and there are hundreds of steps, so the inner products are compiled and stay
on one core: handing such short work to a team of threads costs more than it brings.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

from wayveil.arrays import Floats
from wayveil.mechanisms.weave.settings import SolverSettings


def minimise(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    iterations: int,
    tolerance: float,
    settings: SolverSettings,
) -> tuple[Floats, int]:
    """A point near the minimum, and the steps it took; `function` gives value and gradient.

    Stops after so many steps, or when two steps in a row gain less than `tolerance` each.
    """
    point = start
    value, slope = function(point)
    moves, turns = (np.empty((settings.memory, len(start))) for _ in range(2))
    bends = np.empty(settings.memory)
    known, idle = 0, 0
    for step in range(iterations):
        direction = _point_downhill(slope, moves, turns, bends, known)
        descent = dot(direction, slope)
        if descent >= 0:  # rounding has spoilt the memory
            known = 0
            direction, descent = -slope, -dot(slope, slope)
        if descent == 0:
            return point, step
        length = 1.0 if known else min(1.0, 1.0 / float(np.sqrt(dot(slope, slope))))
        while True:
            there = point + length * direction
            new_value, new_slope = function(there)
            if new_value <= value + settings.enough * length * descent:
                break
            length *= 0.5
            if length < settings.shortest:
                return point, step
        known = _remember(there - point, new_slope - slope, moves, turns, bends, known)
        idle = idle + 1 if value - new_value <= tolerance else 0
        point, value, slope = there, new_value, new_slope
        if idle == 2:
            return point, step + 1
    return point, iterations


def _remember(move: Floats, turn: Floats, moves: Floats, turns: Floats, bends: Floats, known: int) -> int:
    """Keep a step, how it turned the slope, and the inner product of both, the newest in row `known` modulo the memory;
    returns the new `known`.
    """
    bend = dot(move, turn)
    if bend <= 1e-14 * dot(turn, turn):
        return known
    row = known % len(moves)
    moves[row], turns[row], bends[row] = move, turn, bend
    return known + 1


# Sums in any order: several numbers at a time, which rounds differently and nothing else.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(one: Floats, other: Floats) -> float:
    """The inner product, on one core."""
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _point_downhill(slope: Floats, moves: Floats, turns: Floats, bends: Floats, known: int) -> Floats:
    """Minus the slope divided by the curvature, as far as the last steps tell (two-loop recursion)."""
    out = -slope
    rows = min(known, len(moves))
    factor = np.empty(rows)
    for back in range(rows):
        row = (known - 1 - back) % len(moves)
        factor[back] = dot(moves[row], out) / bends[row]
        for i in range(len(out)):
            out[i] -= factor[back] * turns[row, i]
    if rows:
        row = (known - 1) % len(moves)
        scale = bends[row] / dot(turns[row], turns[row])
        for i in range(len(out)):
            out[i] *= scale
    for back in range(rows - 1, -1, -1):
        row = (known - 1 - back) % len(moves)
        change = factor[back] - dot(turns[row], out) / bends[row]
        for i in range(len(out)):
            out[i] += change * moves[row, i]
    return out
