"""A table of moves as a chain that walks can follow, and walks of a given length between given ends."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.move_table import MoveTable
from wayveil.mechanisms.weave.settings import ListSettings
from wayveil.mechanisms.weave.support import select_walks
from wayveil.world.world import World


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
