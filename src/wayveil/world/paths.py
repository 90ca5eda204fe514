"""Shortest paths for millions of origin-destination pairs: one reverse tree per destination in use, then a walk."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy
from numba import njit
from numpy.typing import ArrayLike, NDArray

from wayveil.arrays import AnyInts, Floats, Int32s, Ints, Mask
from wayveil.errors import ParameterError
from wayveil.progress import track
from wayveil.world.bucket_trees import follow_trees
from wayveil.world.network import Network
from wayveil.world.trees import Cost, require_locations, reversed_graph


def is_reachable(network: Network, source: AnyInts, target: AnyInts) -> Mask:
    """Tell whether the network has any way from each source to the target beside it.

    Places that reach each other are taken together first; between such parts there are few ways, and no circle.
    """
    matrix = network.matrix(np.ones(network.edges))
    parts, part = scipy.sparse.csgraph.connected_components(matrix, directed=True, connection="strong")
    start, goal = part[source], part[target]
    found = np.asarray(start == goal)
    if found.all():
        return found
    row, column = matrix.nonzero()
    between = part[row] != part[column]
    ways = scipy.sparse.csr_matrix(
        (np.ones(int(between.sum())), (part[row[between]], part[column[between]])), shape=(parts, parts)
    )
    for one in np.unique(start[~found]):
        here = np.flatnonzero(start == one)
        reached = scipy.sparse.csgraph.breadth_first_order(ways, one, return_predecessors=False)
        found[here] |= np.isin(goal[here], reached)
    return found


_DESTINATIONS_PER_BATCH = 64


@dataclass(frozen=True)
class Paths:
    """Path i is `location[offsets[i]:offsets[i + 1]]`, both ends included; it is empty where there is no way."""

    location: Int32s
    offsets: Ints

    @property
    def reachable(self) -> Mask:
        """Which pairs have a path."""
        return np.diff(self.offsets) > 0


def shortest_paths(
    network: Network,
    origins: ArrayLike,
    destinations: ArrayLike,
    cost: Cost = "metres",
    *,
    workers: int | None = None,
) -> Paths:
    """The shortest path from each origin to its destination, in the order of the pairs.

    The result does not depend on the number of `workers` (threads; default: one per core). Beyond the paths
    themselves, held twice for a moment, memory is one tree per worker.
    """
    origin, destination = _pairs(network, origins, destinations)
    graph = reversed_graph(network, cost)
    order = np.argsort(destination, kind="stable")
    roots, first = np.unique(destination[order], return_index=True)
    bounds = np.append(first, len(order)).astype(np.int64)
    starts, every = range(0, len(roots), _DESTINATIONS_PER_BATCH), np.arange(network.size, dtype=np.int32)

    def batch(start: int) -> tuple[Int32s, Ints]:
        chosen = roots[start : start + _DESTINATIONS_PER_BATCH]
        ends = bounds[start : start + len(chosen) + 1]
        return follow_trees(graph, every, chosen, ends - ends[0], origin[order[ends[0] : ends[-1]]])

    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        parts = list(track(pool.map(batch, starts), "shortest paths", total=len(starts)))
        lengths = np.zeros(len(order), np.int64)
        lengths[order] = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        location = np.empty(offsets[-1], np.int32)

        def put(start: int, part: tuple[Int32s, Ints]) -> None:
            pair = order[bounds[start] : bounds[start] + len(part[1])]
            place_paths(*part, pair, offsets, location)

        list(pool.map(put, starts, parts))
    return Paths(location, offsets)


def along_paths(
    network: Network, location: ArrayLike, offsets: ArrayLike, weight: NDArray[np.generic]
) -> Floats:
    """The sum of an edge weight (seconds, metres) from the start of its path to each visit.

    Every step must be an edge of the network.
    """
    location, offsets = np.asarray(location, np.int32), np.asarray(offsets, np.int64)
    starts = np.zeros(len(location) + 1, bool)
    starts[offsets] = True
    step = np.flatnonzero(~starts[:-1])
    edge = network.edge_index(location[step - 1], location[step])
    if np.any(edge < 0):
        wrong = step[np.argmax(edge < 0)]
        here, there = network.ids[location[wrong - 1]], network.ids[location[wrong]]
        raise ParameterError(f"there is no edge from {here} to {there}")
    gained = np.zeros(len(location))
    gained[step] = np.asarray(weight, np.float64)[edge]
    sum_within(gained, offsets)
    return gained


@njit(cache=True, nogil=True)
def sum_within(values: Floats, offsets: Ints) -> None:
    """Running sums in place that start anew with each path, so that rounding does not carry over."""
    for i in range(len(offsets) - 1):
        for k in range(offsets[i] + 1, offsets[i + 1]):
            values[k] += values[k - 1]


def _pairs(network: Network, origins: ArrayLike, destinations: ArrayLike) -> tuple[Int32s, Int32s]:
    origin, destination = np.asarray(origins, np.int32), np.asarray(destinations, np.int32)
    if origin.ndim != 1 or origin.shape != destination.shape:
        raise ParameterError("paths need as many origins as destinations")
    return require_locations(network, origin), require_locations(network, destination)


@njit(cache=True, nogil=True)
def place_paths(walked: Int32s, lengths: Ints, pair: Ints, offsets: Ints, location: Int32s) -> None:
    """Copy paths to the places of their pairs."""
    start = 0
    for i in range(len(lengths)):
        put = offsets[pair[i]]
        for step in range(lengths[i]):
            location[put + step] = walked[start + step]
        start += lengths[i]
