"""Walks that must arrive: at every step a hop is drawn from a model, among those from which the rest can be done."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from wayveil.trips.trips import Trips
from wayveil.world.grid_moves import GridMoves

Ints = NDArray[np.int64]
# Probabilities of the eight moves, for cells, destinations and hours.
MoveChances = Callable[[Ints, Ints, Ints], NDArray[np.float64]]

# A walk may take so many times the fewest moves, and so many more.
LONGEST_FACTOR, LONGEST_EXTRA = 1.6, 4
SECONDS_OF_AN_HOUR = 3_600
HOURS = 24


def walks(
    moves: GridMoves,
    origin: Ints,
    destination: Ints,
    hour: Ints,
    chances: MoveChances,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int32], Ints]:
    """Visits of all walks, one after the other, and their offsets. A walk ends where it arrives.

    No walk goes straight back to where it came from, nor to a cell from which it could not arrive in time.
    """
    fewest = _fewest_moves(moves)
    left = np.ceil(fewest(origin, destination) * LONGEST_FACTOR).astype(np.int64) + LONGEST_EXTRA
    walker, here = np.arange(len(origin)), origin.copy()
    before = np.full(len(origin), -1, np.int64)
    visits = [np.column_stack([walker, here])]
    while len(walker):
        going = here != destination[walker]
        walker, here, before, left = walker[going], here[going], before[going], left[going]
        if len(walker) == 0:
            break
        to = destination[walker]
        there = moves.neighbours[here].astype(np.int64)
        away = fewest(np.maximum(there, 0).ravel(), np.repeat(to, there.shape[1])).reshape(there.shape)
        # At the border of what is possible only the nearest neighbours are left, and they always are.
        allowed = (there >= 0) & ((away <= left[:, None] - 1) | (away == _least(away, there)[:, None]))
        onward = allowed & (there != before[:, None])
        allowed = np.where(onward.any(axis=1)[:, None], onward, allowed)
        chance = np.where(allowed, np.maximum(chances(here, to, hour[walker]), 1e-9), 0.0)
        steps = np.cumsum(chance, axis=1)
        pick = (
            (rng.random(len(here))[:, None] * steps[:, -1:] >= steps).sum(axis=1).clip(0, there.shape[1] - 1)
        )
        before, here, left = here, there[np.arange(len(here)), pick], left - 1
        visits.append(np.column_stack([walker, here]))
    rows = np.concatenate(visits)
    order = np.argsort(rows[:, 0], kind="stable")
    counts = np.bincount(rows[:, 0], minlength=len(origin))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return rows[order, 1].astype(np.int32), offsets


def best_ways(
    moves: GridMoves, origin: Ints, destination: Ints, hour: Ints, chances: MoveChances
) -> tuple[NDArray[np.int32], Ints]:
    """The likeliest way of each trip instead: a shortest path with the cost -log of every hop's chance."""
    grid = moves.grid
    key, which = np.unique(destination * HOURS + hour, return_inverse=True)
    ways: list[list[int]] = [[] for _ in origin]
    cells = np.arange(grid.size)
    source, direction = np.nonzero(moves.neighbours >= 0)
    target = moves.neighbours[source, direction].astype(np.int64)
    for number, one in enumerate(key.tolist()):
        to, when = divmod(one, HOURS)
        chance = chances(cells, np.full(grid.size, to), np.full(grid.size, when))
        chance = np.where(moves.neighbours >= 0, np.maximum(chance, 1e-9), 0.0)
        cost = -np.log((chance / chance.sum(axis=1, keepdims=True))[source, direction]) + 1e-9
        # Backwards from the destination: one tree serves all origins.
        from scipy.sparse import csr_array

        graph = csr_array((cost, (target, source)), shape=(grid.size, grid.size))
        after = dijkstra(graph, indices=to, return_predecessors=True)[1]
        for trip in np.flatnonzero(which == number).tolist():
            at, way = int(origin[trip]), [int(origin[trip])]
            while at != to and after[at] >= 0:
                at = int(after[at])
                way.append(at)
            ways[trip] = way
    offsets = np.concatenate([[0], np.cumsum([len(way) for way in ways])]).astype(np.int64)
    return np.array([place for way in ways for place in way], np.int32), offsets


def timed(
    moves: GridMoves, location: NDArray[np.int32], offsets: Ints, hour: Ints, rng: np.random.Generator
) -> Trips:
    """Trips that begin at a random second of their hour and take as long as the grid says for the way."""
    grid = moves.grid
    start = hour * SECONDS_OF_AN_HOUR + rng.integers(0, SECONDS_OF_AN_HOUR, len(hour))
    passed = np.zeros(len(location), np.int64)
    into = np.ones(len(location), bool)
    into[offsets[:-1][offsets[:-1] < len(location)]] = False
    at = np.flatnonzero(into)
    edge = grid.edge_index(location[at - 1], location[at])
    passed[at] = np.where(edge >= 0, grid.seconds[np.maximum(edge, 0)], 0)
    total = np.cumsum(passed)
    lengths = np.diff(offsets)
    before = (
        np.repeat(total[np.minimum(offsets[:-1], max(len(total) - 1, 0))], lengths) if len(total) else total
    )
    return Trips(location, offsets, grid, np.repeat(start, lengths) + total - before)


def _fewest_moves(moves: GridMoves) -> Callable[[Ints, Ints], Ints]:
    if moves.whole:
        return moves.moves_to
    steps = dijkstra(moves.grid.matrix(np.ones(moves.grid.edges)), unweighted=True)
    table = np.where(np.isfinite(steps), steps, 1 << 20).astype(np.int32)
    return lambda here, to: table[here, to].astype(np.int64)


def _least(away: Ints, there: Ints) -> Ints:
    return np.where(there >= 0, away, np.int64(1) << 40).min(axis=1)
