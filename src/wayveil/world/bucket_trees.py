"""Shortest-path trees of which few places are asked: the quickest way to route many trips over one graph.

Nodes wait in buckets of about equal distance and not in a heap. Inside a bucket they come in any order, and come again
if a shorter way is found, so that the trees are those of Dijkstra (`world.trees`), also among equally short ways.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from wayveil.arrays import AnyInts, Floats, Int32s, Ints
from wayveil.world.trees import Graph

# The width of a bucket, as a share of the mean cost of an arc, and the most buckets. They decide on speed only.
_WIDTH = 0.25
_MOST_BUCKETS = 1 << 12
_NONE, _NOT_WAITING = -1, -2


class Buckets(NamedTuple):
    """Nodes that wait, `per_unit` buckets per unit of cost.

    `head` is the first node of each bucket, all -1 before and after a tree; `after` and `before` are a node's
    neighbours in its bucket. `reached` are the nodes that the last tree has touched, and behind them how many.
    """

    per_unit: float
    head: Int32s
    after: Int32s
    before: Int32s
    reached: Int32s

    @classmethod
    def for_costs(cls, cost: Floats, nodes: int) -> "Buckets":
        """Make empty buckets for a graph."""
        per_unit, count = size_buckets(cost)
        room = np.empty((2, nodes), np.int32)
        # The first tree finds whatever was in its arrays, so all of it is to be put back.
        everything = np.append(np.arange(nodes), nodes).astype(np.int32)
        return cls(per_unit, np.full(count, _NONE, np.int32), room[0], room[1], everything)


def size_buckets(cost: Floats) -> tuple[float, int]:
    """Buckets per unit of cost, and how many are in use at once, a power of two: more than the dearest arc spans."""
    if len(cost) == 0:
        return 1.0, 2
    dearest = float(cost.max())
    per_unit = min(1 / (_WIDTH * float(cost.mean())), (_MOST_BUCKETS - 2) / dearest)
    return per_unit, 1 << (int(dearest * per_unit) + 1).bit_length()


@njit(cache=True, nogil=True)
def grow_tree_in_buckets(
    graph: Graph,
    root: int,
    toward: Int32s,
    distance: Floats,
    buckets: Buckets,
    asked: Int32s,
    mark: int,
    missing: int,
) -> None:
    """Find the shortest ways to a root over arcs turned round: `toward` is the next node, -1 where there is none.

    Ends when `missing` nodes with this mark in `asked` are reached by their shortest way. Nodes farther off
    may have another one. The marks of nodes that were reached are removed. What the last tree touched is put back.
    """
    indptr, indices, cost = graph
    per_unit, head, after, before, reached = buckets
    for k in range(reached[-1]):
        toward[reached[k]], distance[reached[k]], before[reached[k]] = -1, np.inf, _NOT_WAITING
    mask, waiting, bucket, touched = len(head) - 1, 1, 0, 1
    toward[root], distance[root] = root, 0.0
    head[0], after[root], before[root], reached[0] = root, _NONE, _NONE, root
    while waiting > 0 and missing > 0:
        here = head[bucket & mask]
        while here >= 0:
            head[bucket & mask] = after[here]
            if after[here] >= 0:
                before[after[here]] = _NONE
            before[here] = _NOT_WAITING
            waiting -= 1
            if asked[here] == mark:
                asked[here] = -1
                missing -= 1
            for edge in range(indptr[here], indptr[here + 1]):
                other, through = indices[edge], distance[here] + cost[edge]
                if through < distance[other]:
                    if toward[other] < 0:
                        reached[touched], touched = other, touched + 1
                    if before[other] == _NOT_WAITING:
                        waiting += 1
                    else:
                        one, two = before[other], after[other]
                        if two >= 0:
                            before[two] = one
                        if one >= 0:
                            after[one] = two
                        else:
                            head[np.int64(distance[other] * per_unit) & mask] = two
                    distance[other], toward[other] = through, here
                    place = np.int64(through * per_unit) & mask
                    after[other], before[other] = head[place], _NONE
                    if head[place] >= 0:
                        before[head[place]] = other
                    head[place] = other
                elif through == distance[other] and here < toward[other]:
                    toward[other] = here
            here = head[bucket & mask]
        bucket += 1
    reached[-1] = touched
    head[:] = _NONE


def follow_trees(
    graph: Graph, stop: Int32s, roots: Int32s, bounds: Ints, origin: AnyInts
) -> tuple[Int32s, Ints]:
    """Return the shortest ways over arcs turned round, one after the other, and their lengths, 0 where there is none.

    Those to `roots[k]` are from the nodes `origin[bounds[k]:bounds[k + 1]]`. A way is told by the stops of its nodes,
    each once where it stays at a stop.
    """
    return _follow_trees(graph, Buckets.for_costs(graph.cost, len(stop)), stop, roots, bounds, origin)


@njit(cache=True, nogil=True)
def _follow_trees(graph, buckets, stop, roots, bounds, origin):  # type: ignore[no-untyped-def]
    size = len(stop)
    toward, distance = np.empty(size, np.int32), np.empty(size)
    location = np.empty(24 * len(origin) + size + 1, np.int32)
    lengths = np.zeros(len(origin), np.int64)
    asked = np.full(size, -1, np.int32)
    used = 0
    for k in range(len(roots)):
        root = roots[k]
        # Few origins are asked about, and most are near: a tree need not grow beyond the farthest of them.
        missing = 0
        for i in range(bounds[k], bounds[k + 1]):
            if asked[origin[i]] != k:
                asked[origin[i]] = k
                missing += 1
        grow_tree_in_buckets(graph, root, toward, distance, buckets, asked, k, missing)
        for i in range(bounds[k], bounds[k + 1]):
            if used + size > len(location):
                larger = np.empty(2 * len(location) + size, np.int32)
                larger[:used] = location[:used]
                location = larger
            at = origin[i]
            if toward[at] < 0:
                continue
            start = used
            location[used] = stop[at]
            used += 1
            while at != root:
                at = toward[at]
                if stop[at] != location[used - 1]:
                    location[used] = stop[at]
                    used += 1
            lengths[i] = used - start
    return location[:used].copy(), lengths
