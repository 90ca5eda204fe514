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
from wayveil.synthesis.weave.descent import dot, minimise
from wayveil.synthesis.weave.settings import SolverSettings
from wayveil.world.spreading import count_parts, measure_norms
from wayveil.world.walk_blocks import Block, Walks

# Threads that share the trips of a support, at most: changes how sums are rounded, and nothing else.
MOST_WORKERS = 8


class Spread(NamedTuple):
    """Cells that trips spread over: trip j over `cell[bounds[j]:bounds[j + 1]]`, with weight `share[j]` each."""

    cell: NDArray[np.int32]
    bounds: Ints
    share: NDArray[np.float32]


class Features:
    """What every trip of a support adds to the cells of all blocks, laid end to end.

    Only blocks that no other block refines are looked up trip by trip; the coarser ones follow from them.
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
        single = [block for block in fine if not block.spread]
        self.single = np.empty((self.size, len(single)), np.int32)
        for column, block in enumerate(single):
            self.single[:, column] = block.of(walks) + self.place[block.name].start
        self.spread = [
            _look_up_spread(block, walks, self.place[block.name].start) for block in fine if block.spread
        ]
        workers = min(os.cpu_count() or 1, MOST_WORKERS)
        cuts = np.linspace(0, self.size, workers + 1).astype(np.int64)
        self.ranges = list(pairwise(cuts.tolist()))

    def score_trips(self, x: Floats, pool: ThreadPoolExecutor) -> Floats:
        """A_j . x for every trip."""
        x = x.copy()
        for block in self.coarse:
            x[self.place[str(block.finer)]] += x[self.place[block.name]][block.union]
        out = np.empty(self.size)

        def work(bounds: tuple[int, int]) -> None:
            _set_single_scores(self.single, x, out, *bounds)
            for part in self.spread:
                _add_spread_scores(part, x, out, *bounds)

        list(pool.map(work, self.ranges))
        return out

    def add_up(self, weight: Floats, pool: ThreadPoolExecutor) -> Floats:
        """sum_j weight_j A_j: what weighted trips add to every cell."""

        def work(bounds: tuple[int, int]) -> Floats:
            out = np.zeros(self.cells)
            _add_single_totals(self.single, weight, out, *bounds)
            for part in self.spread:
                _add_spread_totals(part, weight, out, *bounds)
            return out

        total = np.sum(list(pool.map(work, self.ranges)), axis=0)
        for block in self.coarse:
            fine = total[self.place[str(block.finer)]]
            total[self.place[block.name]] = np.bincount(np.asarray(block.union), fine, block.cells)
        return total

    def put_even(self, total: float, prior: Floats) -> Floats:
        """What trips with the prior weights, scaled to a total, add to every cell."""
        with ThreadPoolExecutor(len(self.ranges)) as pool:
            return self.add_up(prior * (total / prior.sum()), pool)


@dataclass(frozen=True, eq=False)
class Fit:
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
        """How many trips of equal weight would be as varied: (sum w)^2 / sum w^2."""
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
) -> Fit:
    """Weights of a support that explain the wanted cells.

    `prior` are the weights to stay near (default: even ones); `start` is the dual point of an earlier, similar fit.
    The solver stops when a step gains far less in log-likelihood than the noise is worth.
    """
    prior = np.ones(features.size) if prior is None else prior
    prior = prior / prior.sum()
    with ThreadPoolExecutor(len(features.ranges)) as pool:
        even = features.add_up(total * prior, pool)
        reached = even > 0
        wanted = np.where(reached, wanted, 0.0)
        # Steps of about equal effect in every direction: the curvature of the dual is the variance plus the cell's own.
        unit = 1 / np.sqrt(variance + even)

        def weights(x: Floats) -> tuple[Floats, float]:
            score = features.score_trips(x, pool)
            top = float(score.max())
            weight = prior * np.exp(score - top)
            mass = float(weight.sum())
            return weight * (total / mass), top + log(mass)

        def dual(z: Floats) -> tuple[float, Floats]:
            x = z * unit
            weight, log_mean = weights(x)
            slope = features.add_up(weight, pool) - wanted + variance * x
            value = total * log_mean - dot(wanted, x) + 0.5 * dot(variance, x * x)
            return value / total, slope * unit / total

        begin = np.zeros(features.cells)
        if start is not None:
            # On another support the earlier point may put all weight on a handful of trips: then zero is nearer.
            warm = np.where(reached, start, 0.0) / unit
            begin = min(begin, warm, key=lambda z: dual(z)[0])
        found, steps = minimise(dual, begin, iterations, solver.tolerance / total, solver)
        x = found * unit
        weight, _ = weights(x)
        return Fit(weight, x, features.add_up(weight, pool), even, steps)


def _look_up_spread(block: Block, walks: Walks, first: int) -> Spread:
    parts, cells = count_parts(block, walks), block.of(walks)
    bounds = np.concatenate([[0], np.cumsum(parts)]).astype(np.int64)
    share = (1 / measure_norms(block, parts, cells)).astype(np.float32)
    return Spread((cells + first).astype(np.int32), bounds, share)


@njit(cache=True, nogil=True)
def _set_single_scores(single, x, out, begin, end):  # type: ignore[no-untyped-def]
    for j in range(begin, end):
        score = 0.0
        for column in range(single.shape[1]):
            score += x[single[j, column]]
        out[j] = score


@njit(cache=True, nogil=True)
def _add_spread_scores(part, x, out, begin, end):  # type: ignore[no-untyped-def]
    cell, bounds = part.cell, part.bounds
    for j in range(begin, end):
        score = 0.0
        for k in range(bounds[j], bounds[j + 1]):
            score += x[cell[k]]
        out[j] += score * part.share[j]


@njit(cache=True, nogil=True)
def _add_single_totals(single, weight, out, begin, end):  # type: ignore[no-untyped-def]
    for j in range(begin, end):
        for column in range(single.shape[1]):
            out[single[j, column]] += weight[j]


@njit(cache=True, nogil=True)
def _add_spread_totals(part, weight, out, begin, end):  # type: ignore[no-untyped-def]
    cell, bounds = part.cell, part.bounds
    for j in range(begin, end):
        added = weight[j] * part.share[j]
        for k in range(bounds[j], bounds[j + 1]):
            out[cell[k]] += added
