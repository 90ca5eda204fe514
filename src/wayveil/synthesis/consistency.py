"""Making the counts of a noisy tree agree: along paths, and between parents and children.

Noise breaks two things that are true of every prefix tree: a count never grows on the way down, and a parent has at
least what its children have together. Repairing them is post-processing, costs nothing, and removes noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Ints

Counts = Floats
Parents = Ints


@dataclass(frozen=True)
class Consistency:
    """Ways to repair counts.

    smoothing  first fit the nearest non-increasing sequence to every root-to-leaf path (isotonic regression); a node
               on several paths gets the mean of its fits
    rule       when children exceed their parent: `weighted` scales them down in proportion, `equal` subtracts the
               same from each (never below zero), `none` leaves them. `noise`, for visits of several levels, weighs
               every count by its noise (see `settle_visits`)
    """

    smoothing: bool = True
    rule: Literal["weighted", "equal", "none", "noise"] = "weighted"


def consistent_counts(parents: Sequence[Parents], noisy: Sequence[Ints], how: Consistency) -> list[Counts]:
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


def settle_visits(
    parents: Sequence[Parents], noisy: Sequence[Ints], scales: Sequence[float], width: int, how: Consistency
) -> list[Counts]:
    """Repaired counts of a tree whose visits take `width` levels: whatever enters a visit also leaves it.

    Levels inside a visit count groups, which are noisier than what they hold, and children below the threshold are
    missing though their group counted them. So a group never makes more of the children that are left: it has what
    they have together, or less where its own count says so. With `noise` that is weighed by the noise of both; the
    other rules look at complete visits only. Trips that no child accounts for end at the visit before.
    """
    counts = [np.maximum(level.astype(np.float64), 0.0) for level in noisy]
    if how.rule == "noise":
        _weigh_groups(parents, counts, [scale**2 for scale in scales], width)
    else:
        _settle_complete(parents, counts, noisy, width, how)
    for depth in range(1, len(counts)):
        counts[depth] = scale_down(parents[depth], counts[depth], counts[depth - 1])
    return counts


def _weigh_groups(
    parents: Sequence[Parents], counts: list[Counts], variances: Sequence[float], width: int
) -> None:
    """From below: a group and its children are two views of one number, weighed by the inverse of their noise."""
    noise = [np.full(len(level), variance) for level, variance in zip(counts, variances, strict=True)]
    for depth in range(len(counts) - 1, -1, -1):
        if (depth + 1) % width:
            below, spread = _children(parents, counts, noise, depth)
            own = spread / (noise[depth] + spread)
            counts[depth] = np.minimum(below + own * (counts[depth] - below), below)
            noise[depth] = noise[depth] * own


def _children(
    parents: Sequence[Parents], counts: Sequence[Counts], noise: Sequence[Counts], depth: int
) -> tuple[Counts, Counts]:
    """Return what the children of each node have together, and the variance of its noise; nothing without children."""
    size = len(counts[depth])
    if depth + 1 == len(counts):
        return np.zeros(size), np.zeros(size)
    parent = parents[depth + 1]
    together, spread = (np.bincount(parent, part[depth + 1], size) for part in (counts, noise))
    return together.astype(np.float64), spread.astype(np.float64)


def _settle_complete(
    parents: Sequence[Parents], counts: list[Counts], noisy: Sequence[Ints], width: int, how: Consistency
) -> None:
    """Settle complete visits against each other, and give every group what its visits have."""
    last = range(width - 1, len(counts), width)
    above = []
    for depth in last:
        node = parents[depth]
        for step in range(depth - 1, depth - width, -1):
            node = parents[step][node]
        above.append(node)
    for depth, settled in zip(last, consistent_counts(above, [noisy[at] for at in last], how), strict=True):
        counts[depth] = settled
    for depth in range(len(counts) - 1, -1, -1):
        if (depth + 1) % width:
            counts[depth] = _children(parents, counts, counts, depth)[0]


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
def _average_isotonic(parent: Parents, value: Counts, leaves: Ints, height: int) -> Counts:
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
    """Children that stand with their siblings: max(count - t, 0) with the t that makes them fit the parent.

    Children that t would put below nothing are left out, and t is found again among the others, until none falls out
    (Michelot 1986): a few passes over siblings, without sorting them.
    """
    out = count.copy()
    start = 0
    while start < len(count):
        end = start
        together = 0.0
        while end < len(count) and parent[end] == parent[start]:
            together += count[end]
            end += 1
        limit = above[parent[start]]
        if together > limit and limit <= 0:
            out[start:end] = 0.0
        elif together > limit:
            left, cut = end - start, (together - limit) / (end - start)
            while True:
                together, above_cut = 0.0, 0
                for i in range(start, end):
                    if count[i] > cut:
                        together += count[i]
                        above_cut += 1
                # Rounding can bring back a child that lies on the cut itself: it would come and go for ever.
                if above_cut >= left or above_cut == 0:
                    break
                left, cut = above_cut, (together - limit) / above_cut
            for i in range(start, end):
                out[i] = max(count[i] - cut, 0.0)
        start = end
    return out
