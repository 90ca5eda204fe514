"""PrivTree (Zhang, Xiao and Xie 2016): a partition that is fine where there is much to see, and pays for no height.

Cells 0..4^depth-1 are the leaves of a complete tree with four children per node. Starting at the root, a node at level
a with count c is split if

    max(c - a d, -d) + noise > 0          with noise of scale s and an integer decay d,

and every visited node draws noise, whether anybody is in it or not. Only the partition comes out, never a noisy count.

Guarantee
    With s = 7/3 u / epsilon and d >= max(s ln 4, u), the partition is epsilon-differentially private for units that
    add at most u to the counts of all cells together, in as many cells as they like.
    Reason: let b be the value that is compared with the noise. For the discrete Laplace law, raising b by one raises
    ln P(split) by at most h(b) / s with h(b) = min(1, exp(-b / s)). Follow one of the unit's cells up to the root:
    counts do not fall, so values that are not cut off at -d rise by d or more per level, from the deepest on they
    exceed -d, 0, d, 2d, ..., and h adds up to at most 1 + 1 + 1/4 + 1/16 + ... = 7/3. Weighted by what the unit adds
    to its cells, all splits together cost 7/3 u / s = epsilon. A node whose value was cut off and is not any more
    (one per way up, because d >= u) moves by less and costs no more than its place in that sum. In the other direction
    only nodes that are not split count; they are disjoint and cost u / s.
    Attacked by tests/privacy/test_privtree.py: every small tree, every small pair of counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from wayveil.arrays import Ints, Mask
from wayveil.errors import ParameterError

FANOUT = 4
# What one unit of sensitivity costs per unit of noise scale.
COST = Fraction(2 * FANOUT - 1, FANOUT - 1)
_LN_FANOUT_UP = Fraction(1_386_295, 1_000_000)  # just above ln 4


@dataclass(frozen=True, eq=False)
class Leaves:
    """A partition of the cells 0..4^depth-1: leaf i is node `index[i]` of `level[i]`, in the order of the cells.

    `step` is the decay it was made with.
    """

    depth: int
    step: int
    level: Ints
    index: Ints

    def __len__(self) -> int:
        return len(self.level)

    @property
    def starts(self) -> Ints:
        """First cell of each leaf."""
        return self.index << 2 * (self.depth - self.level)

    @property
    def sizes(self) -> Ints:
        """Cells of each leaf."""
        return np.int64(1) << 2 * (self.depth - self.level)

    def of(self, cells: Ints) -> Ints:
        """The leaf that each cell lies in."""
        return np.searchsorted(self.starts, cells, side="right") - 1


def depth_of(universe: int) -> int:
    """The depth of the tree over so many cells, which must be a power of four."""
    depth = (universe.bit_length() - 1) // 2
    if universe != 1 << 2 * depth:
        raise ParameterError(f"a tree with four children per node has 4^depth cells, not {universe:,}")
    return depth


def decay(scale: Fraction, sensitivity: int) -> int:
    """The integer that a node's value loses per level."""
    return max(ceil(scale * _LN_FANOUT_UP), sensitivity)


def partition(
    keys: Ints, counts: Ints, depth: int, step: int, split: Callable[[int, Ints, Ints], Mask]
) -> Leaves:
    """Split nodes level by level, as `split(level, nodes, values)` decides; `step` is the decay.

    Nodes of the last level are not asked about.
    """
    total = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    nodes = np.zeros(1, np.int64)
    levels, indices = [], []
    for level in range(depth):
        width = 2 * (depth - level)
        inside = (
            total[np.searchsorted(keys, (nodes + 1) << width)] - total[np.searchsorted(keys, nodes << width)]
        )
        split_here = split(level, nodes, np.maximum(inside - level * step, -step))
        indices.append(nodes[~split_here])
        levels.append(np.full(len(indices[-1]), level, np.int64))
        nodes = (FANOUT * nodes[split_here, None] + np.arange(FANOUT)).ravel()
    levels.append(np.full(len(nodes), depth, np.int64))
    found, index = np.concatenate(levels), np.concatenate([*indices, nodes])
    order = np.argsort(index << 2 * (depth - found), kind="stable")
    return Leaves(depth, step, found[order], index[order])


def decisions(keys: Ints, counts: Ints, leaves: Leaves) -> tuple[Ints, Mask]:
    """Every node that was asked about on the way to a partition: its value under these counts, and its fate."""
    values: list[Ints] = []
    splits: list[Mask] = []

    def look(level: int, nodes: Ints, biased: Ints) -> Mask:
        values.append(biased)
        splits.append(~np.isin(nodes, leaves.index[leaves.level == level]))
        return splits[-1]

    partition(keys, counts, leaves.depth, leaves.step, look)
    return np.concatenate([np.zeros(0, np.int64), *values]), np.concatenate([np.zeros(0, bool), *splits])
