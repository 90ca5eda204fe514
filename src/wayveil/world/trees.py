"""Shortest-path trees of a network: by metres, by seconds or by number of stops.

A compiled Dijkstra with a four-way heap: on networks of thousands of stops it takes less than a millisecond per
tree, and it releases the interpreter, so that several trees grow at once. Among equally short ways it takes the next
hop with the smallest index, whatever the order in which the search met them.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Literal, NamedTuple, get_args

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from wayveil.arrays import AnyInts, Floats, Int32s, Ints
from wayveil.errors import ParameterError
from wayveil.world.network import Network

Counted = Literal["metres", "seconds", "stops"]


@dataclass(frozen=True)
class WeightedCost:
    """A sum of metres, seconds and stops, each with a weight: what a way costs to somebody who minds several.

    >>> WeightedCost.parse("metres + 20*seconds")
    WeightedCost(metres=1.0, seconds=20.0, stops=0.0)
    """

    metres: float = 0.0
    seconds: float = 0.0
    stops: float = 0.0

    def __post_init__(self) -> None:
        weights = (self.metres, self.seconds, self.stops)
        if not all(isfinite(weight) and weight >= 0 for weight in weights) or sum(weights) == 0:
            raise ParameterError(f"weights of a cost are 0 or more, and not all 0: {self}")

    @classmethod
    def parse(cls, text: str) -> "WeightedCost":
        """From words such as `metres + 20*seconds`."""
        weights: dict[str, float] = {}
        for term in text.split("+"):
            weight, times, unit = term.strip().rpartition("*")
            unit = unit.strip()
            if unit not in get_args(Counted) or unit in weights:
                raise ParameterError(
                    f"a cost is metres, seconds or stops, or a sum such as metres+20*seconds, not {text!r}"
                )
            try:
                weights[unit] = float(weight) if times else 1.0
            except ValueError:
                raise ParameterError(f"the weight of {unit} in {text!r} is no number") from None
        return cls(**weights)


Cost = Counted | WeightedCost

# Places at one point are 0 metres apart. A cost above zero keeps ways between them from running in circles; a
# nanometre never changes which way is shorter.
_LEAST_COST = 1e-9
_UNSEEN, _SETTLED = -1, -2
_ROWS_AT_ONCE = 256


@dataclass(frozen=True)
class Trees:
    """One row per root and one column per location.

    `next_hop[k, v]` is the next location on the way from v to root k (the root itself at the root, -1 where there is
    no way); `distance[k, v]` is what that way costs (infinite where there is none).
    """

    next_hop: Int32s
    distance: Floats


class Graph(NamedTuple):
    """Edges by row with a positive cost each, as the kernels want them."""

    indptr: Ints
    indices: Int32s
    cost: Floats


class Heap(NamedTuple):
    """A four-way heap of locations by `key`: `node` is who sits where, `place` where a location sits."""

    key: Floats
    node: Int32s
    place: Int32s


def edge_cost(network: Network, cost: Cost) -> Floats:
    """Return what each edge costs under a way of counting."""
    if isinstance(cost, WeightedCost):
        weighed = cost.metres * network.metres + cost.seconds * network.seconds + cost.stops
        return np.maximum(weighed.astype(np.float64), _LEAST_COST)
    if cost not in get_args(Counted):
        raise ParameterError(f"paths are shortest by {', '.join(get_args(Counted))}, not by {cost!r}")
    if cost == "stops":
        return np.ones(network.edges)
    return np.maximum(network.metres if cost == "metres" else network.seconds.astype(np.float64), _LEAST_COST)


def reversed_graph(network: Network, cost: Cost) -> Graph:
    """The network with every edge turned round: row v lists where v can be reached from."""
    weight = edge_cost(network, cost)
    sources = network.sources
    order = np.lexsort((sources, network.indices))
    indptr = np.searchsorted(network.indices[order], np.arange(network.size + 1)).astype(np.int64)
    return Graph(indptr, sources[order], weight[order])


def reverse_tree(network: Network, destinations: ArrayLike, cost: Cost = "metres") -> Trees:
    """The shortest ways from everywhere to each destination, in metres, seconds or number of edges."""
    return _trees(reversed_graph(network, cost), require_locations(network, destinations))


def travel_seconds(network: Network, sources: ArrayLike) -> Floats:
    """Rows of the minimum-travel-time matrix: seconds from each source to every location, infinite if unreachable."""
    graph = Graph(network.indptr, network.indices, edge_cost(network, "seconds"))
    return _trees(graph, require_locations(network, sources)).distance


def seconds_between(network: Network, source: AnyInts, target: AnyInts) -> Floats:
    """Seconds of the fastest way from each source to the target beside it, infinite where there is none."""
    seconds = np.empty(len(source))
    stops, which = np.unique(source, return_inverse=True)
    for start in range(0, len(stops), _ROWS_AT_ONCE):
        rows = travel_seconds(network, stops[start : start + _ROWS_AT_ONCE])
        here = np.flatnonzero((which >= start) & (which < start + _ROWS_AT_ONCE))
        seconds[here] = rows[which[here] - start, target[here]]
    return seconds


def require_locations(network: Network, values: ArrayLike) -> Int32s:
    """Return places by their numbers; others are refused."""
    locations = np.atleast_1d(np.asarray(values))
    if len(locations) and not (locations.min() >= 0 and locations.max() < network.size):
        raise ParameterError(f"locations are numbers from 0 to {network.size - 1}")
    return locations.astype(np.int32)


def _trees(graph: Graph, roots: Int32s) -> Trees:
    shape = (len(roots), len(graph.indptr) - 1)
    trees = Trees(np.empty(shape, np.int32), np.empty(shape, np.float64))
    depth = np.empty((1, shape[1]), np.int32)
    grow_trees(graph, roots, trees.next_hop, trees.distance, depth)
    return trees


@njit(cache=True, nogil=True)
def grow_trees(graph: Graph, roots: Int32s, toward: Int32s, distance: Floats, depth: Int32s) -> None:
    """Fill one row of each output per root; an output with a single row is scratch space for all roots."""
    size = len(graph.indptr) - 1
    heap = Heap(np.empty(size, np.float64), np.empty(size, np.int32), np.empty(size, np.int32))
    for k in range(len(roots)):
        near = distance[k if len(distance) > 1 else 0]
        deep = depth[k if len(depth) > 1 else 0]
        grow_tree(graph, roots[k], toward[k], near, deep, heap)


@njit(cache=True, nogil=True)
def grow_tree(graph: Graph, root: int, toward: Int32s, distance: Floats, depth: Int32s, heap: Heap) -> None:
    """Run Dijkstra from one root.

    `depth` is the number of locations on the way to the root, both ends included, and 0 where there is no way.
    """
    indptr, indices, cost = graph
    key, node, place = heap
    toward[:] = -1
    depth[:] = 0
    distance[:] = np.inf
    place[:] = _UNSEEN
    toward[root] = root
    distance[root] = 0.0
    key[0], node[0], place[root] = 0.0, root, 0
    waiting = 1
    while waiting > 0:
        nearest, here = node[0], key[0]
        place[nearest] = _SETTLED
        depth[nearest] = depth[toward[nearest]] + 1
        waiting -= 1
        if waiting > 0:
            sift_down(heap, waiting)
        for edge in range(indptr[nearest], indptr[nearest + 1]):
            other = indices[edge]
            if place[other] == _SETTLED:
                continue
            through = here + cost[edge]
            if through < distance[other]:
                distance[other] = through
                toward[other] = nearest
                if place[other] == _UNSEEN:
                    place[other] = waiting
                    waiting += 1
                sift_up(heap, place[other], other, through)
            elif through == distance[other] and nearest < toward[other]:
                toward[other] = nearest


@njit(cache=True, nogil=True, inline="always")
def sift_down(heap: Heap, waiting: int) -> None:
    """Refill the top of the heap from its last entry, which sits at position `waiting`."""
    key, node, place = heap
    moved_key, moved = key[waiting], node[waiting]
    at = 0
    while True:
        first = 4 * at + 1
        if first >= waiting:
            break
        least, least_key = first, key[first]
        for child in range(first + 1, min(first + 4, waiting)):
            if key[child] < least_key:
                least, least_key = child, key[child]
        if least_key >= moved_key:
            break
        key[at], node[at] = least_key, node[least]
        place[node[at]] = at
        at = least
    key[at], node[at], place[moved] = moved_key, moved, at


@njit(cache=True, nogil=True, inline="always")
def sift_up(heap: Heap, at: int, location: int, distance: float) -> None:
    """Put a location with a new, smaller distance where it belongs, starting from position `at`."""
    key, node, place = heap
    while at > 0:
        parent = (at - 1) >> 2
        if key[parent] <= distance:
            break
        key[at], node[at] = key[parent], node[parent]
        place[node[at]] = at
        at = parent
    key[at], node[at], place[location] = distance, location, at
