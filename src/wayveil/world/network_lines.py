"""Lines of a network, from public facts alone: where each of their edges leads to, and how lines share an edge."""

from dataclasses import dataclass

import numpy as np
import scipy

from wayveil.arrays import Floats, Ints
from wayveil.world.network import Network

# A way of local runs is the track of an express run if it is longer by no more than this share and so many metres.
SAME_TRACK, ROOM = 1.15, 50.0


@dataclass(frozen=True, eq=False)
class LineEdges:
    """One row per edge and line on it.

    edge, line  indices into the network
    towards     the stop at the end of the line to which the edge leads
    share       the share of the runs on this edge that are this line's, as far as the timetable tells
    """

    edge: Ints
    line: Ints
    towards: Ints
    share: Floats


def line_edges(network: Network) -> LineEdges:
    """Every line's edges with the end that they lead to.

    The ends of a line are the two stops farthest from each other along it. An edge leads to the end that it brings
    nearer, measured from the other one: branches of a line then have the direction of its trunk.
    """
    per_edge = np.diff(network.route_indptr)
    edge = np.repeat(np.arange(network.edges), per_edge)
    line = network.route.astype(np.int64)
    runs = scheduled_runs(network)[line]
    share = runs / np.maximum(np.bincount(edge, runs, network.edges), 1e-12)[edge]
    node, one, other = _on_lines(network, edge, line)
    of_line = node // network.size
    graph = scipy.sparse.csr_array((network.metres[edge] + 1.0, (one, other)), (len(node), len(node)))
    first = np.flatnonzero(np.diff(of_line, prepend=-1))
    start = _farthest(graph, first, of_line)
    end = _farthest(graph, start, of_line)
    away = _distance(graph, start)
    which = np.searchsorted(of_line[first], line)
    ahead = away[other] >= away[one]
    towards = node[np.where(ahead, end[which], start[which])] % network.size
    return LineEdges(edge, line, towards, share)


def express_tracks(network: Network) -> tuple[Ints, Ints, Ints]:
    """Edges of express runs with their line, and one edge after the other of the same line that lies under them.

    Timetables have an edge from each call to the next, so that express runs have their own over the track of local
    runs. Short edges are cheaper than one long one here, so that the way with the most calls is found; it is the same
    track where it is hardly longer.
    """
    lines = line_edges(network)
    node, one, other = _on_lines(network, lines.edge, lines.line)
    metres = network.metres[lines.edge] + 1.0
    graph = scipy.sparse.csr_array((metres**1.5, (one, other)), (len(node), len(node)))
    row_of = {pair: row for row, pair in enumerate(zip(one.tolist(), other.tolist(), strict=True))}
    found: tuple[list[int], list[int], list[int]] = ([], [], [])
    branching = np.flatnonzero(np.bincount(one, minlength=len(node))[one] > 1)
    for start in np.unique(one[branching]):
        rows = branching[one[branching] == start]
        _, before = scipy.sparse.csgraph.dijkstra(
            graph, indices=int(start), limit=float((metres[rows] ** 1.5).max()), return_predecessors=True
        )
        for row in rows.tolist():
            path, at = [], int(other[row])
            while at != start and before[at] >= 0:
                path.append(row_of[int(before[at]), at])
                at = int(before[at])
            if len(path) > 1 and metres[path].sum() <= SAME_TRACK * metres[row] + ROOM:
                found[0].extend([int(lines.edge[row])] * len(path))
                found[1].extend([int(lines.line[row])] * len(path))
                found[2].extend(lines.edge[path].tolist())
    return tuple(np.array(side, np.int64) for side in found)  # type: ignore[return-value]


def _on_lines(network: Network, edge: Ints, line: Ints) -> tuple[Ints, Ints, Ints]:
    """Nodes, each of which is a stop on a line, so that all lines are searched at once; and both nodes of each edge."""
    ends = np.stack([network.sources[edge], network.indices[edge]]).astype(np.int64)
    node, place = np.unique(line * network.size + ends, return_inverse=True)
    one, other = place.reshape(ends.shape)
    return node, one, other


def scheduled_runs(network: Network) -> Floats:
    """Vehicle runs of each route in the feed: those of its busiest edge, shared by the routes on it."""
    sharing = np.maximum(np.diff(network.route_indptr), 1)
    edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    runs = np.zeros(len(network.route_ids))
    np.maximum.at(runs, network.route, (network.runs / sharing)[edge])
    return runs


def _distance(graph: "scipy.sparse.csr_array", start: Ints) -> Floats:
    """Metres from the start of each line, whichever way its vehicles run; lines do not touch each other."""
    if len(start) == 0:
        return np.zeros(0)
    found = scipy.sparse.csgraph.dijkstra(graph, directed=False, indices=start, min_only=True)
    return np.where(np.isfinite(found), found, -1.0)


def _farthest(graph: "scipy.sparse.csr_array", start: Ints, of_line: Ints) -> Ints:
    """The node of each line that is farthest from its start."""
    order = np.lexsort((_distance(graph, start), of_line))
    return order[np.flatnonzero(np.diff(of_line[order], append=-1))]
