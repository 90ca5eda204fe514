"""Making the counts of a noisy tree agree: along paths, and between parents and children.

Noise breaks two things that are true of every prefix tree: a count never grows on the way down, and a parent has at
least what its children have together. Repairing them is post-processing, costs nothing, and removes noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

Counts = NDArray[np.float64]
Parents = NDArray[np.int64]


@dataclass(frozen=True)
class Consistency:
    """How counts are repaired.

    smoothing  first fit the nearest non-increasing sequence to every root-to-leaf path (isotonic regression); a node
               on several paths gets the mean of its fits
    rule       when children exceed their parent: `weighted` scales them down in proportion, `equal` subtracts the
               same from each (never below zero), `none` leaves them
    """

    smoothing: bool = True
    rule: Literal["weighted", "equal", "none"] = "weighted"


def consistent_counts(
    parents: Sequence[Parents], noisy: Sequence[NDArray[np.int64]], how: Consistency
) -> list[Counts]:
    """Repaired counts, level by level from the top. The root sets no limit: its true count is unknown."""
    counts = [np.maximum(level.astype(np.float64), 0.0) for level in noisy]
    if how.smoothing:
        counts = smooth_paths(parents, counts)
    if how.rule == "none":
        return counts
    for depth in range(1, len(counts)):
        settle = scale_down if how.rule == "weighted" else _subtract_equally
        counts[depth] = settle(parents[depth], counts[depth], counts[depth - 1])
    return counts


def fill_visits(parents: Sequence[Parents], counts: Sequence[Counts], width: int) -> list[Counts]:
    """Counts in which whatever enters a visit of `width` symbols also leaves it: no trip ends half-way through one.

    Noise and thresholds leave mass inside visits: children below the threshold are missing though their parent counted
    them. Nodes from which no complete visit can be reached get nothing, and the children of all others are scaled up
    to hold what their parent has. The alternative, to end such trips at the visit before, was measured to give twice
    the error in trip lengths and more in counts of single visits, but less in counts of pairs of visits.
    """
    leads_on = [level > 0 for level in counts]
    for depth in range(len(counts) - 1, -1, -1):
        if (depth + 1) % width:
            completed = np.zeros(len(counts[depth]), bool)
            if depth + 1 < len(counts):
                completed[parents[depth + 1][leads_on[depth + 1]]] = True
            leads_on[depth] &= completed
    filled: list[Counts] = []
    for depth, level in enumerate(counts):
        count = np.where(leads_on[depth], level, 0.0)
        if depth % width:
            above = filled[depth - 1]
            together = np.zeros(len(above))
            np.add.at(together, parents[depth], count)
            factor = np.divide(above, together, out=np.zeros(len(above)), where=together > 0)
            count = count * factor[parents[depth]]
        filled.append(count)
    return filled


def smooth_paths(parents: Sequence[Parents], counts: Sequence[Counts]) -> list[Counts]:
    """Isotonic (non-increasing) least squares on every root-to-leaf path, averaged where paths share nodes."""
    sizes = np.array([len(level) for level in counts], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    parent = np.full(starts[-1], -1, np.int64)
    for depth in range(1, len(sizes)):
        parent[starts[depth] : starts[depth + 1]] = parents[depth] + starts[depth - 1]
    is_leaf = np.ones(starts[-1], bool)
    is_leaf[parent[parent >= 0]] = False
    flat = np.concatenate([np.zeros(0), *counts])
    fitted = _average_isotonic(parent, flat, np.flatnonzero(is_leaf), len(sizes))
    return np.split(fitted, starts[1:-1]) if len(sizes) else []


@njit(cache=True)
def _average_isotonic(parent: Parents, value: Counts, leaves: NDArray[np.int64], height: int) -> Counts:
    total = np.zeros(len(value))
    paths = np.zeros(len(value), np.int64)
    path = np.empty(height, np.int64)
    mean = np.empty(height)
    weight = np.empty(height, np.int64)
    for leaf in leaves:
        length = 0
        node = leaf
        while node >= 0:
            path[length] = node
            length += 1
            node = parent[node]
        # Pool adjacent violators from the leaf upwards: the fit must not decrease on the way up.
        blocks = 0
        for i in range(length):
            mean[blocks] = value[path[i]]
            weight[blocks] = 1
            blocks += 1
            while blocks > 1 and mean[blocks - 2] > mean[blocks - 1]:
                pooled = weight[blocks - 2] + weight[blocks - 1]
                mean[blocks - 2] = (
                    mean[blocks - 2] * weight[blocks - 2] + mean[blocks - 1] * weight[blocks - 1]
                ) / pooled
                weight[blocks - 2] = pooled
                blocks -= 1
        i = 0
        for block in range(blocks):
            for _ in range(weight[block]):
                total[path[i]] += mean[block]
                paths[path[i]] += 1
                i += 1
    return total / np.maximum(paths, 1)


def scale_down(parent: Parents, count: Counts, above: Counts) -> Counts:
    """Where children exceed their parent together, shrink each in proportion."""
    together = np.bincount(parent, count, len(above))
    factor = np.ones(len(above))
    over = together > above
    factor[over] = above[over] / together[over]
    return count * factor[parent]


def _subtract_equally(parent: Parents, count: Counts, above: Counts) -> Counts:
    if (parent[1:] >= parent[:-1]).all():  # as trees grow: siblings stand together
        return _water_fill(parent, count, above)
    order = np.argsort(parent, kind="stable")
    settled = np.empty_like(count)
    settled[order] = _water_fill(parent[order], count[order], above)
    return settled


@njit(cache=True)
def _water_fill(parent: Parents, count: Counts, above: Counts) -> Counts:
    """Children that stand with their siblings: max(count - t, 0) with the t that makes them fit the parent."""
    out = count.copy()
    start = 0
    while start < len(count):
        end = start
        together = 0.0
        while end < len(count) and parent[end] == parent[start]:
            together += count[end]
            end += 1
        limit = above[parent[start]]
        if together > limit:
            falling = np.sort(count[start:end])[::-1]
            largest = 0.0
            cut = falling[0]  # a parent with nothing leaves nothing
            for i in range(len(falling)):
                largest += falling[i]
                t = (largest - limit) / (i + 1)
                if t >= falling[i]:
                    break
                cut = t
            for i in range(start, end):
                out[i] = max(count[i] - cut, 0.0)
        start = end
    return out
