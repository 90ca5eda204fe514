"""What many trips share, found once for the fit; and the descent that finds their weights."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.settings import SolverSettings
from wayveil.world.walk_blocks import Block, Walks


def minimise(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    iterations: int,
    tolerance: float,
    settings: SolverSettings,
) -> tuple[Floats, int]:
    """A point near the minimum, and the steps it took; `function` gives value and gradient.

    Stops after so many steps, or when two steps in a row gain less than `tolerance` each.
    """
    point = start
    value, slope = function(point)
    moves, turns = (np.empty((settings.memory, len(start))) for _ in range(2))
    bends = np.empty(settings.memory)
    known, idle = 0, 0
    for step in range(iterations):
        direction = _point_downhill(slope, moves, turns, bends, known)
        descent = dot(direction, slope)
        if descent >= 0:  # rounding has spoilt the memory
            known = 0
            direction, descent = -slope, -dot(slope, slope)
        if descent == 0:
            return point, step
        length = 1.0 if known else min(1.0, 1.0 / float(np.sqrt(dot(slope, slope))))
        while True:
            there = point + length * direction
            new_value, new_slope = function(there)
            if new_value <= value + settings.enough * length * descent:
                break
            length *= 0.5
            if length < settings.shortest:
                return point, step
        known = _remember(there - point, new_slope - slope, moves, turns, bends, known)
        idle = idle + 1 if value - new_value <= tolerance else 0
        point, value, slope = there, new_value, new_slope
        if idle == 2:
            return point, step + 1
    return point, iterations


def _remember(move: Floats, turn: Floats, moves: Floats, turns: Floats, bends: Floats, known: int) -> int:
    """Keep a step, how it turned the slope, and the inner product of both, the newest in row `known` modulo the memory;
    returns the new `known`.
    """
    bend = dot(move, turn)
    if bend <= 1e-14 * dot(turn, turn):
        return known
    row = known % len(moves)
    moves[row], turns[row], bends[row] = move, turn, bend
    return known + 1


# Sums in any order: several numbers at a time, which rounds differently and nothing else.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(one: Floats, other: Floats) -> float:
    """The inner product, on one core."""
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _point_downhill(slope: Floats, moves: Floats, turns: Floats, bends: Floats, known: int) -> Floats:
    """Minus the slope divided by the curvature, as far as the last steps tell (two-loop recursion)."""
    out = -slope
    rows = min(known, len(moves))
    factor = np.empty(rows)
    for back in range(rows):
        row = (known - 1 - back) % len(moves)
        factor[back] = dot(moves[row], out) / bends[row]
        for i in range(len(out)):
            out[i] -= factor[back] * turns[row, i]
    if rows:
        row = (known - 1) % len(moves)
        scale = bends[row] / dot(turns[row], turns[row])
        for i in range(len(out)):
            out[i] *= scale
    for back in range(rows - 1, -1, -1):
        row = (known - 1 - back) % len(moves)
        change = factor[back] - dot(turns[row], out) / bends[row]
        for i in range(len(out)):
            out[i] += change * moves[row, i]
    return out


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


def grow_forest(walks: Walks) -> Forest:
    """The forest of all walks."""
    order = np.argsort(walks.destination, kind="stable")
    return Forest(*_grow(walks.location, walks.offsets, walks.destination, order))


class Stretches(NamedTuple):
    """Two blocks whose cells follow from runs of visits, on the ways of all walks.

    Nodes stand in the order in which walks were put into the forest, each walk from its end: after a node comes the one
    that leads to it, until the walk is whole. Such stretches are passed along without looking up any parent.

    first    the node at which each stretch begins, and the end of the last one
    goes_on  the node that each stretch goes on to, -1 at a destination
    run      the number of each node's first run, `cell` the cells of each run in both blocks
    node     of every distinct walk the node where it begins, ascending
    share    what each part of a distinct walk weighs in both blocks
    """

    first: Ints
    goes_on: NDArray[np.int32]
    run: NDArray[np.int32]
    cell: NDArray[np.int32]
    node: NDArray[np.int32]
    share: Floats

    def cuts(self, count: int) -> tuple[Ints, Ints]:
        """Bounds of so many shares of the stretches, of whole trees and about as many nodes each; and of the walks."""
        trees = np.append(np.flatnonzero(self.goes_on < 0), len(self.goes_on))
        wanted = np.linspace(0, self.first[-1], count + 1)
        cuts = trees[np.searchsorted(self.first[trees], wanted)]
        return cuts, np.searchsorted(self.node, self.first[cuts])


def find_stretches(
    forest: Forest, cell: NDArray[np.int32], node: NDArray[np.int32], share: Floats
) -> Stretches:
    """The stretches of a forest. `cell` has the cells of each node's first run; the rest are columns of `Stretches`."""
    nodes = len(forest.parent)
    begin = np.flatnonzero((forest.parent < 0) | (forest.parent != np.arange(nodes) - 1))
    run, cells = _number_rows(cell)
    return Stretches(np.append(begin, nodes), forest.parent[begin], run, cells, node, share)


def look_up_cells(forest: Forest, block: Block, first: int, nowhere: int) -> NDArray[np.int32]:
    """The cell of each node's first run; `nowhere` if its way is too short for one, or if the run has no cell."""
    out = np.full(len(forest.parent), nowhere, np.int32)
    beginning, runs = forest.runs(block.window or 1)
    cells = block.of(runs)
    out[beginning] = np.where(cells >= 0, cells + first, nowhere)
    return out


@njit(cache=True, nogil=True)
def add_stretch_scores(part, x, reach, out, stretches, walks):  # type: ignore[no-untyped-def]
    """Add up x along the walks of a share of the trees. `reach` is room for two numbers per node."""
    first, goes_on, run, share = part.first, part.goes_on, part.run, part.share
    score = np.empty((len(part.cell), 2))
    for k in range(len(score)):
        score[k, 0], score[k, 1] = x[part.cell[k, 0]], x[part.cell[k, 1]]
    for stretch in range(stretches[0], stretches[1]):
        on, one, two = goes_on[stretch], 0.0, 0.0
        if on >= 0:
            one, two = reach[on, 0], reach[on, 1]
        for node in range(first[stretch], first[stretch + 1]):
            one += score[run[node], 0]
            two += score[run[node], 1]
            reach[node, 0], reach[node, 1] = one, two
    for walk in range(walks[0], walks[1]):
        node = part.node[walk]
        out[walk] += reach[node, 0] * share[walk, 0] + reach[node, 1] * share[walk, 1]


@njit(cache=True, nogil=True)
def add_stretch_totals(part, weight, load, out, stretches, walks):  # type: ignore[no-untyped-def]
    """Add the weights of the walks of a share of the trees to all cells along them.

    `load` is room for two numbers per node, zero before and after.
    """
    first, goes_on, run, share = part.first, part.goes_on, part.run, part.share
    total = np.zeros((len(part.cell), 2))
    for walk in range(walks[0], walks[1]):
        node = part.node[walk]
        load[node, 0], load[node, 1] = weight[walk] * share[walk, 0], weight[walk] * share[walk, 1]
    for stretch in range(stretches[1] - 1, stretches[0] - 1, -1):
        on, one, two = goes_on[stretch], 0.0, 0.0
        for node in range(first[stretch + 1] - 1, first[stretch] - 1, -1):
            one += load[node, 0]
            two += load[node, 1]
            load[node, 0], load[node, 1] = 0.0, 0.0
            total[run[node], 0] += one
            total[run[node], 1] += two
        if on >= 0:
            load[on, 0] += one
            load[on, 1] += two
    for k in range(len(total)):
        out[part.cell[k, 0]] += total[k, 0]
        out[part.cell[k, 1]] += total[k, 1]


@njit(cache=True, nogil=True)
def _number_rows(rows):  # type: ignore[no-untyped-def]
    """The number of each row of two among the different ones, and those."""
    number, found = np.empty(len(rows), np.int32), np.empty((len(rows), 2), np.int32)
    bits, count = 12, 0
    table = np.full(1 << bits, -1, np.int32)
    for i in range(len(rows)):
        place = _place(rows[i, 0], rows[i, 1], 1 << bits)
        while table[place] >= 0:
            known = table[place]
            if found[known, 0] == rows[i, 0] and found[known, 1] == rows[i, 1]:
                break
            place = (place + 1) & ((1 << bits) - 1)
        if table[place] < 0:
            table[place] = count
            found[count] = rows[i]
            count += 1
            number[i] = count - 1
            if 2 * count > 1 << bits:
                bits += 1
                table = np.full(1 << bits, -1, np.int32)
                for k in range(count):
                    place = _place(found[k, 0], found[k, 1], 1 << bits)
                    while table[place] >= 0:
                        place = (place + 1) & ((1 << bits) - 1)
                    table[place] = k
        else:
            number[i] = table[place]
    return number, found[:count].copy()


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
