"""The noisy table of moves of a world without a network, as a chain that walks can follow."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.synthesis.weave.belief import judged, strata, surely
from wayveil.synthesis.weave.demand import Noisy
from wayveil.synthesis.weave.remember import Rows
from wayveil.synthesis.weave.support import only
from wayveil.world.walk_blocks import Block
from wayveil.world.world import World

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# So many standard deviations of a count is all that is not known about where walks go on to, if they go anywhere.
UNSURE = 3.0
# Moves are known that are nothing with less than this chance.
DOUBT = 0.6
# Moves up to this number are all fitted one by one.
SMALL = 100_000


@dataclass(frozen=True, eq=False)
class Table:
    """The table of moves without most of its noise, in trips: moves that are known, and mass that is left over.

    known      pairs of places in a square
    left       trips that make moves of which only the places are known
    filled     1 where people go from anywhere to anywhere, near 0 where they only make the moves that are known
    begin, end trips that begin and end at each place
    share      of each place among all visits
    deviation  of the noise of a cell
    """

    known: Floats
    left: float
    filled: float
    begin: Floats
    end: Floats
    share: Floats
    deviation: float

    def block(self, moves: Block) -> tuple[Block, Noisy]:
        """The block of moves, and what is wanted there; in a large one all moves that are not known are one cell.

        Of each of them there is next to nothing to say, only that they are few together.
        """
        if moves.cells <= SMALL:
            inner = self.known + self.left * np.outer(self.share, self.share)
            return moves, Noisy(np.concatenate([inner.ravel(), self.begin, self.end]), self.deviation)
        known = np.flatnonzero(self.known)
        cell = np.zeros(moves.cells, np.int64)
        cell[known] = np.arange(1, len(known) + 1)
        size = len(self.share)
        cell[size * size :] = np.arange(len(known) + 1, len(known) + 1 + 2 * size)
        value = np.concatenate([[self.left], self.known.ravel()[known], self.begin, self.end])
        joined = Block(moves.name, len(value), lambda walks: cell[moves.of(walks)], moves.parts)
        return joined, Noisy(value, self.deviation)


def cleaned(noisy: Noisy, share: Floats, total: float, ends: float) -> Table:
    """The table without most of its noise, adding up to the number of trips.

    A place's visits are seen through far less noise than each of its moves, so moves are judged among those whose two
    places are about as busy. `ends` is the mass of all beginnings, and of all ends, which lengths tell exactly. Where
    the known moves hold far more than their places alone explain, there are few others: what is left is then theirs,
    and a walk that noise would send anywhere stays with them.
    """
    size, scale = len(share), noisy.deviation / sqrt(2)
    inside = max(total - 2 * ends, 0.0)
    inner, begin, end = noisy.value[: size * size], *noisy.value[size * size :].reshape(2, size)
    even = np.outer(share, share).ravel()
    worth, nothing = judged(inner, scale, strata(even))
    known = np.where(nothing < DOUBT, worth, 0.0)
    known *= min(1.0, inside / max(float(known.sum()), 1e-300))
    left = inside - float(known.sum())
    # Of moves that are not known: how often they are made, by how often they would be if people went anywhere.
    filled = min(1.0, left / max(inside, 1e-300) / max(float(even[known <= 0].sum()), 1e-9))
    left *= filled
    known *= (inside - left) / max(float(known.sum()), 1e-300)
    busy = strata(share)
    return Table(
        known.reshape(size, size),
        left,
        filled,
        surely(begin, scale, ends, busy),
        surely(end, scale, ends, busy),
        share,
        noisy.deviation,
    )


def unknown(share: Floats, total: float, ends: float, origin: Floats, destination: Floats) -> Table:
    """The table where moves were not asked for: any place may follow any, as often as it is visited."""
    part, size = ends / total, len(share)
    left = max(total - 2 * ends, 0.0)
    return Table(np.zeros((size, size)), left, 1.0, part * origin, part * destination, share, 0.0)


@dataclass(frozen=True, eq=False)
class Moves:
    """A table of moves as a chain: from stop s with probability `chance` to `target[first[s]:first[s + 1]]`.

    With probability `loose` a walk goes on anywhere, by `share`; with probability `end` it ends.
    """

    world: World
    end: Floats
    first: Ints
    target: Ints
    chance: Floats
    loose: Floats
    share: Floats

    @classmethod
    def of_table(cls, world: World, table: Table) -> "Moves":
        """Where little is known of a place, walks end and go on there as they do on average: a place that only noise
        leads to must not hold them.
        """
        size, inner, share = world.size, table.known, table.share
        loose = table.left * share
        if world.has_network:  # moves that are not allowed can only be noise
            inner = inner + np.outer(loose, share)
            loose = np.zeros(size)
            source, target = np.nonzero(inner > 0)
            legal = world.successors.contains(source, target.astype(np.int32))
            inner[source[~legal], target[~legal]] = 0.0
        average = table.end.sum() / max(float(inner.sum() + loose.sum() + table.end.sum()), 1e-300)
        # Squared by trial: with the first power too many walks still went anywhere where few moves are made.
        unsure = UNSURE * table.filled**2 * table.deviation
        end = table.end + unsure * average
        if not world.has_network:
            loose = loose + unsure * (1 - average)
        out = np.maximum(inner.sum(axis=1) + loose + end, 1e-300)
        source, target = np.nonzero(inner > 0)
        return cls(
            world,
            np.where(inner.sum(axis=1) + loose > 0, end / out, 1.0),
            np.searchsorted(source, np.arange(size + 1)).astype(np.int64),
            target.astype(np.int64),
            inner[source, target] / out[source],
            loose / out,
            share,
        )

    def rows(self) -> Rows:
        """Where walks go on to that do not end."""
        goes_on = np.maximum(1 - self.end, 1e-300)
        source = np.repeat(np.arange(len(self.end)), np.diff(self.first))
        return Rows(self.first, self.target, self.chance / goes_on[source], self.loose / goes_on, self.share)

    def bridges(
        self, origin: Ints, destination: Ints, lengths: Ints, rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], Ints]:
        """Walks of these lengths between these ends; destination -1: they end as the table says.

        Each is drawn from all walks of the chain that begin, end and are as long as asked for. Empty where there are
        none.
        """
        order = np.lexsort((lengths, destination))
        targets, start = np.unique(destination[order], return_index=True)
        bounds = np.append(start, len(order)).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths[order])]).astype(np.int64)
        location, found = _bridges(
            self.first,
            self.target,
            self.chance,
            self.loose,
            self.share,
            self.end,
            origin[order],
            lengths[order],
            targets,
            bounds,
            offsets,
            rng,
        )
        return only(location, offsets, np.flatnonzero(found))


@njit(cache=True)
def _bridges(  # type: ignore[no-untyped-def]
    first, target, chance, loose, share, end, origin, lengths, targets, bounds, offsets, rng
):
    size = len(end)
    location = np.zeros(offsets[-1], np.int32)
    found = np.zeros(len(origin), np.bool_)
    most = np.max(lengths) if len(lengths) else 1
    # likely[k, s]: probability that a walk at s ends after exactly k more moves, where it should; anywhere[k]: the same
    # for a walk that may be at any place, by its share.
    likely = np.zeros((most, size))
    anywhere = np.zeros(most)
    for group in range(len(targets)):
        goal = targets[group]
        for s in range(size):
            likely[0, s] = end[s] if goal < 0 or s == goal else 0.0
        longest = lengths[bounds[group + 1] - 1]  # trips of a group are sorted by length
        for k in range(1, longest):
            anywhere[k - 1] = 0.0
            for s in range(size):
                anywhere[k - 1] += share[s] * likely[k - 1, s]
            for s in range(size):
                total = loose[s] * anywhere[k - 1]
                for step in range(first[s], first[s + 1]):
                    total += chance[step] * likely[k - 1, target[step]]
                likely[k, s] = total
        for i in range(bounds[group], bounds[group + 1]):
            at, left, place = origin[i], lengths[i] - 1, offsets[i]
            if likely[left, at] <= 0.0:
                continue
            location[place] = at
            while left > 0:
                drawn = rng.random() * likely[left, at] - loose[at] * anywhere[left - 1]
                chosen = -1
                if drawn >= 0.0:
                    for step in range(first[at], first[at + 1]):
                        weight = chance[step] * likely[left - 1, target[step]]
                        if weight > 0.0:
                            chosen = target[step]
                            drawn -= weight
                            if drawn < 0.0:
                                break
                if chosen < 0:
                    drawn = rng.random() * anywhere[left - 1]
                    for s in range(size):
                        if share[s] * likely[left - 1, s] > 0.0:
                            chosen = s
                            drawn -= share[s] * likely[left - 1, s]
                            if drawn < 0.0:
                                break
                at = chosen
                left -= 1
                place += 1
                location[place] = at
            found[i] = True
    return location, found
