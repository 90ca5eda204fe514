"""Points along the ways of released trips as often as vehicles are seen: about one a minute.

A trip over cells has one point per cell. Where cells are wide, vehicles are seen several times in each, and also in the
corners of cells that a way merely clips; where cells are narrow, they are seen in every second or third cell only.
Whoever compares points with points then sees too few runs over three cells in the one case, and too many visits in the
other. So points are put on the way from point to point where cells are wide, and points at equal steps along the way
take the place of those in cells where cells are narrow.

A function of the trips that are given and of public numbers.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints

# Metres between two points: a vehicle at 30 km/h that is seen once a minute.
PACE = 500.0


@dataclass(frozen=True, eq=False)
class Paced:
    """Points of tracks: point k lies on the way from visit `visit[k]` to the next one, after `share[k]` of it."""

    visit: Ints
    share: Floats
    offsets: Ints

    def between(self, values: NDArray[np.number]) -> Floats:
        """Values of visits, taken from one to the next in proportion."""
        after = np.minimum(self.visit + (self.share > 0), len(values) - 1)
        return values[self.visit] + self.share * (values[after] - values[self.visit])


def pace_points(
    north: Floats, east: Floats, offsets: Ints, side: float, rng: np.random.Generator, pace: float = PACE
) -> Paced:
    """Where points lie along ways through points in metres, one per visit to a cell of that side."""
    steps = np.hypot(np.diff(north), np.diff(east))
    if side < pace:
        return Paced(*_put_evenly(steps, offsets, pace, rng.random(len(offsets))))
    return Paced(*_put_between(steps, offsets, pace, rng.random(len(north))))


@njit(cache=True)
def _put_between(steps, offsets, pace, random):  # type: ignore[no-untyped-def]
    """All visits, and points between two that are farther apart than the pace."""
    room = len(random)
    for i in range(len(steps)):
        room += int(steps[i] / pace) + 1
    visit, share = np.empty(room, np.int64), np.zeros(room)
    ends, n = np.zeros(len(offsets), np.int64), 0
    for track in range(len(offsets) - 1):
        for i in range(offsets[track], offsets[track + 1]):
            parts = 1
            if i + 1 < offsets[track + 1]:
                parts = max(int(steps[i] / pace + random[i]), 1)
            for k in range(parts):
                visit[n], share[n] = i, k / parts
                n += 1
        ends[track + 1] = n
    return visit[:n].copy(), share[:n].copy(), ends


@njit(cache=True)
def _put_evenly(steps, offsets, pace, random):  # type: ignore[no-untyped-def]
    """Both ends, and points at equal steps of about the pace."""
    room = 2 * len(offsets)
    for i in range(len(steps)):
        room += int(steps[i] / pace) + 1
    visit, share = np.empty(room, np.int64), np.zeros(room)
    ends, n = np.zeros(len(offsets), np.int64), 0
    for track in range(len(offsets) - 1):
        first, last = offsets[track], offsets[track + 1] - 1
        if last >= first:
            visit[n] = first
            n += 1
        if last > first:
            long = steps[first:last].sum()
            parts = max(int(long / pace + random[track]), 1)
            done, k = 0.0, 1
            for i in range(first, last):
                while k < parts and steps[i] > 0 and k * long / parts <= done + steps[i]:
                    visit[n], share[n] = i, min((k * long / parts - done) / steps[i], 1.0)
                    n += 1
                    k += 1
                done += steps[i]
            visit[n] = last
            n += 1
        ends[track + 1] = n
    return visit[:n].copy(), share[:n].copy(), ends
