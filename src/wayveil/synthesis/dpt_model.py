"""Measurements of DPT, noisy trees of steps over reference systems, and walks through them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numba import njit

from wayveil.arrays import Floats, Int32s, Ints, Ragged
from wayveil.synthesis.model import Model
from wayveil.trips.trips import Trips
from wayveil.world.reference_systems import DIRECTIONS, STEPS, ReferenceSystems
from wayveil.world.walk_blocks import Walks
from wayveil.world.world import World

# Of the weight of a step that turns right back, this much is left.
BACKWARDS = 0.1


@dataclass(frozen=True, eq=False)
class StepTree:
    """Nodes of a tree, level by level: a cell, and what happened from there on.

    Level 1 is keyed by cell; a key of a deeper level is the position of its parent times symbols plus the symbol. Keys
    are ascending.
    """

    keys: tuple[Ints, ...]
    noisy: tuple[Ints, ...]

    @property
    def height(self) -> int:
        return len(self.keys)

    def nodes(
        self, walks: Walks, systems: ReferenceSystems, finest: int, depth: int
    ) -> tuple[Ints, Ints, Ints]:
        """Of every event of the walks: its node of that depth (-1: none was kept), the symbol that comes next (-1: the
        run is over), and the walk.
        """
        events = systems.events(walks, finest)
        at = np.arange(len(events.cell))
        node = _find(self.keys[0], events.cell) if depth > 0 else events.cell
        symbol = events.symbol.copy()
        for level in range(1, depth):
            node = np.where(node >= 0, _find(self.keys[level], node * systems.symbols + symbol), -1)
            # Only a step goes on; a change of system and the end are the last of a run.
            goes_on = (symbol >= 0) & (symbol < DIRECTIONS)
            following = np.minimum(at + level, len(at) - 1)
            symbol = np.where(goes_on, events.symbol[following], -1)
            node = np.where(goes_on, node, -1)
        return node, symbol, events.walk


def _find(keys: Ints, asked: Ints) -> Ints:
    if len(keys) == 0:
        return np.full(len(asked), -1, np.int64)
    place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where(keys[place] == asked, place, -1)


@dataclass(frozen=True, eq=False)
class DptModel(Model):
    """Noisy starts and trees; trips are walks.

    metres, systems  the grids; finest: the first system that is used
    start_cells, start_counts  where trips begin
    tree             noisy weights of what happens in a cell, after what
    trips            how many there are, from a noisy count
    longest          most stops of a trip; window: steps whose direction a walk keeps
    """

    world: World
    metres: float
    systems: int
    finest: int
    start_cells: Ints
    start_counts: Ints
    tree: StepTree
    trips: float
    longest: int
    window: int

    def generate(self, seed: int | None = None) -> Trips:
        """Start where trips start and walk, always by the deepest node that says how it goes on."""
        return self.draw(None, seed)

    def draw(self, trips: int | None = None, seed: int | None = None) -> Trips:
        """So many trips; None for as many as the model says there are."""
        rng = np.random.default_rng(seed)
        count = max(round(self.trips), 1) if trips is None else trips
        systems = ReferenceSystems(self.world, self.metres, self.systems)
        inside, bounds = _locations(systems)
        cells = self.start_cells
        # Noise also lifts cells in which there is no place at all; nobody begins there.
        chance = np.where(bounds[cells] < bounds[cells + 1], np.maximum(self.start_counts, 0), 0).astype(
            np.float64
        )
        if chance.sum() <= 0:
            # Nothing stood out: public knowledge only, the places of the coarsest system.
            cells = np.unique(systems.place[-1])
            chance = np.ones(len(cells))
        drawn = np.searchsorted(np.cumsum(chance), rng.random(count) * chance.sum(), side="right")
        begin = cells[drawn.clip(0, len(cells) - 1)]
        next_cell = np.stack(
            [systems.step(np.arange(systems.cells), np.full(systems.cells, d)) for d in range(DIRECTIONS)]
        )
        place = np.ascontiguousarray(systems.place)
        visits, known = self._popularity(systems)
        ground = _Ground(
            next_cell, place, Ragged(inside, bounds), visits, known, systems.symbols, systems.end
        )
        walks = _walk(begin, _flat(self.tree), ground, self.longest, self.window, rng)
        return Trips(*walks, self.world)

    def _popularity(self, systems: ReferenceSystems) -> tuple[Floats, Floats]:
        """Estimate visits of each location from the noisy weights of its cells; tell which cells have any."""
        known = np.zeros(systems.cells)
        if self.tree.height:
            known[self.tree.keys[0]] = np.maximum(self.tree.noisy[0], 0)
        sharing = np.bincount(systems.place.ravel(), minlength=systems.cells)
        visits = (known / np.maximum(sharing, 1))[systems.place].sum(axis=0)
        return visits, (known > 0).astype(np.float64)

    def table(self) -> pl.DataFrame:
        """One row per node: level, key, noisy weight; level 0 are the starts."""
        parts = [(0, self.start_cells, self.start_counts)]
        parts += [
            (level + 1, *pair) for level, pair in enumerate(zip(self.tree.keys, self.tree.noisy, strict=True))
        ]
        return pl.concat(
            [
                pl.DataFrame({"level": np.full(len(keys), level), "key": keys, "noisy_count": counts})
                for level, keys, counts in parts
            ]
        )


class _FlatTree(NamedTuple):
    """Keys and counts of all levels one after the other, and where each level begins."""

    keys: Ints
    counts: Ints
    starts: Ints


class _Ground(NamedTuple):
    """Cells that walks go over.

    next_cell  the cell in each direction (row) of each cell (column), -1 for none
    place      the cell of each location (column) in each system (row)
    inside     the locations of each cell
    visits     how much each location seems to be visited; known: which cells have a weight
    """

    next_cell: Ints
    place: Ints
    inside: Ragged
    visits: Floats
    known: Floats
    symbols: int
    end: int


def _flat(tree: StepTree) -> _FlatTree:
    starts = np.concatenate([[0], np.cumsum([len(keys) for keys in tree.keys])]).astype(np.int64)
    return _FlatTree(np.concatenate(tree.keys), np.concatenate(tree.noisy), starts)


def _locations(systems: ReferenceSystems) -> tuple[Ints, Ints]:
    """The locations in each cell of each system."""
    cell = systems.place.ravel()
    location = np.tile(np.arange(systems.place.shape[1]), systems.systems)
    order = np.argsort(cell, kind="stable")
    return location[order], np.searchsorted(cell[order], np.arange(systems.cells + 1)).astype(np.int64)


@njit(cache=True)
def _pick(
    inside: Ints, low: int, high: int, wanted: Floats, fallback: Floats, rng: np.random.Generator
) -> int:
    """A place of a cell by weight; by the other weights, or evenly, where there is none."""
    for weight in (wanted, fallback):
        total = 0.0
        for at in range(low, high):
            total += weight[inside[at]]
        if total > 0:
            aim = rng.random() * total
            for at in range(low, high):
                aim -= weight[inside[at]]
                if aim < 0:
                    return at
    return low + int(rng.random() * (high - low))


@njit(cache=True)
def _lookup(keys: Ints, low: int, high: int, key: int) -> int:
    at = low + int(np.searchsorted(keys[low:high], key))
    return at - low if at < high and keys[at] == key else -1


@njit(cache=True)
def _weigh_steps(
    tree: _FlatTree, ground: _Ground, node: Ints, cell: int, heading: tuple[float, float], weight: Floats
) -> float:
    """Fill in the weight of every next symbol by the deepest node that has children, and return their sum."""
    keys, counts, starts = tree
    symbols = ground.symbols
    pull = np.sqrt(heading[0] * heading[0] + heading[1] * heading[1])
    for depth in range(len(starts) - 3, -1, -1):
        if node[depth] < 0:
            continue
        low, high = starts[depth + 1], starts[depth + 2]
        at = low + np.searchsorted(keys[low:high], node[depth] * symbols)
        weight[:] = 0.0
        total = 0.0
        while at < high and keys[at] < (node[depth] + 1) * symbols:
            symbol = keys[at] - node[depth] * symbols
            w = float(max(counts[at], 0))
            if 0 < symbol < DIRECTIONS:
                if ground.next_cell[symbol, cell] < 0:
                    w = 0.0
                elif pull > 0:
                    size = np.sqrt(float(STEPS[symbol, 0] ** 2 + STEPS[symbol, 1] ** 2))
                    along = STEPS[symbol, 1] * heading[0] + STEPS[symbol, 0] * heading[1]
                    w *= BACKWARDS + (1 - BACKWARDS) * (1 + along / (size * pull)) / 2
            weight[symbol] = w
            total += w
            at += 1
        if total > 0:
            return total
    return 0.0


@njit(cache=True)
def _choose(weight: Floats, total: float, otherwise: int, rng: np.random.Generator) -> int:
    aim = rng.random() * total
    for symbol in range(len(weight)):
        aim -= weight[symbol]
        if weight[symbol] > 0 and aim < 0:
            return symbol
    return otherwise


@njit(cache=True)
def _descend(tree: _FlatTree, node: Ints, symbols: int, chosen: int) -> None:
    """Move every node but the first to the child of the one above it."""
    keys, _, starts = tree
    for depth in range(len(node) - 1, 0, -1):
        node[depth] = -1
        if node[depth - 1] >= 0:
            node[depth] = _lookup(keys, starts[depth], starts[depth + 1], node[depth - 1] * symbols + chosen)


@njit(cache=True)
def _walk(
    begin: Ints, tree: _FlatTree, ground: _Ground, longest: int, window: int, rng: np.random.Generator
) -> tuple[Int32s, Ints]:
    keys, _, starts = tree
    inside, bounds = ground.inside
    visits, symbols = ground.visits, ground.symbols
    out = np.empty(max(len(begin), 1), np.int32)
    offsets = np.zeros(len(begin) + 1, np.int64)
    used = 0
    weight = np.empty(symbols)
    for t in range(len(begin)):
        cell = begin[t]
        node = np.full(len(starts) - 1, -1, np.int64)
        node[0] = _lookup(keys, starts[0], starts[1], cell)
        east, north = np.zeros(max(window, 1)), np.zeros(max(window, 1))
        steps, changes, written = 0, 0, 0
        emit = True
        while written < longest:
            if emit and bounds[cell] < bounds[cell + 1]:
                if used == len(out):
                    larger = np.empty(2 * used, np.int32)
                    larger[:used] = out
                    out = larger
                out[used] = inside[_pick(inside, bounds[cell], bounds[cell + 1], visits, visits, rng)]
                used += 1
                written += 1
            total = _weigh_steps(tree, ground, node, cell, (east.sum(), north.sum()), weight)
            if total <= 0:
                break
            chosen = _choose(weight, total, ground.end, rng)
            if chosen == ground.end:
                break
            _descend(tree, node, symbols, chosen)
            emit = chosen < DIRECTIONS
            if emit:
                changes = 0
                if chosen > 0:
                    if window > 0:
                        size = np.sqrt(float(STEPS[chosen, 0] ** 2 + STEPS[chosen, 1] ** 2))
                        east[steps % window] = STEPS[chosen, 1] / size
                        north[steps % window] = STEPS[chosen, 0] / size
                    steps += 1
                cell = ground.next_cell[chosen, cell]
            else:
                changes += 1
                if changes > symbols or bounds[cell] == bounds[cell + 1]:
                    break
                # To a parent or a child, through a place that both hold.
                there = ground.place[chosen - DIRECTIONS]
                wanted = visits * ground.known[there]
                cell = there[inside[_pick(inside, bounds[cell], bounds[cell + 1], wanted, visits, rng)]]
                node[:] = -1
            node[0] = _lookup(keys, starts[0], starts[1], cell)
        offsets[t + 1] = used
    return out[:used].copy(), offsets
