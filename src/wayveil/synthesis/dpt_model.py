"""What DPT measured, noisy trees of steps over reference systems, and walks through them."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
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
        location, offsets = _walk(
            begin,
            *_flat(self.tree),
            next_cell,
            np.ascontiguousarray(systems.place),
            *self._popularity(systems),
            systems.symbols,
            systems.end,
            inside,
            bounds,
            self.longest,
            self.window,
            rng,
        )
        return Trips(location, offsets, self.world)

    def _popularity(self, systems: ReferenceSystems) -> tuple[Floats, Floats]:
        """How much each location seems to be visited, from the noisy weights of its cells; and which cells have any."""
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


def _flat(tree: StepTree) -> tuple[Ints, Ints, Ints]:
    """Keys and counts of all levels one after the other, and where each level begins."""
    starts = np.concatenate([[0], np.cumsum([len(keys) for keys in tree.keys])]).astype(np.int64)
    return np.concatenate(tree.keys), np.concatenate(tree.noisy), starts


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
def _walk(
    begin: Ints,
    keys: Ints,
    counts: Ints,
    starts: Ints,
    next_cell: Ints,
    place: Ints,
    visits: Floats,
    known: Floats,
    symbols: int,
    end: int,
    inside: Ints,
    bounds: Ints,
    longest: int,
    window: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int32], Ints]:
    height = len(starts) - 1
    out = np.empty(max(len(begin), 1), np.int32)
    offsets = np.zeros(len(begin) + 1, np.int64)
    used = 0
    weight = np.empty(symbols)
    for t in range(len(begin)):
        cell = begin[t]
        node = np.full(height, -1, np.int64)
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
            # The deepest node with children decides.
            total = 0.0
            for depth in range(height - 2, -1, -1):
                if node[depth] < 0:
                    continue
                low, high = starts[depth + 1], starts[depth + 2]
                at = low + np.searchsorted(keys[low:high], node[depth] * symbols)
                weight[:] = 0.0
                pull_east, pull_north = east.sum(), north.sum()
                pull = np.sqrt(pull_east * pull_east + pull_north * pull_north)
                while at < high and keys[at] < (node[depth] + 1) * symbols:
                    symbol = keys[at] - node[depth] * symbols
                    w = float(max(counts[at], 0))
                    if 0 < symbol < DIRECTIONS:
                        if next_cell[symbol, cell] < 0:
                            w = 0.0
                        elif pull > 0:
                            size = np.sqrt(float(STEPS[symbol, 0] ** 2 + STEPS[symbol, 1] ** 2))
                            cosine = (STEPS[symbol, 1] * pull_east + STEPS[symbol, 0] * pull_north) / (
                                size * pull
                            )
                            w *= BACKWARDS + (1 - BACKWARDS) * (1 + cosine) / 2
                    weight[symbol] = w
                    total += w
                    at += 1
                if total > 0:
                    break
            if total <= 0:
                break
            aim, chosen = rng.random() * total, end
            for symbol in range(symbols):
                aim -= weight[symbol]
                if weight[symbol] > 0 and aim < 0:
                    chosen = symbol
                    break
            if chosen == end:
                break
            for depth in range(height - 1, 0, -1):
                node[depth] = -1
                if node[depth - 1] >= 0:
                    node[depth] = _lookup(
                        keys, starts[depth], starts[depth + 1], node[depth - 1] * symbols + chosen
                    )
            emit = chosen < DIRECTIONS
            if emit:
                changes = 0
                if chosen > 0:
                    size = np.sqrt(float(STEPS[chosen, 0] ** 2 + STEPS[chosen, 1] ** 2))
                    if window > 0:
                        east[steps % window], north[steps % window] = (
                            STEPS[chosen, 1] / size,
                            STEPS[chosen, 0] / size,
                        )
                    steps += 1
                cell = next_cell[chosen, cell]
            else:
                changes += 1
                if changes > symbols or bounds[cell] == bounds[cell + 1]:
                    break
                # To a parent or a child, through a place that both hold.
                there = place[chosen - DIRECTIONS]
                pick = _pick(inside, bounds[cell], bounds[cell + 1], visits * known[there], visits, rng)
                cell = there[inside[pick]]
                node[:] = -1
            node[0] = _lookup(keys, starts[0], starts[1], cell)
        offsets[t + 1] = used
    return out[:used].copy(), offsets
