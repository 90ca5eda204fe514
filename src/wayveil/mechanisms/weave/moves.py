"""Where people are and which place follows which on a plain list, from noisy counts; and chains of such moves."""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.demand import Demand
from wayveil.mechanisms.weave.estimates import CellEstimates, group_alike, judge_counts, keep_likely_counts
from wayveil.mechanisms.weave.settings import Generation
from wayveil.world.walk_blocks import Block, WalkBlocks
from wayveil.world.world import World

# Cells of a table of moves that is fitted move by move: in larger ones the fit would take too long.
SMALL_TABLE = 100_000


@dataclass(frozen=True, eq=False)
class ListDemand(Demand):
    """Also knows the share of each place among all visits."""

    visits: Floats

    @classmethod
    def estimate(
        cls, blocks: WalkBlocks, noisy: dict[str, CellEstimates], total: float, settings: Generation
    ) -> "ListDemand":
        """Read visits, and trips that begin and end at each place, off the noisy blocks."""
        size, move = blocks.geography.world.size, noisy.get("move")
        marks: list[CellEstimates | None] = [None, None]
        if move is not None:
            marks = [CellEstimates(mark, move.deviation) for mark in move.value[size**2 :].reshape(2, size)]
        ends = [
            noisy[name] if mark is None else join_marks(noisy[name], mark, total)
            for name, mark in zip(("origin", "destination"), marks, strict=True)
        ]
        visits = estimate_visits(noisy["visit"], move, ends, size, settings)
        origin, destination = (_estimate_list_ends(counted, visits, total, settings) for counted in ends)
        return cls(blocks, noisy, total, settings, origin, destination, visits)


def estimate_visits(
    visit: CellEstimates,
    move: CellEstimates | None,
    ends: list[CellEstimates],
    places: int,
    settings: Generation,
) -> Floats:
    """Return the share of each place among all visits, from three views.

    The block of visits by class of lengths; moves to and from each place, if asked for, which say nearly the same with
    other noise; and how many trips begin and end there, which says something else, but often with far less noise. Each
    view counts as its noise deserves.
    """
    table = visit.value.reshape(-1, places)
    views = [CellEstimates(table.sum(axis=0), visit.deviation * sqrt(len(table)))]
    if move is not None:
        square, marks = (part.reshape(-1, places) for part in np.split(move.value, [places**2]))
        both = (square.sum(axis=0) + square.sum(axis=1) + marks.sum(axis=0)) / 2
        views.append(CellEstimates(both, move.deviation * sqrt(places)))
    direct, near = _average_shares(views), _average_shares(ends)
    first = _average_shares([direct, near]).value
    precise = direct.deviation**-2
    other = 1 / (near.deviation**2 + (settings.visits_off * np.maximum(first, 0.0)) ** 2)
    mean = (precise * direct.value + other * near.value) / (precise + other)
    # The scale of the noise at places that hardly anybody visits: of other places it is clear that somebody does.
    quiet = sqrt(0.5 / (precise + near.deviation**-2))
    share = keep_likely_counts(mean, quiet, 1.0, settings.doubtful) + 1e-6 / places
    return share / share.sum()


def _average_shares(views: list[CellEstimates]) -> CellEstimates:
    """Join shares from several views with different totals, weighted by their precision."""
    wholes = [max(float(view.value.sum()), view.deviation) for view in views]
    precision = [(whole / view.deviation) ** 2 for view, whole in zip(views, wholes, strict=True)]
    mean = sum(
        weight * view.value / whole for view, whole, weight in zip(views, wholes, precision, strict=True)
    ) / sum(precision)
    return CellEstimates(np.asarray(mean), sum(precision) ** -0.5)


def join_marks(noisy: CellEstimates, mark: CellEstimates, total: float) -> CellEstimates:
    """Join two views of the trips that begin (or end) at each place: as counted, and from the marks in the table of
    moves. Those are shares of trips, so that short trips count more: they are off by a tenth of an even share, however
    little noise they have.
    """
    scale, off = total / max(float(mark.value.sum()), mark.deviation, 1.0), total / len(mark.value) / 10
    own, other = noisy.deviation**-2, 1 / ((mark.deviation * scale) ** 2 + off**2)
    mean = (own * noisy.value + other * mark.value * scale) / (own + other)
    return CellEstimates(mean, (own + other) ** -0.5)


def _estimate_list_ends(counted: CellEstimates, visits: Floats, total: float, settings: Generation) -> Floats:
    """Read trips that begin (or end) at each place off their counts, and off its visits, which are off by a share."""
    busy, precise = visits * total, counted.deviation**-2
    group = group_alike(visits, settings.alike)
    sure = keep_likely_counts(counted.value, counted.scale, total, settings.doubtful, group)
    expected = 1 / ((settings.visits_off * busy) ** 2 + 1e-9)
    mass = (precise * sure + expected * busy) / (precise + expected)
    mass = np.where(sure > 0, mass, 0.0) + 1e-9 * busy
    return np.asarray(mass * (total / mass.sum()))


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

    def join_unknown(self, moves: Block, small: int = SMALL_TABLE) -> tuple[Block, CellEstimates]:
        """Return the block of moves, and what is wanted there; if it is not `small` all unknown moves are one cell.

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
    """Return the table without most of its noise, adding up to the number of trips.

    A place's visits are seen through far less noise than each of its moves, so moves are judged among those whose two
    places are about as busy. `ends` is the mass of all beginnings, and of all ends, which lengths tell exactly. Where
    the known moves hold far more than their places alone explain, people make few other moves: what is left belongs to
    the known moves, and a walk that noise would send anywhere keeps to them.
    """
    size, scale, doubtful = len(share), noisy.scale, settings.doubtful
    inside = max(total - 2 * ends, 0.0)
    inner, begin, end = noisy.value[: size * size], *noisy.value[size * size :].reshape(2, size)
    even = np.outer(share, share).ravel()
    worth, nothing = judge_counts(inner, scale, group_alike(even, settings.alike))
    known = np.where(nothing < doubtful, worth, 0.0)
    known *= min(1.0, inside / max(float(known.sum()), 1e-300))
    left = inside - float(known.sum())
    # How often people make unknown moves, by how often they would if they went anywhere.
    filled = min(1.0, left / max(inside, 1e-300) / max(float(even[known <= 0].sum()), 1e-9))
    left *= filled
    known *= (inside - left) / max(float(known.sum()), 1e-300)
    busy = group_alike(share, settings.alike)
    return MoveTable(
        known.reshape(size, size),
        left,
        filled,
        keep_likely_counts(begin, scale, ends, doubtful, busy),
        keep_likely_counts(end, scale, ends, doubtful, busy),
        share,
        noisy.deviation,
    )


def guess_moves(share: Floats, total: float, ends: float, origin: Floats, destination: Floats) -> MoveTable:
    """Guess the table where moves were not asked for: any place may follow any, as often as it is visited."""
    part, size = ends / total, len(share)
    left = max(total - 2 * ends, 0.0)
    return MoveTable(np.zeros((size, size)), left, 1.0, part * origin, part * destination, share, 0.0)


class MoveRows(NamedTuple):
    """Where walks go on to: from place p to `target[first[p]:first[p + 1]]`, each with its `chance`.

    With probability `loose` a walk goes on anywhere, by `share`. `end` is the probability that a walk ends there.
    """

    first: Ints
    target: Ints
    chance: Floats
    loose: Floats
    share: Floats
    end: Floats


def chain_moves(world: World, table: MoveTable, unsure_moves: float) -> MoveRows:
    """Return the table as a chain of walks that go on until they are as long as they should be.

    Where little is known of a place, walks end and go on there as they do on average: a place that only noise leads to
    must not hold them.
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
    unsure = unsure_moves * table.filled * table.deviation
    end = table.end + unsure * average
    if not world.restricts_moves:
        loose = loose + unsure * (1 - average)
    out = inner.sum(axis=1) + loose
    source, target = np.nonzero(inner > 0)
    return MoveRows(
        first=np.searchsorted(source, np.arange(size + 1)).astype(np.int64),
        target=target.astype(np.int64),
        chance=inner[source, target] / np.maximum(out, 1e-300)[source],
        loose=loose / np.maximum(out, 1e-300),
        share=share,
        end=np.where(out > 0, end / np.maximum(out + end, 1e-300), 1.0),
    )
