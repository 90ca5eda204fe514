"""Plausible routes on a network: costs that riders differ in, and the ways that they choose."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.demand import Demand
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.weight_fit import FittedSupport, Support, select_walks
from wayveil.world.bucket_trees import follow_trees
from wayveil.world.network import Network
from wayveil.world.trees import Graph
from wayveil.world.walk_blocks import LONGEST, Walks

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
        self.wait = _estimate_waits(network, settings.wait)

    def graph(self, way: int) -> RouteGraph:
        return self.with_lines if way == LINES else self.plain

    def draw(self, how: "RouteChoice", learnt: Floats, rng: np.random.Generator) -> Floats:
        """Draw one cost per arc. `learnt` multiplies the cost of each of the network's edges, where costs are
        perturbed.
        """
        network, graph = self.network, self.graph(how.way)

        def differ(count: int) -> Floats:
            return np.exp(how.perturbed * self.settings.spread * rng.standard_normal(count))

        length = network.metres if how.way == METRES else network.seconds.astype(np.float64)
        along = np.maximum(length, 1e-6) * (learnt if how.perturbed else 1) * differ(network.edges)
        if how.perturbed and how.way != METRES:
            # A second on foot costs up to twice as much as one in a vehicle.
            along *= np.where(network.walk, 1 + rng.random(), 1)
        if not how.walks:
            along *= np.where(network.walk, 100, 1)
        line = differ(len(network.route_ids) + 1)
        if how.way != LINES:
            # An edge of several lines is as good as the best of them.
            return (along * _find_best_line(network, line))[graph.edge]
        # Boarding costs as much as waiting for the median line, or between half of it and twice that.
        change = self.settings.wait * (2.0 ** rng.uniform(-1, 1) if how.perturbed else 1)
        ride = along[np.maximum(graph.edge, 0)] * line[graph.line]
        # Line -1 is no line, which no arc of a vehicle has: it waits for nothing.
        board = np.append(self.wait * differ(len(self.wait)), 0.0)[graph.line] + change
        return np.select([graph.kind == _RIDE, graph.kind == _BOARD], [ride, board], 1.0)


def find_routes(
    graph: RouteGraph, cost: Floats, origin: Ints, destination: Ints
) -> tuple[NDArray[np.int32], Ints]:
    """The cheapest way of each pair, pairs sorted by destination, one after the other; length 0 where there is none."""
    roots, first = np.unique(destination, return_index=True)
    bounds = np.append(first, len(destination)).astype(np.int64)
    costly = Graph(graph.indptr, graph.indices, cost)
    return follow_trees(costly, graph.stop, roots.astype(np.int32), bounds, origin)


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


def _estimate_waits(network: Network, usual: float) -> Floats:
    """Return seconds that riders wait for each line, `usual` for the median one: half a headway if all edges' runs are
    shared evenly by their lines.
    """
    lines_per_edge = np.diff(network.route_indptr)
    edge = np.repeat(np.arange(network.edges), lines_per_edge)
    runs = network.runs[edge] / lines_per_edge[edge]
    edges_per_line = np.bincount(network.route, minlength=len(network.route_ids))
    per_line = np.bincount(network.route, runs, len(network.route_ids)) / np.maximum(edges_per_line, 1)
    served = per_line[per_line > 0]
    typical = float(np.median(served)) if len(served) else 1.0
    return usual * np.clip(typical / np.maximum(per_line, 1e-9), 1 / 5, 5)


def _find_best_line(network: Network, factor: Floats) -> Floats:
    """The smallest factor among the lines of each edge; the last factor, for walks, where there is none."""
    best = np.full(network.edges, factor[-1])
    served = np.flatnonzero(np.diff(network.route_indptr) > 0)
    if len(served):
        best[served] = np.minimum.reduceat(factor[network.route], network.route_indptr[served])
    return best


@dataclass(frozen=True)
class RouteChoice:
    """A way to choose a route: what is short, whether all agree on it, whether it goes via somewhere, and whether it
    takes walks from stop to stop.
    """

    way: int
    perturbed: bool
    via: bool = False
    walks: bool = True


ROUTE_CHOICES = tuple(
    RouteChoice(way, perturbed, via, walks)
    for walks in (True, False)
    for way, perturbed, via in (
        *((way, perturbed, False) for way in (METRES, SECONDS, LINES) for perturbed in (False, True)),
        *((way, True, True) for way in (METRES, LINES)),
    )
)
# The way that counts metres, under costs that differ from rider to rider.
METRES_PERTURBED = ROUTE_CHOICES.index(RouteChoice(METRES, True))
_PERTURBED = np.array([kind.perturbed for kind in ROUTE_CHOICES])
_VIA = np.array([kind.via for kind in ROUTE_CHOICES])
_WALKS = np.array([kind.walks for kind in ROUTE_CHOICES])


class RoutedWays:
    """Riders of a network, who choose between lines and roads; what edges cost them is learnt from round to round."""

    rare = 1 / 5
    # Whoever counts alike, straight or via somewhere.
    family = np.array([2 * kind.way + kind.via for kind in ROUTE_CHOICES])

    def __init__(self, demand: Demand, network: Network, settings: Generation) -> None:
        self.demand, self.settings, self.costs = demand, settings, Costs(network, settings)
        self.learnt, self.rounds = np.ones(network.edges), settings.rounds

    @property
    def first_shares(self) -> Floats:
        """Shares of the ways to choose a route before any fit: all alike, but detours, of which there are fewer.

        Where the network has no walks, nobody has to do without.
        """
        share = np.where(_VIA, 1 / 4, 1) * (_WALKS | self.costs.network.walk.any())
        return share / share.sum()

    def draw(self, count: int, shares: Floats, rng: np.random.Generator) -> Support:
        """Draw about `count` trips over the network."""
        origin, destination = self.demand.draw_ends(count, rng)
        bins = self.demand.draw_time_bins(origin, destination, rng)
        kind = rng.choice(len(ROUTE_CHOICES), len(origin), p=shares)
        via = np.flatnonzero(_VIA[kind] & (origin != destination))
        between = _draw_near_the_way(self.demand, origin[via], destination[via], rng)
        # Legs: one per trip, and a second one for those that go via somewhere.
        trip = np.sort(np.concatenate([np.arange(len(origin)), via]))
        start, end = origin[trip], destination[trip]
        second = np.flatnonzero(trip[1:] == trip[:-1]) + 1
        start[second], end[second - 1] = between, between
        legs = Legs(kind[trip], trip, start, end)
        location, offsets = join_legs(legs, route_legs(self.costs, legs, self.learnt, rng), len(origin))
        found = np.flatnonzero((np.diff(offsets) > 0) & (np.diff(offsets) <= LONGEST))
        location, offsets = select_walks(location, offsets, found)
        return Support(Walks(location, offsets, None if bins is None else bins[found]), kind[found])

    def learn(self, found: FittedSupport) -> None:
        """Learn from a fit what edges cost."""
        self.learnt = learn_costs(self.learnt, found, self.demand)


def learn_costs(learnt: Floats, found: FittedSupport, demand: Demand) -> Floats:
    """Return factors of the costs of edges, within a factor of two: an edge that carries more than was drawn must be
    cheaper than was thought.
    """
    flow = demand.noisy.get("edge")
    if flow is None:
        return learnt
    edge, floor = found.features.place["edge"], flow.deviation / 2
    busier = (found.fit.fitted[edge] + floor) / (found.fit.even[edge] + floor)
    return np.clip(learnt * busier**-demand.settings.feedback, 1 / 2, 2)


def _draw_near_the_way(demand: Demand, origin: Ints, destination: Ints, rng: np.random.Generator) -> Ints:
    """Draw a place near the straight line between two others: off it by a fifth of its length."""
    if len(origin) == 0:
        return origin
    points = np.column_stack(demand.blocks.geography.xy)
    way = points[destination] - points[origin]
    at = points[origin] + rng.random((len(origin), 1)) * way
    at += np.hypot(*way.T)[:, None] / 5 * rng.standard_normal(at.shape)
    return scipy.spatial.cKDTree(points).query(at)[1].astype(np.int64)


class Legs(NamedTuple):
    """Parts of trips to route: the way to choose the route, the trip, and both ends of each leg."""

    kind: Ints
    trip: Ints
    start: Ints
    end: Ints


class RoutedLegs(NamedTuple):
    """Legs that were routed over one graph: their stops end to end, their lengths, and which legs they are."""

    stops: NDArray[np.int32]
    lengths: Ints
    legs: Ints


def route_legs(
    costs: Costs, legs: Legs, learnt: Floats, rng: np.random.Generator, tries: int = 8
) -> list[RoutedLegs]:
    """Route all legs, graph by graph.

    Each destination tries a few of the graphs, so that few trees have to grow; other destinations try others.
    """
    settings, (kind, trip, start, end) = costs.settings, legs
    number = (end * 31 + trip % tries) % settings.graphs
    number = np.where(_PERTURBED[kind], number, 0)
    order = np.lexsort((end, number, kind))
    cuts = np.flatnonzero(np.diff(kind[order] * settings.graphs + number[order])) + 1

    def route(some: Ints, cost: Floats) -> RoutedLegs:
        graph = costs.graph(ROUTE_CHOICES[kind[some[0]]].way)
        return RoutedLegs(*find_routes(graph, cost, start[some], end[some]), some)

    found: list[RoutedLegs] = []
    groups = [some for some in np.split(order, cuts) if len(some)]
    at_once = os.cpu_count() or 1
    with ThreadPoolExecutor(at_once) as pool:
        # Costs of a few graphs at a time: those of all would fill the memory where edges are many.
        for first in range(0, len(groups), at_once):
            some = groups[first : first + at_once]
            drawn = [costs.draw(ROUTE_CHOICES[kind[one[0]]], learnt, rng) for one in some]
            found += pool.map(route, some, drawn)
    return found


def join_legs(legs: Legs, parts: list[RoutedLegs], trips: int) -> tuple[NDArray[np.int32], Ints]:
    """Trips from their legs, which stand in their order. A trip with a missing leg is empty."""
    trip, lengths = legs.trip, np.zeros(len(legs.trip), np.int64)
    for part in parts:
        lengths[part.legs] = part.lengths
    missing = np.zeros(trips, bool)
    missing[trip[lengths == 0]] = True
    begins = np.append(True, trip[1:] != trip[:-1])[: len(trip)]
    # A leg begins at the stop where the one before it ended.
    added = np.where(missing[trip], 0, lengths - ~begins)
    ends = np.cumsum(added)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(trip, added, trips))]).astype(np.int64)
    place = np.where(missing[trip], -1, ends - lengths)
    location = np.empty(offsets[-1], np.int32)
    for part in parts:
        _put(part.stops, part.lengths, place[part.legs], location)
    return location, offsets


@njit(cache=True, nogil=True)
def _put(stops, lengths, place, location):  # type: ignore[no-untyped-def]
    start = 0
    for i in range(len(lengths)):
        if place[i] >= 0:
            for step in range(lengths[i]):
                location[place[i] + step] = stops[start + step]
        start += lengths[i]
