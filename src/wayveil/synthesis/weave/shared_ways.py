"""What walks have in common: those that end alike share that stretch, so that it is looked at once for all of them.

Trips of a support follow trees of shortest ways. Read from their ends they are a forest, with a tree for every
destination, which has far fewer nodes than the trips have visits. A node stands for a whole rest of a walk: its own
stop, then those of its parent, and so on to the destination.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.world.walk_blocks import Block, Walks


class Forest(NamedTuple):
    """The nodes, parents before children and tree after tree; `parent` is -1 at a destination. `node` of each walk."""

    parent: NDArray[np.int32]
    stop: NDArray[np.int32]
    node: NDArray[np.int32]

    def runs(self, visits: int) -> tuple[Ints, Walks]:
        """The nodes from which a run of so many visits begins, and those runs."""
        beginning: Ints = np.arange(len(self.parent), dtype=np.int64)
        at, stops = self.parent, [self.stop]
        for _ in range(visits - 1):
            on = np.flatnonzero(at >= 0)
            beginning, at, stops = beginning[on], at[on], [stop[on] for stop in stops]
            at, stops = self.parent[at], [*stops, self.stop[at]]
        location = np.column_stack(stops).ravel().astype(np.int32)
        return beginning, Walks(location, visits * np.arange(len(beginning) + 1))

    def cuts(self, count: int) -> Ints:
        """Bounds of so many shares of the nodes, each of whole trees and about as large as the others."""
        roots = np.append(np.flatnonzero(self.parent < 0), len(self.parent))
        wanted = np.linspace(0, len(self.parent), count + 1)
        return roots[np.searchsorted(roots, wanted)].astype(np.int64)


def grow_forest(walks: Walks) -> Forest:
    """The forest of all walks."""
    order = np.argsort(walks.destination, kind="stable")
    return Forest(*_grow(walks.location, walks.offsets, walks.destination, order))


class Stretches(NamedTuple):
    """Blocks whose cells follow from runs of visits: the cell of each node's first run, in each block.

    `node` and `share` are those of every distinct walk: where it begins, and what each of its parts weighs.
    """

    parent: NDArray[np.int32]
    cell: NDArray[np.int32]
    node: NDArray[np.int32]
    share: Floats


def look_up_cells(forest: Forest, block: Block, first: int, nowhere: int) -> NDArray[np.int32]:
    """The cell of each node's first run; `nowhere` if its way is too short for one, or if the run has no cell."""
    out = np.full(len(forest.parent), nowhere, np.int32)
    beginning, runs = forest.runs(block.window or 1)
    cells = block.of(runs)
    out[beginning] = np.where(cells >= 0, cells + first, nowhere)
    return out


@njit(cache=True, nogil=True)
def add_stretch_scores(part, x, out, nodes, walks):  # type: ignore[no-untyped-def]
    """Add up x along the walks of a share of the trees."""
    begin, end = nodes
    blocks = part.cell.shape[1]
    reach = np.empty((end - begin, blocks))
    for node in range(begin, end):
        before = part.parent[node] - begin
        for b in range(blocks):
            value = x[part.cell[node, b]]
            reach[node - begin, b] = value if before < 0 else value + reach[before, b]
    for walk in range(walks[0], walks[1]):
        for b in range(blocks):
            out[walk] += reach[part.node[walk] - begin, b] * part.share[walk, b]


@njit(cache=True, nogil=True)
def add_stretch_totals(part, weight, out, nodes, walks):  # type: ignore[no-untyped-def]
    """Add the weights of the walks of a share of the trees to all cells along them."""
    begin, end = nodes
    blocks = part.cell.shape[1]
    load = np.zeros((end - begin, blocks))
    for walk in range(walks[0], walks[1]):
        for b in range(blocks):
            load[part.node[walk] - begin, b] += weight[walk] * part.share[walk, b]
    for node in range(end - 1, begin - 1, -1):
        before = part.parent[node] - begin
        for b in range(blocks):
            value = load[node - begin, b]
            out[part.cell[node, b]] += value
            if before >= 0:
                load[before, b] += value


@njit(cache=True, nogil=True)
def _grow(location, offsets, destination, order):  # type: ignore[no-untyped-def]
    """Walks by destination, each put in from its end. A small hash table finds the child with a stop; it begins anew
    with every tree, and so stays in the processor's cache.
    """
    parent, stop = np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32)
    found = np.empty(len(offsets) - 1, np.int32)
    table, size = np.zeros(256, np.int32), 256
    count = first = 0
    before = np.int32(-1)
    for walk in order:
        if count == 0 or destination[walk] != before:
            before, first, size = destination[walk], count, 256
            table[:size] = 0
        at = np.int32(-1)
        for visit in range(offsets[walk + 1] - 1, offsets[walk] - 1, -1):
            here = location[visit]
            place = _place(at, here, size)
            while table[place] != 0:
                node = table[place] - 1
                if parent[node] == at and stop[node] == here:
                    break
                place = (place + 1) & (size - 1)
            if table[place] == 0:
                if count == len(parent):
                    parent = np.concatenate((parent, np.empty_like(parent)))
                    stop = np.concatenate((stop, np.empty_like(stop)))
                parent[count], stop[count] = at, here
                count += 1
                table[place] = count
                if 2 * (count - first) > size:
                    size *= 2
                    if size > len(table):
                        table = np.zeros(size, np.int32)
                    table[:size] = 0
                    for node in range(first, count):
                        place = _place(parent[node], stop[node], size)
                        while table[place] != 0:
                            place = (place + 1) & (size - 1)
                        table[place] = node + 1
                at = np.int32(count - 1)
            else:
                at = np.int32(table[place] - 1)
        found[walk] = at
    return parent[:count].copy(), stop[:count].copy(), found


@njit(cache=True, nogil=True, inline="always")
def _place(node, stop, size):  # type: ignore[no-untyped-def]
    mixed = (np.uint64(node + 1) << np.uint64(32) | np.uint64(stop)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(32)) & (size - 1)
