"""Plausible ways through a network: shortest under costs that are public, perturbed, and learnt from noisy flows.

Three ways to count costs: metres, seconds, and lines, where a rider rides, waits, changes and walks. The third needs a
graph in which every stop is there once for each line that serves it, beside once for somebody who stands there.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.settings import Generation, RouteSettings
from wayveil.world.bucket_trees import Buckets, grow_tree_in_buckets
from wayveil.world.network import Network
from wayveil.world.trees import Graph

METRES, SECONDS, LINES = range(3)
_RIDE, _BOARD, _ALIGHT = range(3)


@dataclass(frozen=True, eq=False)
class RouteGraph:
    """Arcs turned round (row v lists where v is reached from), and what each stands for.

    edge   the network's edge of an arc, -1 for boarding and alighting
    line   the line of an arc that has one, else -1
    stop   the stop of each node
    """

    indptr: Ints
    indices: NDArray[np.int32]
    edge: Ints
    line: Ints
    kind: Ints
    stop: NDArray[np.int32]


class Costs:
    """Draws costs for the arcs of a network's graphs."""

    def __init__(self, network: Network, settings: Generation) -> None:
        self.network, self.settings = network, settings
        self.plain = _make_plain_graph(network)
        self.with_lines = _make_line_graph(network)
        self.wait = _estimate_waits(network, settings.routes)

    def graph(self, way: int) -> RouteGraph:
        return self.with_lines if way == LINES else self.plain

    def draw(self, way: int, learnt: Floats, rng: np.random.Generator, *, perturbed: bool) -> Floats:
        """One cost per arc. `learnt` multiplies the cost of each of the network's edges, where costs are perturbed."""
        network, graph, settings = self.network, self.graph(way), self.settings
        amount = float(perturbed)
        if not perturbed:
            learnt = np.ones(network.edges)
        spread = np.exp(amount * settings.edges * rng.standard_normal(network.edges))
        line = np.exp(amount * settings.lines * rng.standard_normal(len(network.route_ids) + 1))
        length = network.metres if way == METRES else network.seconds.astype(np.float64)
        along = np.maximum(length, 1e-6) * learnt * spread
        if way != METRES:
            on_foot = 1.0 + amount * rng.uniform(*settings.routes.on_foot)
            along *= np.where(network.walk, on_foot, 1.0)
        if way != LINES:
            # An edge of several lines is as good as the best of them.
            return (along * _find_best_line(network, line))[graph.edge]
        wait = self.wait * np.exp(amount * settings.waits * rng.standard_normal(len(self.wait)))
        change = rng.uniform(*settings.routes.change) if perturbed else settings.routes.usual_change
        ride = along[np.maximum(graph.edge, 0)] * line[graph.line]
        # Line -1 is no line, which no arc of a vehicle has: it waits for nothing.
        board = np.append(wait, 0.0)[graph.line] + change
        return np.select([graph.kind == _RIDE, graph.kind == _BOARD], [ride, board], 1.0)


def find_routes(
    graph: RouteGraph, cost: Floats, origin: Ints, destination: Ints
) -> tuple[NDArray[np.int32], Ints]:
    """The cheapest way of each pair, pairs sorted by destination, one after the other; length 0 where there is none."""
    roots, first = np.unique(destination, return_index=True)
    bounds = np.append(first, len(destination)).astype(np.int64)
    costly = Graph(graph.indptr, graph.indices, cost)
    buckets = Buckets.for_costs(cost, len(graph.stop))
    return _follow_trees(costly, buckets, graph.stop, roots.astype(np.int32), bounds, origin)


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


def _turn_round(source: Ints, target: Ints, size: int) -> tuple[Ints, Ints]:
    order = np.lexsort((source, target))
    return order, np.searchsorted(target[order], np.arange(size + 1)).astype(np.int64)


def _make_plain_graph(network: Network) -> RouteGraph:
    source = network.sources.astype(np.int64)
    order, indptr = _turn_round(source, network.indices.astype(np.int64), network.size)
    none = np.full(len(order), -1, np.int64)
    return RouteGraph(
        indptr,
        source[order].astype(np.int32),
        order,
        none,
        np.zeros(len(order), np.int64),
        np.arange(network.size, dtype=np.int32),
    )


def _make_line_graph(network: Network) -> RouteGraph:
    size = network.size
    rides = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    line = network.route.astype(np.int64)
    source, target = network.sources.astype(np.int64)[rides], network.indices.astype(np.int64)[rides]
    lines = max(len(network.route_ids), 1)
    # A node for every stop and line that meet.
    meets = np.unique(np.concatenate([source, target]) * lines + np.concatenate([line, line]))
    stop, line_of = meets // lines, meets % lines
    aboard = size + np.arange(len(meets))
    on_foot = np.flatnonzero(np.diff(network.route_indptr) == 0)
    walk_from, walk_to = network.sources.astype(np.int64)[on_foot], network.indices.astype(np.int64)[on_foot]
    tail = np.concatenate([size + np.searchsorted(meets, source * lines + line), stop, aboard, walk_from])
    head = np.concatenate([size + np.searchsorted(meets, target * lines + line), aboard, stop, walk_to])
    none = np.full(len(meets), -1)
    edge = np.concatenate([rides, none, none, on_foot])
    line_of_arc = np.concatenate([line, line_of, none, np.full(len(on_foot), -1)])
    kind = np.repeat([_RIDE, _BOARD, _ALIGHT, _RIDE], [len(rides), len(meets), len(meets), len(on_foot)])
    nodes = size + len(meets)
    order, indptr = _turn_round(tail, head, nodes)
    return RouteGraph(
        indptr,
        tail[order].astype(np.int32),
        edge[order],
        line_of_arc[order],
        kind[order],
        np.concatenate([np.arange(size), stop]).astype(np.int32),
    )


def _estimate_waits(network: Network, settings: RouteSettings) -> Floats:
    """Seconds that riders wait for each line: half a headway if all edges' runs are shared evenly by their lines."""
    lines_per_edge = np.diff(network.route_indptr)
    edge = np.repeat(np.arange(network.edges), lines_per_edge)
    runs = network.runs[edge] / lines_per_edge[edge]
    per_line = np.bincount(network.route, runs, len(network.route_ids)) / np.maximum(
        np.bincount(network.route, minlength=len(network.route_ids)), 1
    )
    served = per_line[per_line > 0]
    typical = float(np.median(served)) if len(served) else 1.0
    wait = settings.typical_wait * typical / np.maximum(per_line, 1e-9)
    return np.clip(wait, settings.shortest_wait, settings.longest_wait)


def _find_best_line(network: Network, factor: Floats) -> Floats:
    """The smallest factor among the lines of each edge; the last factor, for walks, where there is none."""
    best = np.full(network.edges, factor[-1])
    served = np.flatnonzero(np.diff(network.route_indptr) > 0)
    if len(served):
        best[served] = np.minimum.reduceat(factor[network.route], network.route_indptr[served])
    return best
