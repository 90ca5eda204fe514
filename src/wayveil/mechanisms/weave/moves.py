"""Which stop follows which on a plain list: a table of moves, and chains of them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.estimates import CellEstimates, group_alike, judge_counts, keep_likely_counts
from wayveil.mechanisms.weave.settings import Generation, ListSettings
from wayveil.mechanisms.weave.weight_fit import select_walks
from wayveil.world.walk_blocks import Block
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class MoveTable:
    """The table of moves without most of its noise, in trips: known moves, and mass that is left over.

    known      pairs of places in a square
    left       trips that make moves of which only the places are known
    filled     1 where people go from anywhere to anywhere, near 0 where they only make the known moves
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

    def join_unknown(self, moves: Block, small: int) -> tuple[Block, CellEstimates]:
        """The block of moves, and what is wanted there; in a block that is not `small` all unknown moves are one cell.

        Of each unknown move there is next to nothing to say, only that all of them together are few.
        """
        if moves.cells <= small:
            inner = self.known + self.left * np.outer(self.share, self.share)
            return moves, CellEstimates(np.concatenate([inner.ravel(), self.begin, self.end]), self.deviation)
        known = np.flatnonzero(self.known)
        cell = np.zeros(moves.cells, np.int64)
        cell[known] = np.arange(1, len(known) + 1)
        size = len(self.share)
        cell[size * size :] = np.arange(len(known) + 1, len(known) + 1 + 2 * size)
        value = np.concatenate([[self.left], self.known.ravel()[known], self.begin, self.end])
        joined = Block(moves.name, len(value), lambda walks: cell[moves.of(walks)], moves.parts)
        return joined, CellEstimates(value, self.deviation)


def clean_moves(
    noisy: CellEstimates, share: Floats, total: float, ends: float, settings: Generation
) -> MoveTable:
    """The table without most of its noise, adding up to the number of trips.

    A place's visits are seen through far less noise than each of its moves, so moves are judged among those whose two
    places are about as busy. `ends` is the mass of all beginnings, and of all ends, which lengths tell exactly. Where
    the known moves hold far more than their places alone explain, people make few other moves: what is left belongs to
    the known moves, and a walk that noise would send anywhere keeps to them.
    """
    size, scale, shrinkage = len(share), noisy.scale, settings.shrinkage
    inside = max(total - 2 * ends, 0.0)
    inner, begin, end = noisy.value[: size * size], *noisy.value[size * size :].reshape(2, size)
    even = np.outer(share, share).ravel()
    worth, nothing = judge_counts(inner, scale, shrinkage, group_alike(even, shrinkage))
    known = np.where(nothing < settings.on_list.doubtful_move, worth, 0.0)
    known *= min(1.0, inside / max(float(known.sum()), 1e-300))
    left = inside - float(known.sum())
    # How often people make unknown moves, by how often they would if they went anywhere.
    filled = min(1.0, left / max(inside, 1e-300) / max(float(even[known <= 0].sum()), 1e-9))
    left *= filled
    known *= (inside - left) / max(float(known.sum()), 1e-300)
    busy = group_alike(share, shrinkage)
    return MoveTable(
        known.reshape(size, size),
        left,
        filled,
        keep_likely_counts(begin, scale, ends, shrinkage, busy),
        keep_likely_counts(end, scale, ends, shrinkage, busy),
        share,
        noisy.deviation,
    )


def guess_moves(share: Floats, total: float, ends: float, origin: Floats, destination: Floats) -> MoveTable:
    """The table where moves were not asked for: any place may follow any, as often as it is visited."""
    part, size = ends / total, len(share)
    left = max(total - 2 * ends, 0.0)
    return MoveTable(np.zeros((size, size)), left, 1.0, part * origin, part * destination, share, 0.0)


class MoveRows(NamedTuple):
    """Where walks go on to: from place p to `target[first[p]:first[p + 1]]`, each with its `chance`.

    With probability `loose` a walk goes on anywhere, by `share`; with probability `end` it ends.
    """

    first: Ints
    target: Ints
    chance: Floats
    loose: Floats
    share: Floats
    end: Floats


class _Bridges(NamedTuple):
    """Walks to draw, sorted by goal and length: those to `goals[g]` are `bounds[g]` to `bounds[g + 1]`."""

    origin: Ints
    lengths: Ints
    goals: Ints
    bounds: Ints
    offsets: Ints


@dataclass(frozen=True, eq=False)
class MoveChain:
    """A table of moves as a chain: what walks do at each place adds up to one."""

    world: World
    rows: MoveRows

    @classmethod
    def of_table(cls, world: World, table: MoveTable, settings: ListSettings) -> "MoveChain":
        """Where little is known of a place, walks end and go on there as they do on average: a place that only noise
        leads to must not hold them.
        """
        size, inner, share = world.size, table.known, table.share
        loose = table.left * share
        if world.restricts_moves:  # moves that are not allowed can only be noise
            inner = inner + np.outer(loose, share)
            loose = np.zeros(size)
            source, target = np.nonzero(inner > 0)
            legal = world.successors.contains(source, target.astype(np.int32))
            inner[source[~legal], target[~legal]] = 0.0
        average = table.end.sum() / max(float(inner.sum() + loose.sum() + table.end.sum()), 1e-300)
        unsure = settings.unsure_moves * table.filled**settings.unsure_power * table.deviation
        end = table.end + unsure * average
        if not world.restricts_moves:
            loose = loose + unsure * (1 - average)
        out = np.maximum(inner.sum(axis=1) + loose + end, 1e-300)
        source, target = np.nonzero(inner > 0)
        rows = MoveRows(
            first=np.searchsorted(source, np.arange(size + 1)).astype(np.int64),
            target=target.astype(np.int64),
            chance=inner[source, target] / out[source],
            loose=loose / out,
            share=share,
            end=np.where(inner.sum(axis=1) + loose > 0, end / out, 1.0),
        )
        return cls(world, rows)

    def go_on(self) -> MoveRows:
        """Where walks go on to that do not end: chances without that of an end."""
        rows = self.rows
        goes_on = np.maximum(1 - rows.end, 1e-300)
        source = np.repeat(np.arange(len(rows.end)), np.diff(rows.first))
        return rows._replace(chance=rows.chance / goes_on[source], loose=rows.loose / goes_on)

    def draw_bridges(
        self, origin: Ints, destination: Ints, lengths: Ints, rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], Ints]:
        """Walks of these lengths between these ends; destination -1: they end as the table says.

        Each is drawn from all walks of the chain that begin, end and are as long as asked for. Left out where there is
        no such walk.
        """
        order = np.lexsort((lengths, destination))
        goals, start = np.unique(destination[order], return_index=True)
        bounds = np.append(start, len(order)).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths[order])]).astype(np.int64)
        bridges = _Bridges(origin[order], lengths[order], goals, bounds, offsets)
        location, found = _walk_bridges(self.rows, bridges, rng)
        return select_walks(location, offsets, np.flatnonzero(found))


@njit(cache=True)
def _walk_bridges(rows, bridges, rng):  # type: ignore[no-untyped-def]
    first, target, chance, loose, share, end = rows
    origin, lengths, goals, bounds, offsets = bridges
    size = len(end)
    location = np.zeros(offsets[-1], np.int32)
    found = np.zeros(len(origin), np.bool_)
    most = np.max(lengths) if len(lengths) else 1
    # likely[k, s]: probability that a walk at s ends after exactly k more moves, where it should; anywhere[k]: the same
    # for a walk that may be at any place, by its share.
    likely = np.zeros((most, size))
    anywhere = np.zeros(most)
    for group in range(len(goals)):
        goal = goals[group]
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
