"""Where in their cells the points of released trips lie: public guesses, and what the trips themselves tell.

A trip over cells says nothing of where in a cell somebody was, but not all places are as likely. Short trips are more
frequent than long ones, so a trip between two cells that touch mostly begins and ends near their border; and whoever
crosses a cell goes rather straight. Ends are drawn in their cells with weights that fall with the distance between
them, as fast as trips over few cells become rarer with theirs. Visits between are drawn towards a straight way; but a
visit after which a trip turns back to where it came from is left where it is.

All of it is a function of the trips that are given, so that points of a release are as private as its trips.
"""

from math import cos, log, radians

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.world.grid import METRES_PER_DEGREE, Grid

# All of these were set on simulated cities; see docs/mechanisms/weave-notebook.md.
# Trips over at most so many cells to the north and east tell how fast trips become rarer.
NEAR = 3
# Weights fall by e over one of these sides of a cell.
FALLS = 2.0 ** np.arange(-3, 5, 0.25)
# Among so many places each point is chosen, and points between so many times.
TRIES, SWEEPS = 32, 4
TRIES_BETWEEN = 6
# Points between are drawn to a way that is shorter by so many sides with a weight of e.
STRAIGHTER = 0.25
# Along a trip a point drifts within its cell by about this part of a side in all if the trip is short, and at least by
# that part from visit to visit.
DRIFT_OF_TRIP, LEAST_DRIFT = 0.5, 0.05


def place_in_cells(
    grid: Grid, location: NDArray[np.int32], offsets: Ints, rng: np.random.Generator
) -> Floats:
    """Rows and columns, 0 to 1, from the south-west corner of its cell to the point of each visit."""
    row, column = grid.row[location].astype(np.float64), grid.column[location].astype(np.float64)
    high, wide = _sides(grid)
    fall = find_fall(row, column, offsets, high, wide)
    place = rng.random((2, len(location)))
    _draw_ends(row, column, offsets, place, high, wide, fall, rng)
    _draw_between(row, column, offsets, place, high, wide, STRAIGHTER, rng)
    return place


def find_fall(row: Floats, column: Floats, offsets: Ints, high: float, wide: float) -> float:
    """Over how many sides of a cell it becomes e times less likely that a trip ends just there.

    By the likelihood of the trips that end few cells away: exponential in the distance, averaged over the places in
    both cells.
    """
    filled = np.flatnonzero(np.diff(offsets) > 0)
    first, last = offsets[:-1][filled], offsets[1:][filled] - 1
    north = np.abs(row[last] - row[first]).astype(np.int64)
    east = np.abs(column[last] - column[first]).astype(np.int64)
    near = (north <= NEAR) & (east <= NEAR)
    # Trips that end where they began are left out: those within one cell are not in such data.
    found = np.bincount((north * (NEAR + 1) + east)[near], minlength=(NEAR + 1) ** 2)[1:]
    norths, easts = np.divmod(np.arange(1, (NEAR + 1) ** 2), NEAR + 1)
    ways = np.where(norths > 0, 2, 1) * np.where(easts > 0, 2, 1)
    # One trip more that goes anywhere: where nobody goes near, nothing is known, and weights do not fall.
    seen = found + ways / ways.sum()
    inside = np.random.default_rng(0).random((4, 400))
    apart = np.hypot(
        (norths[:, None] + inside[0] - inside[1]) * high, (easts[:, None] + inside[2] - inside[3]) * wide
    )
    best, most = FALLS[-1], -np.inf
    for fall in FALLS[::-1]:
        weight = ways * np.exp(-apart / fall).mean(axis=1)
        likely = float((seen * np.log(weight)).sum() - seen.sum() * log(weight.sum()))
        if likely > most:
            best, most = fall, likely
    return float(best)


def _sides(grid: Grid) -> tuple[float, float]:
    """The height and width of a cell, in their mean."""
    layout, box = grid.layout, grid.layout.box
    high = METRES_PER_DEGREE * layout.lat_step
    wide = METRES_PER_DEGREE * layout.lon_step * cos(radians((box.south + box.north) / 2))
    side = (high + wide) / 2
    return high / side, wide / side


@njit(cache=True)
def _draw_ends(row, column, offsets, place, high, wide, fall, rng):  # type: ignore[no-untyped-def]
    """Both ends of each trip, and visits between: their place in the cell goes from that of the one to the other."""
    option, weight = np.empty((TRIES, 4)), np.empty(TRIES)
    for trip in range(len(offsets) - 1):
        first, last = offsets[trip], offsets[trip + 1] - 1
        moves = last - first
        if moves < 1:
            continue
        total = 0.0
        for i in range(TRIES):
            for k in range(4):
                option[i, k] = rng.random()
            north = (row[last] + option[i, 1] - row[first] - option[i, 0]) * high
            east = (column[last] + option[i, 3] - column[first] - option[i, 2]) * wide
            # Less the way from cell to cell, so that no weight becomes zero.
            long = np.hypot((row[last] - row[first]) * high, (column[last] - column[first]) * wide)
            total += np.exp(-(np.hypot(north, east) - long) / fall)
            weight[i] = total
        drawn, pick = rng.random() * total, 0
        while pick < TRIES - 1 and weight[pick] <= drawn:
            pick += 1
        step = max(DRIFT_OF_TRIP / moves, LEAST_DRIFT)
        for side in range(2):
            begin, end = option[pick, 2 * side], option[pick, 2 * side + 1]
            walked = 0.0
            place[side, first] = 0.0
            for i in range(1, moves + 1):
                walked += step * rng.standard_normal()
                place[side, first + i] = walked
            for i in range(moves + 1):
                share = i / moves
                # The drift is bent so that it ends where the trip does, and turns round at borders.
                at = begin + share * (end - begin) + place[side, first + i] - share * walked
                place[side, first + i] = abs((at + 1) % 2 - 1)


@njit(cache=True)
def _draw_between(row, column, offsets, place, high, wide, straighter, rng):  # type: ignore[no-untyped-def]
    """Visits between the ends, one after the other: the shorter the way over a place, the likelier it is drawn."""
    option, weight = np.empty((TRIES_BETWEEN, 2)), np.empty(TRIES_BETWEEN)
    for trip in range(len(offsets) - 1):
        first, last = offsets[trip], offsets[trip + 1] - 1
        for sweep in range(SWEEPS):
            for k in range(1, last - first):
                at = first + k if sweep % 2 == 0 else last - k
                if row[at - 1] == row[at + 1] and column[at - 1] == column[at + 1]:
                    continue
                shortest = np.inf
                for i in range(TRIES_BETWEEN):
                    option[i, 0] = place[0, at] if i == 0 else rng.random()
                    option[i, 1] = place[1, at] if i == 0 else rng.random()
                    way = 0.0
                    for other in (at - 1, at + 1):
                        north = row[at] + option[i, 0] - row[other] - place[0, other]
                        east = column[at] + option[i, 1] - column[other] - place[1, other]
                        way += np.hypot(north * high, east * wide)
                    weight[i] = way
                    shortest = min(shortest, way)
                total = 0.0
                for i in range(TRIES_BETWEEN):
                    total += np.exp(-(weight[i] - shortest) / straighter)
                    weight[i] = total
                drawn, pick = rng.random() * total, 0
                while pick < TRIES_BETWEEN - 1 and weight[pick] <= drawn:
                    pick += 1
                place[0, at], place[1, at] = option[pick, 0], option[pick, 1]
