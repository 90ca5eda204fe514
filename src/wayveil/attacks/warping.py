"""Distances between trips: dynamic time warping over the longer trip's number of points, in metres.

    distance(X, Y) = DTW(X, Y) / max(|X|, |Y|)

A warping costs |X| |Y| steps, so bounds that never exceed the distance are tried first. Every point of a trip is
matched at least once, hence, with boxes B around the trips:

ends   (d(first, first) + d(last, last)) / max(|X|, |Y|)
boxes  d(B(X), B(Y))
outer  the distances of the points of one trip to the box of the other, summed, over max(|X|, |Y|); both ways
parts  the same for quarters of the trips: as many points as a quarter has, times the distance of its box to the nearest
       box of a quarter of the other trip (where all pairs of trips are compared)

A warping that is begun stops as soon as a whole row lies beyond what is asked. All of it is exact.
"""

from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Ints
from wayveil.progress import share_out

INFINITE = np.inf
PARTS = 4


class PathArrays(NamedTuple):
    """Points, offsets and boxes of `MetricPaths`, as compiled loops take them."""

    points: Floats
    offsets: Ints
    boxes: Floats


class Quarters(NamedTuple):
    """Boxes of the quarters of each path, and the points in each; a quarter without any has a point's box."""

    boxes: Floats
    sizes: Ints


@dataclass(frozen=True, eq=False)
class MetricPaths:
    """Sequences of points in metres (the third coordinate is time, or 0): path i is `points[offsets[i]:offsets[i+1]]`.

    No path is empty; `boxes` has the least and the greatest coordinates of each.
    """

    points: Floats
    offsets: Ints
    boxes: Floats

    @classmethod
    def of(cls, points: Floats, offsets: Ints) -> "MetricPaths":
        """Paths with their boxes."""
        starts = offsets[:-1]
        if len(starts) == 0:
            return cls(np.empty((0, 3)), np.zeros(1, np.int64), np.empty((0, 6)))
        low = np.minimum.reduceat(points, starts)
        high = np.maximum.reduceat(points, starts)
        return cls(np.ascontiguousarray(points), offsets, np.ascontiguousarray(np.hstack([low, high])))

    @property
    def arrays(self) -> PathArrays:
        return PathArrays(self.points, self.offsets, self.boxes)

    def quarters(self) -> Quarters:
        """Cut each path into four stretches."""
        lengths = np.diff(self.offsets)
        cuts = lengths[:, None] * np.arange(PARTS + 1) // PARTS
        if len(self) == 0:
            return Quarters(np.empty((0, PARTS, 6)), np.empty((0, PARTS), np.int64))
        starts = (self.offsets[:-1, None] + cuts[:, :-1]).ravel()
        sides = [reduce.reduceat(self.points, starts) for reduce in (np.minimum, np.maximum)]
        return Quarters(np.hstack(sides).reshape(len(self), PARTS, 6), np.diff(cuts, axis=1))

    def __len__(self) -> int:
        return len(self.offsets) - 1


@njit(cache=True, inline="always")
def _apart(p: Floats, q: Floats) -> float:
    a, b, c = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    return np.sqrt(a * a + b * b + c * c)


@njit(cache=True)
def warping(x: Floats, y: Floats, limit: float) -> float:
    """The DTW sum of two sequences of points, or infinity as soon as it must exceed `limit`."""
    if len(y) > len(x):
        x, y = y, x
    width = len(y)
    before, now = np.empty(width), np.empty(width)
    before[0] = _apart(x[0], y[0])
    for j in range(1, width):
        before[j] = before[j - 1] + _apart(x[0], y[j])
    for i in range(1, len(x)):
        now[0] = before[0] + _apart(x[i], y[0])
        least = now[0]
        for j in range(1, width):
            best = before[j - 1]
            if before[j] < best:
                best = before[j]
            if now[j - 1] < best:
                best = now[j - 1]
            now[j] = best + _apart(x[i], y[j])
            if now[j] < least:
                least = now[j]
        if least > limit:
            return INFINITE
        before, now = now, before
    return before[width - 1]


@njit(cache=True)
def _quick_bound(x: Floats, y: Floats, box_x: Floats, box_y: Floats) -> float:
    """The greater of the bounds `boxes` and `ends`."""
    gap = 0.0
    for axis in range(3):
        side = max(box_x[axis] - box_y[axis + 3], box_y[axis] - box_x[axis + 3], 0.0)
        gap += side * side
    gap = np.sqrt(gap)
    longer = max(len(x), len(y))
    ends = _apart(x[0], y[0])
    if longer > 1:
        ends += _apart(x[-1], y[-1])
    return max(gap, ends / longer)


@njit(cache=True)
def _parts_sum(a: Floats, b: Floats, sizes: Ints, room: float) -> float:
    """The bound `parts`, from the side of one trip and not yet over its points; stops beyond the room."""
    total = 0.0
    for i in range(len(a)):
        nearest = INFINITE
        for j in range(len(b)):
            east = max(a[i, 0] - b[j, 3], b[j, 0] - a[i, 3], 0.0)
            north = max(a[i, 1] - b[j, 4], b[j, 1] - a[i, 4], 0.0)
            later = max(a[i, 2] - b[j, 5], b[j, 2] - a[i, 5], 0.0)
            nearest = min(nearest, east * east + north * north + later * later)
        total += sizes[i] * np.sqrt(nearest)
        if total > room:
            return total
    return total


@njit(cache=True)
def _outside(x: Floats, box: Floats) -> float:
    total = 0.0
    for i in range(len(x)):
        gap = 0.0
        for axis in range(3):
            side = max(box[axis] - x[i, axis], x[i, axis] - box[axis + 3], 0.0)
            gap += side * side
        total += np.sqrt(gap)
    return total


@njit(cache=True)
def _nearest_sum(x: Floats, y: Floats, limit: float) -> float:
    """Every point of x to its nearest point of y, summed; stops beyond the limit."""
    total = 0.0
    for i in range(len(x)):
        least = INFINITE
        for j in range(len(y)):
            a, b, c = x[i, 0] - y[j, 0], x[i, 1] - y[j, 1], x[i, 2] - y[j, 2]
            least = min(least, a * a + b * b + c * c)
        total += np.sqrt(least)
        if total > limit:
            return total
    return total


@njit(cache=True)
def within(x: Floats, y: Floats, box_x: Floats, box_y: Floats, limit: float) -> tuple[float, bool]:
    """The distance where it is at most `limit`, else infinity; and whether it took a warping to know."""
    longer = max(len(x), len(y))
    room = limit * longer * (1 + 1e-12)
    if _quick_bound(x, y, box_x, box_y) > limit * (1 + 1e-12):
        return INFINITE, False
    if _outside(x, box_y) > room or _outside(y, box_x) > room:
        return INFINITE, False
    longest, other = (x, y) if len(x) >= len(y) else (y, x)
    if _nearest_sum(longest, other, room) > room or _nearest_sum(other, longest, room) > room:
        return INFINITE, False
    return warping(x, y, room) / longer, True


@njit(cache=True, nogil=True)
def _nearest(first: int, end: int, these: PathArrays, those: PathArrays, metres: Floats, place: Ints) -> None:
    a, ao, abox = these
    b, bo, bbox = those
    for i in range(first, end):
        x = a[ao[i] : ao[i + 1]]
        bound = np.empty(len(bo) - 1)
        for j in range(len(bound)):
            bound[j] = _quick_bound(x, b[bo[j] : bo[j + 1]], abox[i], bbox[j])
        best, where = INFINITE, -1
        for j in np.argsort(bound):
            if bound[j] > best:
                break
            found, _ = within(x, b[bo[j] : bo[j + 1]], abox[i], bbox[j], best)
            if found < best or (found == best and j < where):
                best, where = found, j
            if best == 0:
                break
        metres[i], place[i] = best, where


def nearest(these: MetricPaths, those: MetricPaths) -> tuple[Floats, Ints]:
    """For each of these paths the distance to the nearest of those, and which it is (-1 if there are none)."""
    metres, place = np.full(len(these), np.inf), np.full(len(these), -1, np.int64)
    if len(these) and len(those):
        mine, others = these.arrays, those.arrays
        share_out(
            lambda first, end: _nearest(first, end, mine, others, metres, place),
            len(these),
            "nearest released trips",
        )
    return metres, place


@njit(cache=True, nogil=True)
def _count_neighbours(
    first: int,
    end: int,
    paths: PathArrays,
    quarters: Quarters,
    copies: Ints,
    order: Ints,
    threshold: float,
    count: Ints,
) -> int:
    p, o, box = paths
    part, sizes = quarters
    warped = 0
    most = threshold * (1 + 1e-12)
    for at in range(first, end):
        i = order[at]
        x = p[o[i] : o[i + 1]]
        for after in range(at + 1, len(order)):
            j = order[after]
            # Boxes are in order of their west side: from here on all lie too far east.
            if box[j, 0] - box[i, 3] > threshold:
                break
            y = p[o[j] : o[j + 1]]
            if _quick_bound(x, y, box[i], box[j]) > most:
                continue
            room = most * max(len(x), len(y))
            if _parts_sum(part[i], part[j], sizes[i], room) > room:
                continue
            if _parts_sum(part[j], part[i], sizes[j], room) > room:
                continue
            found, by_warping = within(x, y, box[i], box[j], threshold)
            warped += by_warping
            if found < threshold:
                count[i] += copies[j]
                count[j] += copies[i]
    return warped


def count_neighbours(paths: MetricPaths, copies: Ints, threshold: float) -> tuple[Ints, int]:
    """Count paths closer than `threshold` to each distinct path, its own copies included; and the warpings."""
    order = np.argsort(paths.boxes[:, 0], kind="stable")
    arrays, quarters = paths.arrays, paths.quarters()
    counts = np.where(threshold > 0, copies, 0).astype(np.int64)
    warped = 0
    lock = Lock()

    def work(first: int, end: int) -> None:
        nonlocal warped
        own = np.zeros(len(paths), np.int64)
        done = _count_neighbours(first, end, arrays, quarters, copies, order, threshold, own)
        with lock:
            counts[:] += own
            warped += int(done)

    share_out(work, len(paths), "neighbours")
    return counts, warped


@njit(cache=True)
def _distances_of_pairs(a: Floats, ao: Ints, left: Ints, b: Floats, bo: Ints, right: Ints) -> Floats:
    out = np.empty(len(left))
    for at in range(len(left)):
        x = a[ao[left[at]] : ao[left[at] + 1]]
        y = b[bo[right[at]] : bo[right[at] + 1]]
        out[at] = warping(x, y, INFINITE) / max(len(x), len(y))
    return out


def distances_of_pairs(these: MetricPaths, left: Ints, those: MetricPaths, right: Ints) -> Floats:
    """The distances of these paths to those, pair by pair."""
    return _distances_of_pairs(these.points, these.offsets, left, those.points, those.offsets, right)
