"""The noisy table of moves of a world without a network, without most of its noise."""

from dataclasses import dataclass

import numpy as np

from wayveil.arrays import Floats
from wayveil.mechanisms.weave.cell_estimates import CellEstimates
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.shrinkage import group_alike, judge_counts, keep_likely_counts
from wayveil.world.walk_blocks import Block


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
