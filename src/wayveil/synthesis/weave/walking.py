"""Plausible trips where there is no network: walks over the noisy table of moves, of drawn lengths.

Three kinds: walks that repeat their visits as was measured; walks that come back to where they began or do not, as
measured; and walks between two drawn ends. The fit tells how much of each explains the measurements.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from wayveil.synthesis.weave.belief import believed
from wayveil.synthesis.weave.demand import Demand, Noisy
from wayveil.synthesis.weave.moves import Moves
from wayveil.synthesis.weave.remember import Memory, Plan, Rows
from wayveil.synthesis.weave.support import Support, only
from wayveil.world.walk_blocks import Walks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

REMEMBERING, BY_LENGTH, BETWEEN_ENDS = range(3)
# What is thought of the kinds before the fit.
FIRST_KINDS = (0.6, 0.2, 0.2)
# Stops of a bridge, at most: longer trips are walks with a memory only, as bridges take time.
LONGEST_BRIDGE = 16
# Sums of bins of lengths are taken as they are if they stand out by the first number of standard deviations; many bins
# together that do not stand out by the second are empty.
CLEAR, DIM = 4.0, 2.0
# So many bins are few.
FEW = 6


class Lengths:
    """Draws lengths from the noisy block of lengths by distance; without a network, 0 means the same place."""

    def __init__(self, edges: Ints, distances: int, noisy: Noisy, total: float) -> None:
        self.low, self.high = edges, np.append(edges[1:], edges[-1] + 1)
        table = noisy.value.reshape(distances, len(edges))
        smooth = np.array([_plausible(row, edges, noisy.deviation) for row in table])
        self.bins = distances
        # Single visits are at the same place.
        smooth[1:, 0] = 0.0
        smooth[0, 0] += 1e-9
        self.share = smooth / smooth.sum()
        self.mass = total * self.share

    def ends(self) -> float:
        """The weight that all beginnings together have when every trip spreads one over its moves and marks."""
        middle = (self.low + self.high - 1) / 2
        return float((self.mass.sum(axis=0) / (middle + 1)).sum())

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Distances (0: the same place) and lengths."""
        cell = rng.choice(self.share.size, count, p=self.share.ravel())
        far, bin_ = np.divmod(cell, len(self.low))
        return far, self._within(bin_, rng)

    def given(self, far: Ints, rng: np.random.Generator) -> Ints:
        """Lengths of walks over these distances."""
        found = np.ones(len(far), np.int64)
        for distance in range(self.bins):
            here = np.flatnonzero(far == distance)
            share = self.share[distance] + 1e-12 * (self.low == self.low[min(distance, 1)])
            share = share / share.sum()
            found[here] = self._within(rng.choice(len(share), len(here), p=share), rng)
        return found

    def _within(self, bin_: Ints, rng: np.random.Generator) -> Ints:
        return rng.integers(self.low[bin_], self.high[bin_])


def _plausible(row: Floats, low: Ints, deviation: float) -> Floats:
    """Masses of bins from halves, halves of halves, and so on: a sum is often clear where no bin is.

    A half of longer trips that does not stand out holds at most what a steep power law lets expect from the shorter
    ones: a bin of long trips that is nothing but noise would fill the release with visits.
    """
    worth = believed(row, deviation / sqrt(2))
    steep = 1.0 / low.astype(np.float64) ** 2
    mass = np.zeros(len(row))
    todo = [(0, len(row), max(float(row.sum()), 1e-9))]
    while todo:
        start, stop, whole = todo.pop()
        if stop - start == 1:
            mass[start] = whole
            continue
        middle = (start + stop) // 2
        # Of a few bins it matters which are empty, of many how much they are together.
        seen = worth if stop - start <= FEW else row
        short, long = (max(float(part.sum()), 0.0) for part in (seen[start:middle], seen[middle:stop]))
        noise = deviation * sqrt(stop - middle)
        if stop - start > FEW and long < DIM * noise:
            long = 0.0
        elif long < CLEAR * noise:
            long = min(long, short * float(steep[middle:stop].sum() / steep[start:middle].sum()))
        share = short / (short + long) if short + long > 0 else 1.0
        todo += [(start, middle, whole * share), (middle, stop, whole * (1 - share))]
    return mass


def walked(
    demand: Demand,
    moves: Moves,
    rows: Rows,
    memory: Memory,
    lengths: Lengths,
    count: int,
    shares: Floats,
    rng: np.random.Generator,
) -> Support:
    """About `count` walks; `shares` are those of the three kinds."""
    wanted = np.round(shares * count).astype(np.int64)
    plan = planned(demand, lengths, int(wanted[REMEMBERING]), rng)
    parts = [memory.walk(rows, moves.end, plan, rng)[:2]]
    far, drawn = lengths.draw(int(wanted[BY_LENGTH]), rng)
    origin = _places(demand.origin, len(far), rng)
    destination = np.where((far == 0) & (lengths.bins > 1), origin, -1)
    parts.append(_bridges(moves, origin, destination, drawn, rng))
    origin, destination = demand.in_leaves(int(wanted[BETWEEN_ENDS]), rng)
    far = np.minimum(origin != destination, lengths.bins - 1).astype(np.int64)
    parts.append(_bridges(moves, origin, destination, lengths.given(far, rng), rng))
    location = np.concatenate([part[0] for part in parts])
    sizes = [np.diff(part[1]) for part in parts]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    kind = np.repeat(np.arange(3), [len(part) for part in sizes])
    full = np.flatnonzero((np.diff(offsets) > 0) & _allowed(moves, Walks(location, offsets)))
    location, offsets = only(location, offsets, full)
    walks = Walks(location, offsets)
    bins = demand.bins(walks.origin.astype(np.int64), walks.destination.astype(np.int64), rng)
    return Support(Walks(location, offsets, bins), kind[full])


def _allowed(moves: Moves, walks: Walks) -> NDArray[np.bool_]:
    """Which walks only make moves that the world allows: one that has to return may not be able to."""
    allowed = np.ones(len(walks), bool)
    if moves.world.has_network:
        at = np.flatnonzero(np.diff(walks.offsets) > 1)
        step = walks.moves
        legal = moves.world.successors.contains(
            walks.location[step].astype(np.int64), walks.location[step + 1]
        )
        bounds = np.concatenate([[0], np.cumsum(np.diff(walks.offsets)[at] - 1)])[:-1]
        allowed[at] = np.logical_and.reduceat(legal, bounds) if len(at) else True
    return allowed


def _bridges(
    moves: Moves, origin: Ints, destination: Ints, lengths: Ints, rng: np.random.Generator
) -> tuple[NDArray[np.int32], Ints]:
    short = np.flatnonzero(lengths <= LONGEST_BRIDGE)
    return moves.bridges(origin[short], destination[short], lengths[short], rng)


def planned(demand: Demand, lengths: Lengths, count: int, rng: np.random.Generator) -> Plan:
    """Origins and lengths of walks, and whether they return."""
    far, drawn = lengths.draw(count, rng)
    returns = np.where(far == 0, 1, 0) if lengths.bins > 1 else np.full(count, -1)
    return Plan(_places(demand.origin, count, rng), drawn, returns.astype(np.int64))


def _places(mass: Floats, count: int, rng: np.random.Generator) -> Ints:
    return rng.choice(len(mass), count, p=mass / mass.sum()).astype(np.int64)
