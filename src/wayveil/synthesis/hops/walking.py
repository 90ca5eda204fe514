"""Walks that must arrive: at every step a hop is drawn from a model, among those from which the rest can be done."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from numba import njit
from numpy.typing import NDArray

from wayveil.synthesis.hops.likeliest import cost_of, likeliest_ways
from wayveil.trips.trips import Trips
from wayveil.world.grid_moves import GridMoves

Ints = NDArray[np.int64]
# Weights of the eight moves, for cells, destinations and hours: probabilities, up to a factor.
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
    left = (
        np.ceil(_moves_left(*fewest, origin, destination) * LONGEST_FACTOR).astype(np.int64) + LONGEST_EXTRA
    )
    walker, here = np.arange(len(origin)), origin.copy()
    before = np.full(len(origin), -1, np.int64)
    visits = [np.column_stack([walker, here])]
    while len(walker):
        going = here != destination[walker]
        walker, here, before, left = walker[going], here[going], before[going], left[going]
        if len(walker) == 0:
            break
        chance, draw = chances(here, destination[walker], hour[walker]), rng.random(len(here))
        walking = _Walkers(here, before, destination[walker], left)
        then = _step(walking, moves.neighbours, fewest, chance, draw)
        before, here, left = here, then, left - 1
        visits.append(np.column_stack([walker, here]))
    rows = np.concatenate(visits)
    order = np.argsort(rows[:, 0], kind="stable")
    counts = np.bincount(rows[:, 0], minlength=len(origin))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return rows[order, 1].astype(np.int32), offsets


def best_ways(
    moves: GridMoves, origin: Ints, destination: Ints, hour: Ints, chances: MoveChances
) -> tuple[NDArray[np.int32], Ints]:
    """The likeliest way of each trip instead."""
    cells = np.arange(moves.grid.size)

    def costs(to: int, when: int) -> NDArray[np.float32]:
        chance = chances(cells, np.full(len(cells), to), np.full(len(cells), when))
        chance = np.where(moves.neighbours >= 0, np.maximum(chance, 1e-9), 0.0)
        return cost_of(chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300))

    return likeliest_ways(moves.neighbours, costs, origin, destination, hour)


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


# Fewest moves between cells: rows and columns of a whole grid, or a table for one that is masked (else empty).
_Fewest = tuple[Ints, Ints, NDArray[np.int32]]


def _fewest_moves(moves: GridMoves) -> _Fewest:
    if moves.whole:
        return moves.row, moves.column, np.empty((0, 0), np.int32)
    steps = scipy.sparse.csgraph.dijkstra(moves.grid.matrix(np.ones(moves.grid.edges)), unweighted=True)
    return moves.row, moves.column, np.where(np.isfinite(steps), steps, 1 << 20).astype(np.int32)


@njit(cache=True)
def _away(row, column, table, here, to):  # type: ignore[no-untyped-def]
    if len(table):
        return np.int64(table[here, to])
    return max(abs(row[to] - row[here]), abs(column[to] - column[here]))


@njit(cache=True)
def _moves_left(row, column, table, here, to):  # type: ignore[no-untyped-def]
    made = np.empty(len(here), np.int64)
    for i in range(len(here)):
        made[i] = _away(row, column, table, here[i], to[i])
    return made


class _Walkers(NamedTuple):
    """Where each walk is, where it was before (-1: nowhere), where it goes, and how many moves it has left."""

    here: Ints
    before: Ints
    to: Ints
    left: Ints


@njit(cache=True)
def _step(walking, neighbours, fewest, chance, draw):  # type: ignore[no-untyped-def]
    """The next cell of every walk, drawn among the neighbours from which it can still arrive."""
    here, before, to, left = walking
    then = np.empty_like(here)
    row, column, table = fewest
    moves = neighbours.shape[1]
    away, weight = np.empty(moves, np.int64), np.empty(moves)
    for i in range(len(here)):
        least = np.int64(1) << 40
        for k in range(moves):
            there = neighbours[here[i], k]
            away[k] = _away(row, column, table, there, to[i]) if there >= 0 else np.int64(1) << 41
            least = min(least, away[k])
        total, back = 0.0, -1
        for k in range(moves):
            # At the border of what is possible only the nearest neighbours are left, and they always are.
            possible = neighbours[here[i], k] >= 0 and (away[k] <= left[i] - 1 or away[k] == least)
            weight[k] = max(chance[i, k], 1e-9) if possible else 0.0
            if possible and neighbours[here[i], k] == before[i]:
                back, weight[k] = k, 0.0
            total += weight[k]
        pick = back
        mark = draw[i] * total
        for k in range(moves):
            if weight[k] > 0.0:
                pick = k
                mark -= weight[k]
                if mark < 0.0:
                    break
        then[i] = neighbours[here[i], pick]
    return then
