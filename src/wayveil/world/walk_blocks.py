"""Public ways to look at a walk: blocks of cells, each of which a walk falls into once or spreads itself over.

A mechanism counts raw trips in these cells and fits invented ones to the counts, so both sides must mean the same by
them. They are defined here once, as functions of a walk and of public knowledge.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit

from wayveil.arrays import AnyInts, Floats, Int32s, Ints
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import EXTENTS, TURN_CELLS, Tiles, find_extents, turn_cells
from wayveil.world.repeats import (
    VISIT_KINDS,
    classify_lengths,
    classify_visits,
    count_contexts,
    find_contexts,
)
from wayveil.world.zones import Geography

# Walks of more visits than this are in the last bin of lengths.
LONGEST = 1_000
# Bins of the lengths of all trips, whatever their distance, grow by so many percent: few, so that the noise of many
# bins does not add up to long trips that nobody made.
GROWTH_IN_ALL = 50


@dataclass(frozen=True, eq=False)
class Walks:
    """Walks of at least one visit each; `bins` is the time bin in which each begins, where there are times."""

    location: Int32s
    offsets: Ints
    bins: AnyInts | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def origin(self) -> Int32s:
        return self.location[self.offsets[:-1]]

    @cached_property
    def destination(self) -> Int32s:
        return self.location[self.offsets[1:] - 1]

    @cached_property
    def lengths(self) -> Ints:
        """Visits of each walk."""
        return np.diff(self.offsets)

    @cached_property
    def moves(self) -> Ints:
        """The position of the first visit of every move, walk after walk: all visits but the last of each walk."""
        inside = np.ones(len(self.location), bool)
        inside[self.offsets[1:] - 1] = False
        return np.flatnonzero(inside)


@dataclass(frozen=True)
class Resolution:
    """Fineness of the blocks. Whole numbers only, so that a resolution can stand in a table.

    ends, hours, pairs  binary digits of the zones of ends, of hour x zone, and of band x zone x zone
    edges               binary digits of the zones of edges
    distances           bins of the distance between the ends
    growth              by how many percent bins of lengths grow; the first bins have one length each
    times               time bins of a period, 0 without times; bands: coarser ones
    triples             whether moves are also looked at two by two
    euclidean           whether walks spread over edges with weights of L2 norm one, not L1: what zCDP asks for
    corners             whether walks over a grid visit the corners that they clip
    tiles               rows and columns of tiles of a grid, between which walks cross; 0: not looked at

    Without a network:

    visits              binary digits of the classes of lengths by which visits of places are told apart
    memory, memories    visits that are remembered (see world/repeats.py), and digits of the classes of lengths there
    """

    ends: int
    hours: int
    pairs: int
    edges: int
    distances: int
    growth: int
    times: int
    bands: int
    triples: int = 0
    euclidean: int = 0
    corners: int = 0
    tiles: int = 0
    visits: int = 0
    memory: int = 0
    memories: int = 0


@dataclass(frozen=True, eq=False)
class Block:
    """Cells 0..cells-1 that a walk falls into.

    `of(walks)` gives one cell per walk, or, if the block is `spread`, one per move (and per mark): a walk then has
    weight one to spread evenly over all its `parts(walks)`. -1 stands for a part that has no cell. Where the cells of
    a block are unions of those of a finer one, `finer` names that one and `union` says which cell each is part of.
    `euclidean` says that what a walk adds to all cells has L2 norm one, whatever its L1 norm (see `block_weights`).
    """

    name: str
    cells: int
    of: Callable[[Walks], Ints]
    parts: Callable[[Walks], Ints] | None = None
    finer: str | None = None
    union: Ints | None = None
    euclidean: bool = False

    @property
    def spread(self) -> bool:
        return self.parts is not None


def length_edges(growth: int) -> Ints:
    """First length of each bin: 1, 2, 3, ... and wider ones where `growth` percent are more than one visit."""
    edges = [1]
    while edges[-1] < LONGEST:
        edges.append(max(edges[-1] + 1, edges[-1] * (100 + growth) // 100))
    return np.array(edges, np.int64)


def join_lengths(edges: Ints) -> Ints:
    """Return the wide bin of each bin of lengths: the first starts with it, the next where lengths have grown."""
    joined = np.zeros(len(edges), np.int64)
    start = edges[0]
    for number in range(1, len(edges)):
        grown = 100 * edges[number] >= (100 + GROWTH_IN_ALL) * start
        joined[number] = joined[number - 1] + int(grown)
        start = edges[number] if grown else start
    return joined


def distance_edges(geography: Geography, count: int) -> Floats:
    """Upper ends, in metres, of all distance bins but the last; near ones are narrower."""
    return geography.widest * (np.arange(1, count) / count) ** 1.5


class WalkBlocks:
    """All blocks of a world at one resolution, by name."""

    def __init__(
        self,
        geography: Geography,
        resolution: Resolution,
        leaves: Ints | None = None,
        districts: Ints | None = None,
    ) -> None:
        """`leaves` are the first pair codes of the leaves of a partition of all pairs of places, `districts` the
        district of each place.
        """
        self.geography, self.resolution = geography, resolution
        self.leaves, self.districts = leaves, districts
        self.length_edges = length_edges(resolution.growth)
        self.distance_edges = distance_edges(geography, resolution.distances)

    def all(self) -> dict[str, Block]:
        """The blocks that apply: hours only with times, zones, distances and edges only with a network."""
        blocks = [
            *self._lengths(),
            *self._end("origin", lambda walks: walks.origin),
            *self._end("destination", lambda walks: walks.destination),
            *self._pairs(),
            *self._hours(),
            *(self._edges() if self.geography.network else self._moves()),
            *self._turns(),
        ]
        return {block.name: block for block in blocks}

    def _lengths(self) -> list[Block]:
        lengths, bins = len(self.length_edges), self.resolution.distances
        found = [Block("length", bins * lengths, self._length)]
        if self.geography.network:
            distance = np.repeat(np.arange(bins), lengths)
            found.append(Block("distance", bins, self.distance, finer="length", union=distance))
        if isinstance(self.geography.network, Grid):
            joined = join_lengths(self.length_edges)
            found.append(
                Block(
                    "length in all",
                    int(joined[-1]) + 1,
                    lambda walks: joined[self._length_bin(walks)],
                    finer="length",
                    union=np.tile(joined, bins),
                )
            )
        return found

    def _end(self, name: str, place: Callable[[Walks], Int32s]) -> list[Block]:
        """Where walks begin or end, and on a network the zone of it."""
        size, bits = self.geography.world.size, self.resolution.ends
        found = [Block(name, size, lambda walks: place(walks).astype(np.int64))]
        if self.geography.network:
            zone = self.geography.places.zone(np.arange(size), bits)
            coarse = Block(
                f"{name} zone", 1 << bits, lambda walks: zone[place(walks)], finer=name, union=zone
            )
            found.append(coarse)
        return found

    def _pairs(self) -> list[Block]:
        found = [] if self.leaves is None else [Block("pair", len(self.leaves), self._leaf)]
        if self.districts is not None:
            of_place, many = self.districts, int(self.districts.max()) + 1

            def pairs(walks: Walks) -> Ints:
                return of_place[walks.origin] * many + of_place[walks.destination]

            found.append(Block("district pair", many * many, pairs))
        return found

    def distance(self, walks: Walks) -> Ints:
        """The bin of the distance between the ends of each walk."""
        metres = self.geography.metres(walks.origin, walks.destination)
        return np.searchsorted(self.distance_edges, metres, side="right").astype(np.int64)

    def _length(self, walks: Walks) -> Ints:
        return self.distance(walks) * len(self.length_edges) + self._length_bin(walks)

    def _length_bin(self, walks: Walks) -> Ints:
        return np.searchsorted(self.length_edges, walks.lengths, side="right") - 1

    def _leaf(self, walks: Walks) -> Ints:
        pair = self.geography.places.pair(walks.origin, walks.destination)
        return np.searchsorted(np.asarray(self.leaves), pair, side="right") - 1

    def _hours(self) -> list[Block]:
        if self.resolution.times == 0:
            return []
        zones, look = self.geography.places, self.resolution

        hour = np.repeat(np.arange(look.times), 1 << look.hours)

        def at(walks: Walks, place: Int32s) -> Ints:
            return (_bins(walks) << look.hours) + zones.zone(place, look.hours)

        def of_pair(walks: Walks) -> Ints:
            band = _bins(walks) * look.bands // look.times
            one, other = (zones.zone(end, look.pairs) for end in (walks.origin, walks.destination))
            return (band << 2 * look.pairs) + (one << look.pairs | other)

        return [
            Block("hour at origin", look.times << look.hours, lambda walks: at(walks, walks.origin)),
            Block("hour", look.times, _bins, finer="hour at origin", union=hour),
            Block(
                "hour at destination", look.times << look.hours, lambda walks: at(walks, walks.destination)
            ),
            Block("band of pair", look.bands << 2 * look.pairs, of_pair),
        ]

    def _edges(self) -> list[Block]:
        network, bits = self.geography.network, self.resolution.edges
        if network is None:
            return []
        zone = self.geography.edge_zones(bits)
        targets = network.indices.astype(np.int64)
        after = network.successors.degree(targets)
        before = np.concatenate([[0], np.cumsum(after)])

        def edges(walks: Walks) -> Ints:
            return network.edge_index(walks.location[walks.moves], walks.location[walks.moves + 1])

        def zones(walks: Walks) -> Ints:
            found = edges(walks)
            return np.where(found >= 0, zone[found], -1)

        def triples(walks: Walks) -> Ints:
            found = edges(walks)
            # After a move that is not the last of its walk, the next visit is where the next move begins.
            follows = np.flatnonzero(walks.moves[1:] == walks.moves[:-1] + 1)
            first, second = found[follows], found[follows + 1]
            cell = before[first] + second - network.indptr[targets[first]]
            return np.where((first >= 0) & (second >= 0), cell, -1)

        def moves(walks: Walks) -> Ints:
            return walks.lengths - 1

        # A walk has another L2 norm over zones than over edges, so that its weights there are not sums.
        finer = (None, None) if self.resolution.euclidean else ("edge", zone)
        blocks = [
            Block("edge", network.edges, edges, moves),
            Block("edge zone", 1 << bits, zones, moves, *finer),
        ]
        if self.resolution.triples:
            blocks.append(Block("two edges", int(before[-1]), triples, _turns))
        return [replace(block, euclidean=bool(self.resolution.euclidean)) for block in blocks]

    def _turns(self) -> list[Block]:
        """On a grid: how people turn, whichever way they go (a walk of two visits has no turn), and how far aside they
        go, by the distance of their ends.
        """
        grid = self.geography.network
        if not isinstance(grid, Grid):
            return []

        def turns(walks: Walks) -> Ints:
            return turn_cells(grid, walks.location, walks.moves, walks.lengths)

        def extents(walks: Walks) -> Ints:
            return self.distance(walks) * EXTENTS + find_extents(grid, walks.location, walks.offsets)

        return [
            Block("turn", TURN_CELLS, turns, _turns),
            Block("extent", self.resolution.distances * EXTENTS, extents),
            *self._crossings(grid),
        ]

    def _crossings(self, grid: Grid) -> list[Block]:
        """On a grid: crossings from tile to tile, two in a row; a walk that stays in one tile has none."""
        if not self.resolution.tiles:
            return []
        tiles = Tiles(grid, self.resolution.tiles)

        def crossings(walks: Walks) -> Ints:
            return tiles.find(walks.location, walks.offsets, walks.moves)

        def count(walks: Walks) -> Ints:
            return tiles.count(walks.location, walks.offsets, walks.moves)

        euclidean = bool(self.resolution.euclidean)
        return [Block("crossing", tiles.cells, crossings, count, euclidean=euclidean)]

    def _moves(self) -> list[Block]:
        """Without a network: every pair of places, then where walks begin, then where they end."""
        size = self.geography.world.size

        def moves(walks: Walks) -> Ints:
            cells = np.empty(len(walks.location) + len(walks), np.int64)
            starts = walks.offsets[:-1] + np.arange(len(walks))
            ends = walks.offsets[1:] + np.arange(len(walks))
            cells[starts] = size * size + walks.origin
            cells[ends] = size * (size + 1) + walks.destination
            inner = np.ones(len(cells), bool)
            inner[starts] = inner[ends] = False
            cells[inner] = (
                walks.location[walks.moves].astype(np.int64) * size + walks.location[walks.moves + 1]
            )
            return cells

        blocks = [Block("move", size * (size + 2), moves, lambda walks: walks.lengths + 1)]
        return [*blocks, *self._visits(), *self._memory()]

    def _visits(self) -> list[Block]:
        """Visits of each place by walks of each class of lengths; a walk has one visit's weight in all."""
        size, bits = self.geography.world.size, self.resolution.visits

        def visits(walks: Walks) -> Ints:
            class_ = np.repeat(classify_lengths(walks.lengths, bits), walks.lengths)
            return class_ * size + walks.location

        return [Block("visit", size << bits, visits, lambda walks: walks.lengths)]

    def _memory(self) -> list[Block]:
        """Return how visits repeat earlier ones: class of lengths, context and kind of every visit but the first."""
        size, bits, memory = self.geography.world.size, self.resolution.memories, self.resolution.memory

        def repeats(walks: Walks) -> Ints:
            first = np.zeros(len(walks.location), bool)
            first[walks.offsets[:-1]] = True
            kind = classify_visits(walks.location, walks.offsets, size)
            class_ = np.repeat(classify_lengths(walks.lengths, bits), walks.lengths - 1)
            row = class_ * count_contexts(memory) + find_contexts(kind, first, memory)
            return row * VISIT_KINDS + kind[~first]

        cells = count_contexts(memory) * VISIT_KINDS << bits
        return [Block("memory", cells, repeats, lambda walks: walks.lengths - 1)]


def _turns(walks: Walks) -> Ints:
    """Return how often each walk goes on from one move to another."""
    return np.maximum(walks.lengths - 2, 0)


def _bins(walks: Walks) -> Ints:
    if walks.bins is None:
        raise ValueError("these walks have no times")
    return walks.bins.astype(np.int64)


def count_parts(block: Block, walks: Walks) -> Ints:
    """Return how many parts each walk has in a block that it spreads over."""
    if block.parts is None:
        raise ValueError(f"{block.name} is not spread")
    return block.parts(walks)


def measure_norms(block: Block, parts: Ints, cells: AnyInts) -> Floats:
    """The norm of each walk's numbers of parts per cell; a part weighs one over it. At least one.

    Weights are 1 / parts, so that a walk adds at most one in all (L1). In a euclidean block they are 1 / sqrt(sum of
    squared numbers of parts per cell), so that what a walk adds has L2 norm one: 1 / sqrt(parts) if no cell repeats.
    """
    if block.euclidean:
        return np.sqrt(_sum_squares(cells, parts, block.cells))
    return np.maximum(parts, 1).astype(np.float64)


def whole_weights(block: Block, parts: Ints, cells: AnyInts, whole: int) -> Ints:
    """Weights as whole parts of `whole`, rounded down: no walk's norm exceeds `whole`."""
    if not block.euclidean:
        return whole // np.maximum(parts, 1)
    squares = _sum_squares(cells, parts, block.cells)
    weights = np.sqrt(whole * whole // squares).astype(np.int64)
    # A square root that was rounded up must not be kept.
    return weights - (weights * weights * squares > whole * whole)


@njit(cache=True)
def _sum_squares(cells, parts, size):  # type: ignore[no-untyped-def]
    """Sum over cells of the squared number of a walk's parts in it; parts without a cell (-1) add nothing."""
    out = np.ones(len(parts), np.int64)
    times = np.zeros(size, np.int64)
    begin = 0
    for walk in range(len(parts)):
        end = begin + parts[walk]
        total = 0
        for k in range(begin, end):
            if cells[k] >= 0:
                # The square of n + 1 is that of n, and 2 n + 1.
                total += 2 * times[cells[k]] + 1
                times[cells[k]] += 1
        for k in range(begin, end):
            if cells[k] >= 0:
                times[cells[k]] = 0
        out[walk] = max(total, 1)
        begin = end
    return out
