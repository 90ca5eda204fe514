"""Weights for a support of plausible trips that explain noisy answers: as even as possible, as exact as noise allows.

Trips of a support are of several kinds: ways to choose a route, to drive or to walk. Among all distributions p over the
support, with shares k of the kinds, the one that minimises

    n (sum_c k_c KL(p_c || uniform) + KL(k || drawn shares) / f) + sum_q (n A_q p - y_q)^2 / (2 v_q)

over the answers y with variances v, where A_q says how much each trip adds to answer q, and f is how much cheaper it is
to change the shares of kinds than the trips of each. Its dual has one number per answer and no constraint:
(n / f) log sum_c k_c (mean_j in c exp(A_j . x))^f - y . x + sum_q v_q x_q^2 / 2,  minimised by L-BFGS. Where shares
are to be learnt, the fit starts over from those that it found: free shares at once would have no smooth dual.

A is never written out: a trip adds one to one cell of each block, or spreads one over its moves, so both products are
sums over short lists of cells, compiled.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np
import scipy
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.settings import Generation
from wayveil.world.walk_blocks import Block, Walks, count_parts, measure_norms

# Threads that share the trips of a support, at most: changes how sums are rounded, and nothing else.
MOST_WORKERS = 8
# The solver stops when a step gains less log-likelihood: far less than the noise is worth.
TOLERANCE = 0.3


@dataclass(frozen=True, eq=False)
class Support:
    """Walks, and the number of the way in which each was made: of choosing a route, or of walking over a list."""

    walks: Walks
    kind: Ints


class Spread(NamedTuple):
    """Cells that walks spread over: walk j has `many[k]` parts in `cell[k]` for k from `bounds[j]` to `bounds[j + 1]`,
    with weight `share[j]` each. A walk has every cell once.
    """

    cell: NDArray[np.int32]
    many: NDArray[np.int32]
    bounds: Ints
    share: Floats


class Adds(NamedTuple):
    """Sums of distinct walks: walk j adds `part[k]` to `cell[k]` for k from `bounds[j]` to `bounds[j + 1]`; beside it,
    each trip adds one to the cells of its row of `by_trip`.
    """

    cell: NDArray[np.int32]
    part: Floats
    bounds: Ints
    by_trip: NDArray[np.int32]


class Features:
    """Contributions of every trip of a support to the cells of all blocks, laid end to end.

    Only blocks that no other block refines are looked up; the coarser ones follow from them. What a walk decides on is
    looked up once for all trips that walk it, at whatever time.

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
        # Trips in the order of their walks, the trips of each walk in it, and one of them that stands for all.
        same = number_walks(walks)
        self.trip = np.argsort(same, kind="stable")
        self.bounds = _find_bounds(same[self.trip])
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
        distinct = Walks(*select_walks(walks.location, walks.offsets, some))
        self.spread = [self._look_up(block, distinct) for block in fine if block.spread]
        cuts = np.linspace(0, len(some), min(os.cpu_count() or 1, MOST_WORKERS) + 1).astype(np.int64)
        self.shares = list(pairwise(cuts.tolist()))

    def score_trips(self, x: Floats, pool: ThreadPoolExecutor) -> Floats:
        """A_j . x for every trip."""
        x = np.append(x, 0.0)  # the last cell is nowhere
        for block in self.coarse:
            x[self.place[str(block.finer)]] += x[self.place[block.name]][block.union]
        out, by_walk = np.empty(self.size), np.zeros(len(self.bounds) - 1)

        def work(share: tuple[int, int]) -> None:
            for part in self.spread:
                _add_spread_scores(part, x, by_walk, *share)
            _hand_out_scores(self.by_walk, self.by_trip, self.bounds, x, by_walk, out, *share)

        list(pool.map(work, self.shares))
        return out

    def add_up(self, weight: Floats, pool: ThreadPoolExecutor) -> Floats:
        """sum_j weight_j A_j: what weighted trips add to every cell."""
        by_walk = np.empty(len(self.bounds) - 1)

        def work(share: tuple[int, int]) -> Floats:
            out = np.zeros(self.cells + 1)
            _collect_totals(self.by_walk, self.by_trip, self.bounds, weight, by_walk, out, *share)
            for part in self.spread:
                _add_spread_totals(part, by_walk, out, *share)
            return out

        total = np.sum(list(pool.map(work, self.shares)), axis=0)[:-1]
        for block in self.coarse:
            fine = total[self.place[str(block.finer)]]
            total[self.place[block.name]] = np.bincount(np.asarray(block.union), fine, block.cells)
        return total

    def exchange(self, chosen: Ints, others: Iterable[Ints], wanted: Floats) -> Ints:
        """Return trips of the support, each the chosen one or another one in its place, so that all together add to
        every cell about what is wanted: trip by trip, whatever brings them nearer, in units of what is there.
        """
        walks = [np.repeat(np.arange(len(self.bounds) - 1), self.by_walk.shape[1])]
        cells, parts = [self.by_walk.ravel()], [np.ones(self.by_walk.size)]
        for spread in self.spread:
            walks.append(np.repeat(np.arange(len(spread.share)), np.diff(spread.bounds)))
            cells.append(spread.cell)
            parts.append(spread.many * spread.share[walks[-1]])
        walk = np.concatenate(walks)
        order = np.argsort(walk, kind="stable")
        bounds = np.searchsorted(walk[order], np.arange(len(self.bounds)))
        adds = Adds(np.concatenate(cells)[order], np.concatenate(parts)[order], bounds, self.by_trip)
        place = np.empty(self.size, np.int64)
        place[self.trip] = np.arange(self.size)
        walk_of = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        # What a support has of the last cell, nowhere, does not matter.
        missing, unit = np.append(wanted, 0.0), np.append(1 / (wanted + 1), 0.0)
        at = place[chosen]
        _add_first(adds, walk_of, at, missing)
        for other in others:
            _exchange(adds, walk_of, at, place[other], missing, unit)
        return self.trip[at]

    def _look_up(self, block: Block, walks: Walks) -> Spread:
        parts, cells = count_parts(block, walks), block.of(walks)
        cell, many, bounds = _join_alike(cells, parts, block.cells)
        return Spread(
            cell + self.place[block.name].start, many, bounds, 1 / measure_norms(block, parts, cells)
        )


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
    allow: Callable[[Floats], Floats],
    total: float,
    *,
    iterations: int,
    kind: Ints | None = None,
    freedom: float = 1.0,
    sweeps: int = 1,
    start: Floats | None = None,
    tolerance: float = TOLERANCE,
) -> FittedWeights:
    """Return weights of a support that explain the wanted cells.

    `allow` gives the variances of cells from what even weights add to them, `kind` the kind of each trip, and `start`
    is the dual point of an earlier, similar fit. Each of the `sweeps` expects the shares that the one before found.
    """
    kind = np.zeros(features.size, np.int64) if kind is None else kind[features.trip]
    drawn = expected = np.bincount(kind) / features.size
    with ThreadPoolExecutor(len(features.shares)) as pool:
        even = features.add_up(np.full(features.size, total / features.size), pool)
        # Cells that no trip reaches say nothing: their dual stays zero, and the solver does not see them.
        reached = np.flatnonzero(even > 0)
        wanted, variance = wanted[reached], allow(even)[reached]
        # Steps of about equal effect in every direction: the curvature of the dual is the variance plus the cell's own.
        unit = 1 / np.sqrt(variance + even[reached])

        def weights(x: Floats) -> tuple[Floats, float]:
            everywhere = np.zeros(features.cells)
            everywhere[reached] = x
            weight = features.score_trips(everywhere, pool)
            top = float(weight.max())
            weight -= top
            np.exp(weight, out=weight)
            share = np.bincount(kind, weight, len(drawn)) / features.size
            mean = share / np.maximum(drawn, 1e-300)
            tilt = (mean / mean.max()) ** (freedom - 1)
            whole = float((expected * mean) @ tilt) / float(mean.max())
            more = tilt * expected / np.maximum(drawn, 1e-300)
            weight *= (more * (total / features.size / whole / mean.max()))[kind]
            return weight, top + log(mean.max()) + log(whole) / freedom

        def dual(z: Floats) -> tuple[float, Floats]:
            x = z * unit
            weight, log_mean = weights(x)
            slope = features.add_up(weight, pool)[reached] - wanted + variance * x
            value = total * log_mean - float(wanted @ x) + 0.5 * float(variance @ (x * x))
            return value / total, slope * unit / total

        begin = np.zeros(len(reached))
        if start is not None:
            # On another support the earlier point may put all weight on a handful of trips: then zero is nearer.
            begin = min(begin, start[reached] / unit, key=lambda z: dual(z)[0])
        steps = 0
        for _ in range(sweeps):
            begin, more = minimise(dual, begin, iterations, tolerance / total)
            weight, _ = weights(begin * unit)
            expected, steps = np.bincount(kind, weight, len(drawn)) / total, steps + more
        fitted = features.add_up(weight, pool)
    of_support, x = np.empty(features.size), np.zeros(features.cells)
    of_support[features.trip], x[reached] = weight, begin * unit
    return FittedWeights(of_support, x, fitted, even, steps)


def minimise(
    function: Callable[[Floats], tuple[float, Floats]], start: Floats, iterations: int, tolerance: float
) -> tuple[Floats, int]:
    """Return a point near the minimum, and the steps it took; `function` gives value and gradient.

    Stops after so many steps, or when one gains less than `tolerance`.
    """
    limits = {"maxiter": iterations, "maxfun": 4 * iterations, "maxcor": 12, "ftol": tolerance, "gtol": 0}
    found = scipy.optimize.minimize(function, start, jac=True, method="L-BFGS-B", options=limits)
    return np.asarray(found.x), int(found.nit)


@dataclass(frozen=True)
class Diagnostics:
    """Fit of the support to the measurements: computed from noisy numbers, so free to publish.

    unexplained  share of the flow on edges (or moves) that no trip of the support uses
    effective    trips of the support that carry the weight, (sum w)^2 / sum w^2
    support      trips of the support
    misfit       by block: root mean square of (fitted - noisy), in standard deviations of the noise; near 1 is right
    kinds        fitted share of each way to choose a route (`routes.ROUTE_CHOICES`) or to walk
    """

    unexplained: float
    effective: float
    support: int
    misfit: dict[str, float]
    kinds: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class FittedSupport:
    """A support with the weights that explain the target best, and the share of each kind of trip in it."""

    support: Support
    features: Features
    fit: FittedWeights
    kinds: Floats


@dataclass(frozen=True, eq=False)
class Target:
    """Estimates of the cells of blocks, in the order of the blocks."""

    blocks: dict[str, Block]
    noisy: dict[str, CellEstimates]
    total: float
    settings: Generation

    def fit_support(self, support: Support, kinds: int, sweeps: int, start: Floats | None) -> FittedSupport:
        """Return weights of a support, and the shares of so many kinds that go with them, learnt in so many sweeps."""
        features = Features(self.blocks, support.walks)
        # Of a grid whose single edges were not asked for, smaller gains moved no figure.
        coarse = "turn" in self.blocks and "edge" not in self.blocks
        found = fit_weights(
            features,
            np.concatenate([self.noisy[name].value for name in self.blocks]),
            lambda even: self._allow_all(features, even),
            self.total,
            iterations=self.settings.iterations,
            kind=support.kind,
            freedom=self.settings.learning[0],
            sweeps=sweeps,
            start=start,
            tolerance=TOLERANCE * (10 if coarse else 1),
        )
        shares = np.bincount(support.kind, found.weight, kinds) / found.weight.sum()
        return FittedSupport(support, features, found, shares)

    def _allow_all(self, features: Features, even: Floats) -> Floats:
        """Return how far the cells of all blocks may stay from their noisy values, as variances.

        Staying near even weights is as good a guess as if the cell were Poisson: of variance g. But the support may be
        off by a share r, and by more where the noisy value stands out of the noise, so that the real variance of the
        guess is g + (r g)^2 + what stands out. To weigh guess and noisy value rightly, the noise counts as much less.
        """
        parts = []
        for name in self.blocks:
            noisy, guess = self.noisy[name], even[features.place[name]]
            apart = np.maximum((noisy.value - guess) ** 2 - noisy.reach() ** 2, 0.0)
            real = guess + (self.settings.off * guess) ** 2 + apart
            trust = np.maximum(guess / np.maximum(real, 1e-12), self.settings.least_trust)
            parts.append(trust * (noisy.variance + self.settings.model_error * np.maximum(noisy.value, 0)))
        return np.concatenate(parts)

    def diagnose(self, found: FittedSupport) -> Diagnostics:
        """Return how well a fitted support explains the target."""
        place, fitted = found.features.place, found.fit.fitted
        flow = next(name for name in ("edge", "edge zone", "move", "pair") if name in place)
        unseen = found.fit.even[place[flow]] <= 0
        # Noise is as often below zero as above, so it cancels in the sum.
        whole = self.total if flow == "move" else float(fitted[place[flow]].sum())
        unexplained = max(0.0, float(self.noisy[flow].value[unseen].sum()) / max(whole, 1.0))
        misfit = {
            name: float(
                np.sqrt(np.mean((fitted[at] - self.noisy[name].value) ** 2)) / self.noisy[name].deviation
            )
            for name, at in place.items()
        }
        kinds = tuple(found.kinds.tolist())
        return Diagnostics(unexplained, found.fit.effective, found.features.size, misfit, kinds)


def number_walks(walks: Walks) -> Ints:
    """Return a number per walk that walks of the same places in the same order share (by a hash of 64 bits)."""
    if len(walks) == 0:
        return np.zeros(0, np.int64)
    mark = np.random.default_rng(0).integers(1 << 62, size=int(walks.location.max()) + 1).astype(np.uint64)
    at = np.arange(len(walks.location)) - np.repeat(walks.offsets[:-1], walks.lengths)
    hashed = np.add.reduceat(mark[walks.location] * (2 * at + 1).astype(np.uint64), walks.offsets[:-1])
    return np.unique(hashed, return_inverse=True)[1].astype(np.int64)


def select_walks(location: NDArray[np.int32], offsets: Ints, chosen: Ints) -> tuple[NDArray[np.int32], Ints]:
    """Some of the walks that lie end to end."""
    lengths = np.diff(offsets)[chosen]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return location[np.arange(ends[-1]) + np.repeat(offsets[chosen] - ends[:-1], lengths)], ends


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
def _join_alike(cells, parts, size):  # type: ignore[no-untyped-def]
    """Every cell of a walk once, with how many parts the walk has in it; parts without a cell (-1) are left out."""
    cell, many = np.empty(len(cells), np.int32), np.empty(len(cells), np.int32)
    bounds, place = np.zeros(len(parts) + 1, np.int64), np.full(size, -1, np.int64)
    n = k = 0
    for walk in range(len(parts)):
        for _ in range(parts[walk]):
            here = cells[k]
            k += 1
            if here < 0:
                continue
            if place[here] < bounds[walk]:
                place[here], cell[n], many[n] = n, here, 0
                n += 1
            many[place[here]] += 1
        bounds[walk + 1] = n
    return cell[:n].copy(), many[:n].copy(), bounds


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
    cell, many, bounds = part.cell, part.many, part.bounds
    for j in range(begin, end):
        score = 0.0
        for k in range(bounds[j], bounds[j + 1]):
            score += many[k] * x[cell[k]]
        out[j] += score * part.share[j]


@njit(cache=True, nogil=True)
def _add_spread_totals(part, weight, out, begin, end):  # type: ignore[no-untyped-def]
    cell, many, bounds = part.cell, part.many, part.bounds
    for j in range(begin, end):
        added = weight[j] * part.share[j]
        for k in range(bounds[j], bounds[j + 1]):
            out[cell[k]] += many[k] * added


@njit(cache=True, nogil=True)
def _shift(adds, walk, trip, sign, missing, unit):  # type: ignore[no-untyped-def]
    """Add a trip once more (or once less), and return by how much the squared misfit grows."""
    grown = 0.0
    for k in range(adds.bounds[walk], adds.bounds[walk + 1]):
        cell, part = adds.cell[k], sign * adds.part[k]
        grown += (part - 2 * missing[cell]) * part * unit[cell]
        missing[cell] -= part
    for column in range(adds.by_trip.shape[1]):
        cell = adds.by_trip[trip, column]
        grown += (sign - 2 * missing[cell]) * sign * unit[cell]
        missing[cell] -= sign
    return grown


@njit(cache=True, nogil=True)
def _add_first(adds, walk_of, at, missing):  # type: ignore[no-untyped-def]
    for trip in at:
        _shift(adds, walk_of[trip], trip, 1.0, missing, missing)


@njit(cache=True, nogil=True)
def _exchange(adds, walk_of, at, other, missing, unit):  # type: ignore[no-untyped-def]
    """Put the other trip in the place of each trip if that lowers the misfit."""
    for i in range(len(at)):
        one, two = at[i], other[i]
        if one == two:
            continue
        grown = _shift(adds, walk_of[one], one, -1.0, missing, unit)
        grown += _shift(adds, walk_of[two], two, 1.0, missing, unit)
        if grown < 0:
            at[i] = two
        else:
            _shift(adds, walk_of[two], two, -1.0, missing, unit)
            _shift(adds, walk_of[one], one, 1.0, missing, unit)
