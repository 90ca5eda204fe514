"""Walks that must arrive: at every step a hop is drawn from a model, among those from which the rest can be done.

The likeliest way of each trip: a shortest path on which a hop costs minus the logarithm of its chance.

Chances depend on the destination and the hour, so every pair of those has a graph of its own. A search goes backwards
from the destination, so that it serves all trips of the pair, and ends when it has met all their origins.
"""

from collections.abc import Callable
from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np
import scipy
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Int32s, Ints
from wayveil.progress import track
from wayveil.trips.trips import Trips
from wayveil.world.grid_moves import GridMoves
from wayveil.world.trees import Heap, sift_down, sift_up

# What every hop of every cell costs on the way to a destination at an hour: one row per cell.
HopCosts = Callable[[int, int], NDArray[np.float32]]

# Hops that are certain cost a little, so that ways do not run in circles; hops that never happen can be taken.
LEAST_COST, MOST_COST = 1e-9, -log(1e-12)
HOURS = 24
_UNSEEN, _SETTLED = -1, -2


def likeliest_ways(
    places: Int32s, costs: HopCosts, origin: Ints, destination: Ints, hour: Ints
) -> tuple[Int32s, Ints]:
    """Visits of all ways, one after the other, and their offsets.

    `places` has the cell that each hop leads to, -1 for none, one row per cell. The hop that leads back has the same
    place in its row counted from the end. A trip that cannot arrive stays at its origin.
    """
    pair = destination * HOURS + hour
    order = np.argsort(pair, kind="stable")
    bounds = np.append(np.flatnonzero(np.diff(pair[order], prepend=-1)), len(order)).tolist()
    visits, lengths = [np.empty(0, np.int32)], np.empty(len(origin), np.int64)
    for start, stop in track(pairwise(bounds), "likeliest ways", total=len(bounds) - 1):
        members = order[start:stop]
        to, when = int(destination[members[0]]), int(hour[members[0]])
        ways, lengths[members] = _ways_back(places, costs(to, when), to, origin[members])
        visits.append(ways)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    found = np.empty(len(origin), np.int64)
    found[order] = np.cumsum(lengths[order]) - lengths[order]
    inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return np.concatenate(visits)[np.repeat(found, lengths) + inside], offsets


def cost_of(chance: Floats) -> NDArray[np.float32]:
    """Minus the logarithm of chances, between the least and the most that a hop costs."""
    with np.errstate(divide="ignore"):
        return np.clip(-np.log(chance), LEAST_COST, MOST_COST).astype(np.float32)


@njit(cache=True, nogil=True)
def _ways_back(places, cost, to, origin):  # type: ignore[no-untyped-def]
    """Ways of these origins to one destination, one after the other, and the number of visits of each."""
    size, hops = places.shape
    toward, distance = np.full(size, -1, np.int32), np.full(size, np.inf)
    heap = Heap(np.empty(size), np.empty(size, np.int32), np.full(size, _UNSEEN, np.int32))
    key, node, place = heap
    wanted = np.zeros(size, np.bool_)
    wanted[origin] = True
    missing = wanted.sum()
    distance[to], key[0], node[0], place[to] = 0.0, 0.0, to, 0
    waiting = 1
    while waiting > 0 and missing > 0:
        nearest, here = node[0], key[0]
        place[nearest] = _SETTLED
        missing -= wanted[nearest]
        waiting -= 1
        if waiting > 0:
            sift_down(heap, waiting)
        for hop in range(hops):
            other = places[nearest, hop]
            if other < 0 or place[other] == _SETTLED:
                continue
            through = here + cost[other, hops - 1 - hop]
            if through < distance[other]:
                distance[other], toward[other] = through, nearest
                if place[other] == _UNSEEN:
                    place[other] = waiting
                    waiting += 1
                sift_up(heap, place[other], other, through)
    lengths = np.empty(len(origin), np.int64)
    for i in range(len(origin)):
        at, length = origin[i], 1
        while toward[at] >= 0:
            at, length = toward[at], length + 1
        lengths[i] = length
    visits, written = np.empty(lengths.sum(), np.int32), 0
    for i in range(len(origin)):
        at = origin[i]
        for _ in range(lengths[i]):
            visits[written], at = at, toward[at]
            written += 1
    return visits, lengths


# Weights of the eight moves, for cells, destinations and hours: probabilities, up to a factor.
MoveChances = Callable[[Ints, Ints, Ints], Floats]

# A walk may take so many times the fewest moves, and so many more.
LONGEST_FACTOR, LONGEST_EXTRA = 1.6, 4
SECONDS_OF_AN_HOUR = 3_600


def walks(
    moves: GridMoves,
    origin: Ints,
    destination: Ints,
    hour: Ints,
    chances: MoveChances,
    rng: np.random.Generator,
) -> tuple[Int32s, Ints]:
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
) -> tuple[Int32s, Ints]:
    """The likeliest way of each trip instead."""
    cells = np.arange(moves.grid.size)

    def costs(to: int, when: int) -> NDArray[np.float32]:
        chance = chances(cells, np.full(len(cells), to), np.full(len(cells), when))
        chance = np.where(moves.neighbours >= 0, np.maximum(chance, 1e-9), 0.0)
        return cost_of(chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300))

    return likeliest_ways(moves.neighbours, costs, origin, destination, hour)


def timed(moves: GridMoves, location: Int32s, offsets: Ints, hour: Ints, rng: np.random.Generator) -> Trips:
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
_Fewest = tuple[Ints, Ints, Int32s]


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
