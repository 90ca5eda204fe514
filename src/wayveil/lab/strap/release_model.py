"""What the adversary learns from a release: where released trips go from a junction."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayveil.lab.strap.square_cells import (
    DistinctSegments,
    Floats,
    Ints,
    Junctions,
    Segments,
    SquareCells,
    cut_at_junctions,
    distinct_segments,
)
from wayveil.trips.trips import Trips


class TransitionRows(NamedTuple):
    """Probabilities by row: those of `context[i]` (ascending) are `share[indptr[i]:indptr[i + 1]]` at `target`."""

    context: Ints
    indptr: Ints
    target: Ints
    share: Floats

    @classmethod
    def of(cls, context: Ints, target: Ints, size: int) -> "TransitionRows":
        """Relative frequencies of the targets after each context."""
        pair, count = np.unique(context * size + target, return_counts=True)
        of_pair = pair // size
        found, first = np.unique(of_pair, return_index=True)
        indptr = np.concatenate([first, [len(pair)]]).astype(np.int64)
        total = np.add.reduceat(count, first) if len(first) else np.zeros(0, np.int64)
        return cls(found, indptr, pair % size, count / np.repeat(total, np.diff(indptr)))


class ReleasedMoves(NamedTuple):
    """First and second order moves of the released trips.

    first, second  moves after a junction; after two junctions (the earlier one times junctions plus the later)
    ends           junctions where released segments end, ascending
    """

    first: TransitionRows
    second: TransitionRows
    ends: Ints


@dataclass(frozen=True, eq=False)
class ReleaseModel:
    """Moves of the released trips, and their different segments by the cell they begin in.

    by_cell        segments in order of the cell of their start: those of cell c are by_cell[bounds[c]:bounds[c + 1]]
    target         the junction where each different segment ends
    """

    segments: Segments
    different: DistinctSegments
    moves: ReleasedMoves
    by_cell: Ints
    bounds: Ints
    target: Ints
    outside: NDArray[np.bool_]

    @classmethod
    def of(cls, released: Trips, cells: SquareCells, junctions: Junctions) -> "ReleaseModel":
        segments = cut_at_junctions(released, cells, junctions)
        different = distinct_segments(segments, cells)
        size = len(junctions)
        same = np.flatnonzero(segments.trip[1:] == segments.trip[:-1]) + 1
        begin = cells.of[segments.trips.location[segments.start[different.first]]]
        by_cell = np.argsort(begin, kind="stable")
        return cls(
            segments,
            different,
            ReleasedMoves(
                TransitionRows.of(segments.source, segments.target, size),
                TransitionRows.of(
                    segments.source[same - 1] * size + segments.source[same], segments.target[same], size
                ),
                np.unique(segments.target),
            ),
            by_cell,
            np.searchsorted(begin[by_cell], np.arange(cells.wide * cells.high + 1)).astype(np.int64),
            segments.target[different.first],
            segments.outside[different.first],
        )
