"""Weights for a support that explain noisy answers: as even as possible, as exact as the noise allows.

Among all distributions p over the support, the one that minimises

    n KL(p || uniform) + sum_q (n A_q p - y_q)^2 / (2 v_q)

over the answers y with variances v, where A_q says how much each trip adds to answer q. Its dual has one number per
answer and no constraint:  n log mean_j exp(A_j . x) - y . x + sum_q v_q x_q^2 / 2,  and p_j is proportional to
exp(A_j . x). The dual is minimised by L-BFGS. A is never written out: a trip adds one to one cell of each block, or
spreads one over its moves, so both products are sums over short lists of cells, compiled.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.settings import SolverSettings
from wayveil.mechanisms.weave.shared_ways import (
    Forest,
    Stretches,
    add_stretch_scores,
    add_stretch_totals,
    dot,
    find_stretches,
    grow_forest,
    look_up_cells,
    minimise,
)
from wayveil.world.walk_blocks import Block, Walks, count_parts, measure_norms

# Threads that share the trips of a support, at most: changes how sums are rounded, and nothing else.
MOST_WORKERS = 8


class Share(NamedTuple):
    """What one thread works on: stretches from the first to before the second, and distinct walks."""

    stretches: tuple[int, int]
    walks: tuple[int, int]


class Spread(NamedTuple):
    """Cells that walks spread over: walk j over `cell[bounds[j]:bounds[j + 1]]`, with weight `share[j]` each."""

    cell: NDArray[np.int32]
    bounds: Ints
    share: Floats


class Features:
    """What every trip of a support adds to the cells of all blocks, laid end to end.

    Only blocks that no other block refines are looked up; the coarser ones follow from them. What a walk decides on is
    looked up once for all trips that walk it, at whatever time. On a network walks share stretches besides.

    Numbers of trips stand in the order of `trip` here: trips that walk alike lie side by side.
    """

    def __init__(self, blocks: dict[str, Block], walks: Walks) -> None:
        self.size = len(walks)
        self.blocks = blocks
        self.cells = sum(block.cells for block in blocks.values())
        ends = np.cumsum([block.cells for block in blocks.values()])
        self.place = {
            name: slice(int(end) - block.cells, int(end))
            for (name, block), end in zip(blocks.items(), ends, strict=True)
        }
        self.coarse = [block for block in blocks.values() if block.finer in blocks]
        fine = [block for block in blocks.values() if block.finer not in blocks]
        spread = [block for block in fine if block.spread]
        forest = grow_forest(walks) if spread and all(block.window for block in spread) else None
        # Trips in the order of their walks, the trips of each walk in it, and one of them that stands for all.
        self.trip = np.arange(self.size) if forest is None else np.argsort(forest.node, kind="stable")
        self.bounds = _find_bounds(self.trip if forest is None else forest.node[self.trip])
        some = self.trip[self.bounds[:-1]]
        single = [block.of(walks) + self.place[block.name].start for block in fine if not block.spread]
        own = np.repeat(some, np.diff(self.bounds))
        alike = [bool((column[own] == column[self.trip]).all()) for column in single]
        self.by_walk = _put_side_by_side(
            [column[some] for column, same in zip(single, alike, strict=True) if same], len(some)
        )
        self.by_trip = _put_side_by_side(
            [column[self.trip] for column, same in zip(single, alike, strict=True) if not same], self.size
        )
        self.spread = [] if forest is not None else [self._look_up(block, walks) for block in spread]
        self.stretches = [] if forest is None else self._put_on_stretches(forest, spread, walks, some)
        self.shares = self._share_out()
        # Room for the passes over all nodes, used again and again: to ask for it anew takes longer than to fill it.
        nodes = 0 if forest is None else len(forest.parent)
        self._reach, self._load = np.empty((nodes, 2)), np.zeros((nodes, 2))

    def score_trips(self, x: Floats, pool: ThreadPoolExecutor) -> Floats:
        """A_j . x for every trip."""
        x = np.append(x, 0.0)  # the last cell is nowhere
        for block in self.coarse:
            x[self.place[str(block.finer)]] += x[self.place[block.name]][block.union]
        out, by_walk = np.empty(self.size), np.zeros(len(self.bounds) - 1)

        def work(share: Share) -> None:
            for part in self.spread:
                _add_spread_scores(part, x, by_walk, *share.walks)
            for stretches in self.stretches:
                add_stretch_scores(stretches, x, self._reach, by_walk, share.stretches, share.walks)
            _hand_out_scores(self.by_walk, self.by_trip, self.bounds, x, by_walk, out, *share.walks)

        list(pool.map(work, self.shares))
        return out

    def add_up(self, weight: Floats, pool: ThreadPoolExecutor) -> Floats:
        """sum_j weight_j A_j: what weighted trips add to every cell."""
        by_walk = np.empty(len(self.bounds) - 1)

        def work(share: Share) -> Floats:
            out = np.zeros(self.cells + 1)
            _collect_totals(self.by_walk, self.by_trip, self.bounds, weight, by_walk, out, *share.walks)
            for part in self.spread:
                _add_spread_totals(part, by_walk, out, *share.walks)
            for stretches in self.stretches:
                add_stretch_totals(stretches, by_walk, self._load, out, share.stretches, share.walks)
            return out

        total = np.sum(list(pool.map(work, self.shares)), axis=0)[:-1]
        for block in self.coarse:
            fine = total[self.place[str(block.finer)]]
            total[self.place[block.name]] = np.bincount(np.asarray(block.union), fine, block.cells)
        return total

    def put_even(self, total: float, prior: Floats) -> Floats:
        """Return what trips with the prior weights (in the order of the support), scaled to a total, add to every
        cell.
        """
        with ThreadPoolExecutor(len(self.shares)) as pool:
            return self.add_up(prior[self.trip] * (total / prior.sum()), pool)

    def _look_up(self, block: Block, walks: Walks) -> Spread:
        parts, cells = count_parts(block, walks), block.of(walks)
        bounds = np.concatenate([[0], np.cumsum(parts)]).astype(np.int64)
        cell = (cells + self.place[block.name].start).astype(np.int32)
        return Spread(cell, bounds, 1 / measure_norms(block, parts, cells))

    def _put_on_stretches(
        self, forest: Forest, spread: list[Block], walks: Walks, some: Ints
    ) -> list[Stretches]:
        """The blocks two by two; beside the last of an odd number there is one that has no cells."""
        cells = [look_up_cells(forest, block, self.place[block.name].start, self.cells) for block in spread]
        shares = [1 / find_norms(block, walks)[some] for block in spread]
        if len(spread) % 2:
            cells.append(np.full(len(forest.parent), self.cells, np.int32))
            shares.append(np.zeros(len(some)))
        node = forest.node[some]
        return [
            find_stretches(
                forest, np.column_stack(cells[i : i + 2]), node, np.column_stack(shares[i : i + 2])
            )
            for i in range(0, len(cells), 2)
        ]

    def _share_out(self) -> list[Share]:
        workers = min(os.cpu_count() or 1, MOST_WORKERS)
        if self.stretches:
            cuts, walks = self.stretches[0].cuts(workers)
        else:
            walks = np.linspace(0, self.size, workers + 1).astype(np.int64)
            cuts = np.zeros_like(walks)
        return [Share(*pair) for pair in zip(pairwise(cuts.tolist()), pairwise(walks.tolist()), strict=True)]


@dataclass(frozen=True, eq=False)
class FittedWeights:
    """Weights that add up to the number of trips, the dual point they come from, and what they and an even weight add
    to every cell.
    """

    weight: Floats
    dual: Floats
    fitted: Floats
    even: Floats
    steps: int

    @property
    def effective(self) -> float:
        """Return how many trips of equal weight would be as varied: (sum w)^2 / sum w^2."""
        return float(self.weight.sum() ** 2 / (self.weight**2).sum())


def fit_weights(
    features: Features,
    wanted: Floats,
    variance: Floats,
    total: float,
    *,
    solver: SolverSettings,
    iterations: int,
    prior: Floats | None = None,
    start: Floats | None = None,
) -> FittedWeights:
    """Weights of a support that explain the wanted cells.

    `prior` are the weights to stay near (default: even ones); `start` is the dual point of an earlier, similar fit.
    The solver stops when a step gains far less in log-likelihood than the noise is worth.
    """
    prior = np.ones(features.size) if prior is None else prior[features.trip]
    prior = prior / prior.sum()
    with ThreadPoolExecutor(len(features.shares)) as pool:
        even = features.add_up(total * prior, pool)
        # Cells that no trip reaches say nothing: their dual stays zero, and the solver does not see them.
        reached = np.flatnonzero(even > 0)
        wanted, variance = wanted[reached], variance[reached]
        # Steps of about equal effect in every direction: the curvature of the dual is the variance plus the cell's own.
        unit = 1 / np.sqrt(variance + even[reached])

        def weights(x: Floats) -> tuple[Floats, float]:
            everywhere = np.zeros(features.cells)
            everywhere[reached] = x
            weight = features.score_trips(everywhere, pool)
            top = float(weight.max())
            weight -= top
            np.exp(weight, out=weight)
            weight *= prior
            mass = float(weight.sum())
            weight *= total / mass
            return weight, top + log(mass)

        def dual(z: Floats) -> tuple[float, Floats]:
            x = z * unit
            weight, log_mean = weights(x)
            slope = features.add_up(weight, pool)[reached] - wanted + variance * x
            value = total * log_mean - dot(wanted, x) + 0.5 * dot(variance, x * x)
            return value / total, slope * unit / total

        begin = np.zeros(len(reached))
        if start is not None:
            # On another support the earlier point may put all weight on a handful of trips: then zero is nearer.
            begin = min(begin, start[reached] / unit, key=lambda z: dual(z)[0])
        found, steps = minimise(dual, begin, iterations, solver.tolerance / total, solver)
        weight, _ = weights(found * unit)
        fitted = features.add_up(weight, pool)
    of_support, x = np.empty(features.size), np.zeros(features.cells)
    of_support[features.trip], x[reached] = weight, found * unit
    return FittedWeights(of_support, x, fitted, even, steps)


def find_norms(block: Block, walks: Walks) -> Floats:
    """Return what one over the weight of each part of a walk is."""
    # Only in a euclidean block it matters which cells the parts are in.
    cells = block.of(walks) if block.euclidean else np.empty(0, np.int64)
    return measure_norms(block, count_parts(block, walks), cells)


def _find_bounds(ordered: NDArray[np.integer]) -> Ints:
    """Where a new value begins, and the end."""
    new = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return np.concatenate([[0], new, [len(ordered)]])[int(len(ordered) == 0) :].astype(np.int64)


def _put_side_by_side(columns: list[Ints], rows: int) -> NDArray[np.int32]:
    return np.column_stack([np.empty((rows, 0), np.int32), *columns]).astype(np.int32)


@njit(cache=True, nogil=True)
def _hand_out_scores(by_walk, by_trip, bounds, x, score, out, begin, end):  # type: ignore[no-untyped-def]
    """Scores of trips: what their walk scores, and what its trips do not have in common."""
    for walk in range(begin, end):
        common = score[walk]
        for column in range(by_walk.shape[1]):
            common += x[by_walk[walk, column]]
        for j in range(bounds[walk], bounds[walk + 1]):
            own = common
            for column in range(by_trip.shape[1]):
                own += x[by_trip[j, column]]
            out[j] = own


@njit(cache=True, nogil=True)
def _collect_totals(by_walk, by_trip, bounds, weight, total, out, begin, end):  # type: ignore[no-untyped-def]
    """The weight of each walk, added to the cells that its trips have in common; to the others trip by trip."""
    for walk in range(begin, end):
        common = 0.0
        for j in range(bounds[walk], bounds[walk + 1]):
            own = weight[j]
            common += own
            for column in range(by_trip.shape[1]):
                out[by_trip[j, column]] += own
        for column in range(by_walk.shape[1]):
            out[by_walk[walk, column]] += common
        total[walk] = common


@njit(cache=True, nogil=True)
def _add_spread_scores(part, x, out, begin, end):  # type: ignore[no-untyped-def]
    cell, bounds = part.cell, part.bounds
    for j in range(begin, end):
        score = 0.0
        for k in range(bounds[j], bounds[j + 1]):
            score += x[cell[k]]
        out[j] += score * part.share[j]


@njit(cache=True, nogil=True)
def _add_spread_totals(part, weight, out, begin, end):  # type: ignore[no-untyped-def]
    cell, bounds = part.cell, part.bounds
    for j in range(begin, end):
        added = weight[j] * part.share[j]
        for k in range(bounds[j], bounds[j + 1]):
            out[cell[k]] += added
