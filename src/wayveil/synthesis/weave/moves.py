"""Plausible trips where there is no network: walks over the noisy table of moves.

Three kinds: walks that go as the table says, from begin to end; walks of a drawn length, which come back to where they
began or do not, as measured; and walks of a drawn length between two drawn ends. The fit tells how much of each
explains the measurements.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.walks import Steps, Walker
from wayveil.synthesis.weave.demand import Demand, Noisy
from wayveil.synthesis.weave.support import Support, only
from wayveil.world.walk_blocks import Walks
from wayveil.world.world import World

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FREE, BY_LENGTH, BETWEEN_ENDS = range(3)
# Stops of a walk: of a free one, and of one whose length is drawn.
LONGEST_FREE, LONGEST_DRAWN = 200, 64
# Lengths are drawn from bins that stand out by this many standard deviations; free walks have all lengths.
CLEAR = 2.0
# So many standard deviations of a count is all that is not known about where walks go on to.
UNSURE = 3.0
# Moves that noise alone may make sure.
FALSE_MOVES = 10.0


def cleaned(noisy: Noisy, size: int, total: float) -> Noisy:
    """The table of moves without most of its noise, adding up to the number of trips.

    Cells that survive taking the noise out evenly are kept. Those above anything that noise would reach are believed;
    the nearer the others are to the bottom, the more they count as their two places let expect: a place's mass is
    seen through far less noise than that of each of its moves, and what noise connects are mostly places nobody visits.
    """
    value, scale = noisy.value, noisy.deviation / sqrt(2)
    even = onto_total(value, total)
    alive = even > 0
    if not alive.any():
        return Noisy(even, noisy.deviation)
    bottom = float((value - even)[alive].mean())
    sure = max(scale * log(len(value) / FALSE_MOVES), bottom + scale)
    inner, begin, end = value[: size * size].reshape(size, size), *value[size * size :].reshape(2, size)
    inside = float(np.clip(total - end.sum(), 0.1 * total, total))
    mass = onto_total((inner.sum(axis=0) + begin + inner.sum(axis=1) + end) / 2, inside)
    share = mass / max(mass.sum(), 1e-300)
    expected = np.concatenate([np.outer(share, share).ravel(), share, share])
    belief = np.clip((value - bottom) / (sure - bottom), 0.0, 1.0) * alive
    kept = belief * value
    rest = (1 - belief) * alive * expected
    left = total - kept.sum()
    if left > 0 and rest.sum() > 0:
        kept = kept + rest * (left / rest.sum())
    return Noisy(kept * (total / kept.sum()), noisy.deviation)


@dataclass(frozen=True, eq=False)
class Moves:
    """A table of moves as a chain: from stop s with probability `chance` to `target[first[s]:first[s + 1]]`.

    `begin` and `end` are the weights of beginnings and the probabilities to end. Probabilities of a stop add up to one.
    """

    world: World
    begin: Floats
    end: Floats
    first: Ints
    target: Ints
    chance: Floats

    @classmethod
    def of_table(cls, world: World, noisy: Noisy) -> "Moves":
        """From the cells of the block `move`: pairs of places, then beginnings, then ends.

        Where little is known of a place, walks end there as they do on average: a place that only noise leads to
        must not hold them.
        """
        table = noisy.value
        size = world.size
        inner = table[: size * size].reshape(size, size).copy()
        if world.has_network:  # moves that are not allowed can only be noise
            source, target = np.nonzero(inner > 0)
            legal = world.successors.contains(source, target.astype(np.int32))
            inner[source[~legal], target[~legal]] = 0.0
        begin, end = table[size * size : size * (size + 1)], table[size * (size + 1) :]
        average = end.sum() / max(float(inner.sum() + end.sum()), 1e-300)
        end = end + UNSURE * noisy.deviation * average
        out = inner.sum(axis=1) + end
        source, target = np.nonzero(inner > 0)
        return cls(
            world,
            begin,
            # Where nobody goes on and nobody ends, a walk ends.
            np.where(out > 0, end / np.maximum(out, 1e-300), 1.0),
            np.searchsorted(source, np.arange(size + 1)).astype(np.int64),
            target.astype(np.int64),
            inner[source, target] / np.maximum(out[source], 1e-300),
        )

    def free(self, count: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], Ints]:
        """Walks from begin to end mark."""
        size = self.world.size
        source = np.repeat(np.arange(size), np.diff(self.first))
        steps = Steps(
            np.concatenate([np.full(size, size), source, np.arange(size)])[:, None],
            np.concatenate([np.arange(size), self.target, np.full(size, size + 1)]),
            np.concatenate([self.begin, self.chance, self.end]),
        )
        walks = Walker.of([steps], (size,), size + 1).walk(self.world, count, LONGEST_FREE, rng)
        return walks.location, walks.offsets

    def bridges(
        self, origin: Ints, destination: Ints, lengths: Ints, rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], Ints]:
        """Walks of these lengths between these ends; destination -1: they end as the table says.

        Each is drawn from all free walks that begin, end and are as long as asked for. Empty where there are none.
        """
        order = np.lexsort((lengths, destination))
        targets, start = np.unique(destination[order], return_index=True)
        bounds = np.append(start, len(order)).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths[order])]).astype(np.int64)
        location, found = _bridges(
            self.first,
            self.target,
            self.chance,
            self.end,
            origin[order],
            lengths[order],
            targets,
            bounds,
            offsets,
            rng,
        )
        return only(location, offsets, np.flatnonzero(found))


def walked(
    demand: Demand, moves: Moves, lengths: Noisy, count: int, shares: Floats, rng: np.random.Generator
) -> Support:
    """About `count` walks; `shares` are those of the three kinds, `lengths` the noisy block in trips."""
    wanted = np.round(shares * count).astype(np.int64)
    drawn = _Lengths(demand, lengths)
    begin = moves.begin + 1e-12
    parts = [moves.free(int(wanted[FREE]), rng)]
    origin = rng.choice(moves.world.size, int(wanted[BY_LENGTH]), p=begin / begin.sum())
    far = drawn.distance(len(origin), rng)
    destination = np.where((far == 0) & (drawn.bins > 1), origin, -1)
    parts.append(moves.bridges(origin, destination, drawn.lengths(far, rng), rng))
    origin, destination = demand.in_leaves(int(wanted[BETWEEN_ENDS]), rng)
    far = np.minimum(origin != destination, drawn.bins - 1).astype(np.int64)
    parts.append(moves.bridges(origin, destination, drawn.lengths(far, rng), rng))
    location = np.concatenate([part[0] for part in parts])
    sizes = [np.diff(part[1]) for part in parts]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    kind = np.repeat(np.arange(3), [len(part) for part in sizes])
    full = np.flatnonzero(np.diff(offsets) > 0)
    location, offsets = only(location, offsets, full)
    walks = Walks(location, offsets)
    bins = demand.bins(walks.origin.astype(np.int64), walks.destination.astype(np.int64), rng)
    return Support(Walks(location, offsets, bins), kind[full])


class _Lengths:
    """Draws lengths from the noisy block of lengths by distance; without a network, 0 means the same place."""

    def __init__(self, demand: Demand, noisy: Noisy) -> None:
        edges = demand.blocks.length_edges
        self.low, self.high = edges, np.append(edges[1:], edges[-1] + 1)
        # A bin of long trips that holds nothing but noise would fill the release with visits.
        clear = np.where(noisy.value >= CLEAR * noisy.deviation, noisy.value, 0.0)
        table = onto_total(clear, demand.total).reshape(demand.blocks.resolution.distances, len(edges))
        table = np.where(self.low <= LONGEST_DRAWN, table, 0.0) + 1e-9 * (self.low <= LONGEST_DRAWN)
        self.bins = len(table)
        self.share = table / table.sum()

    def distance(self, count: int, rng: np.random.Generator) -> Ints:
        return rng.choice(np.arange(self.bins), count, p=self.share.sum(axis=1) / self.share.sum())

    def lengths(self, far: Ints, rng: np.random.Generator) -> Ints:
        found = np.ones(len(far), np.int64)
        for distance in range(self.bins):
            here = np.flatnonzero(far == distance)
            share = self.share[distance] / self.share[distance].sum()
            bin_ = rng.choice(np.arange(len(share)), len(here), p=share)
            found[here] = rng.integers(self.low[bin_], self.high[bin_])
        return np.minimum(found, LONGEST_DRAWN)


@njit(cache=True)
def _bridges(first, target, chance, end, origin, lengths, targets, bounds, offsets, rng):  # type: ignore[no-untyped-def]
    size = len(end)
    location = np.zeros(offsets[-1], np.int32)
    found = np.zeros(len(origin), np.bool_)
    most = np.max(lengths) if len(lengths) else 1
    # likely[k, s]: probability that a walk at s ends after exactly k more moves, where it should.
    likely = np.zeros((most, size))
    for group in range(len(targets)):
        goal = targets[group]
        for s in range(size):
            likely[0, s] = end[s] if goal < 0 or s == goal else 0.0
        longest = lengths[bounds[group + 1] - 1]  # trips of a group are sorted by length
        for k in range(1, longest):
            for s in range(size):
                total = 0.0
                for step in range(first[s], first[s + 1]):
                    total += chance[step] * likely[k - 1, target[step]]
                likely[k, s] = total
        for i in range(bounds[group], bounds[group + 1]):
            at, left, place = origin[i], lengths[i] - 1, offsets[i]
            if likely[left, at] <= 0.0:
                continue
            location[place] = at
            while left > 0:
                drawn = rng.random() * likely[left, at]
                chosen = -1
                for step in range(first[at], first[at + 1]):
                    weight = chance[step] * likely[left - 1, target[step]]
                    if weight > 0.0:
                        chosen = target[step]
                        drawn -= weight
                        if drawn < 0.0:
                            break
                at = chosen
                left -= 1
                place += 1
                location[place] = at
            found[i] = True
    return location, found
