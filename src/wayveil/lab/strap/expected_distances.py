"""Expected distances by the book (equations 6 and 7 with the sums of section VI-D), and repaired.

Expected distances by the book: equations (6), (7) and the sums of section VI-D, with whole matrices.

Slow, and not to be used for a decision: it rises when a release is repeated, and calls an empty release 0. It is here
so that the repaired reading can be compared with what was published. Two definitions are added where the equations have
none: a row of a profile without data is as uncertain as can be (H = 1), and with one junction H = 0.

Expected distances, repaired: a weighted mean instead of a sum, so that more released trips are not more private.

For a raw segment from junction x, the different released segments that begin in the cells around x are grouped by the
junction z where they end. With the adversary's weight w(z) for going from x to z,

    ED = sum of w(z) x mean distance to the segments that end in z / sum of w(z)

Where nothing begins around x, the ring of cells is widened until something does; where all weights are 0, the groups
count alike; an empty release is as far away as the world is wide.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints, Mask, Ragged
from wayveil.attacks.warping import INFINITE, warping
from wayveil.lab.strap.profiles import Profiles, ReleasedMoves, ReleaseModel
from wayveil.lab.strap.square_cells import DistinctSegments, Junctions, Segments, SquareCells
from wayveil.progress import share_out, track


def summed_distances(
    segments: Segments,
    different: DistinctSegments,
    rider: Ints,
    profiles: Profiles,
    model: ReleaseModel,
    cells: SquareCells,
    junctions: Junctions,
) -> Floats:
    """ED of every raw segment: the sum of w times distance over all released segments that begin around its start."""
    size = len(junctions)
    metres = np.zeros(len(segments))
    first, second = _matrices(model.segments, size)
    released = model.segments
    begin = cells.of[released.trips.location[released.start]]
    for s in track(range(len(segments)), "expected distances, by the book"):
        x = int(segments.source[s])
        own = profiles.move[profiles.offsets[rider[s]] : profiles.offsets[rider[s] + 1]]
        row = np.bincount(own[own // size == x] % size, minlength=size).astype(np.float64)
        doubt = _entropy(row)
        row /= max(row.sum(), 1)
        follows = s > 0 and segments.trip[s] == segments.trip[s - 1]
        out = second.get((int(segments.source[s - 1]), x), np.zeros(size)) if follows else first[x]
        w = (1 - doubt) * row + doubt * out
        cell = cells.of[segments.trips.location[segments.start[s]]]
        near = (np.abs(begin % cells.wide - cell % cells.wide) <= 1) & (
            np.abs(begin // cells.wide - cell // cells.wide) <= 1
        )
        mine = _points(segments, s, cells)
        for other in np.flatnonzero(near & ~released.outside):
            theirs = _points(released, int(other), cells)
            distance = warping(mine, theirs, INFINITE) / max(len(mine), len(theirs))
            metres[s] += w[released.target[other]] * distance
    return metres


def mean_of_matched(metres: Floats, rider: Ints, riders: int) -> Floats:
    """Equation (10): the sum over a rider's segments over the number of those that are not zero; 0 where all are."""
    total = np.bincount(rider, metres, minlength=riders)
    matched = np.bincount(rider, metres > 0, minlength=riders)
    return np.asarray(np.divide(total, matched, out=np.zeros(riders), where=matched > 0))


def _matrices(segments: Segments, size: int) -> tuple[Floats, dict[tuple[int, int], Floats]]:
    """First and second order moves of the release, each row summing to one (or empty)."""
    first = np.zeros((size, size))
    second: dict[tuple[int, int], Floats] = {}
    for s in range(len(segments)):
        first[segments.source[s], segments.target[s]] += 1
        if s > 0 and segments.trip[s] == segments.trip[s - 1]:
            pair = (int(segments.source[s - 1]), int(segments.source[s]))
            second.setdefault(pair, np.zeros(size))[segments.target[s]] += 1
    first /= np.maximum(first.sum(axis=1, keepdims=True), 1)
    return first, {pair: row / row.sum() for pair, row in second.items()}


def _entropy(row: Floats) -> float:
    if len(row) == 1:
        return 0.0
    if row.sum() == 0:
        return 1.0
    share = row[row > 0] / row.sum()
    return float(-(share * np.log2(share)).sum() / np.log2(len(row)))


def _points(segments: Segments, s: int, cells: SquareCells) -> NDArray[np.float64]:
    location = segments.trips.location[segments.start[s] : segments.end[s]]
    return np.column_stack([cells.east[location], cells.north[location], np.zeros(len(location))])


class SegmentDistances(NamedTuple):
    """The expected distance of each raw segment in metres, and which of them were special."""

    metres: Floats
    widened: Mask
    weightless: Mask


class Groups(NamedTuple):
    """For each different raw segment the released segments around its start, grouped by the junction where they end.

    Those of segment i are at `bounds[i]:bounds[i + 1]`: the junctions, ascending, and the mean distance to the group.
    Nothing here depends on what the adversary knows.
    """

    bounds: Ints
    ends: Ints
    metres: Floats
    widened: Mask


class _RawSegments(NamedTuple):
    """Raw segments: where each begins, the junction before (-1: unknown), its number among different ones, whose."""

    source: Ints
    before: Ints
    different: Ints
    rider: Ints


class _Grounds(NamedTuple):
    """Released segments by the cell that they begin in, of `wide` x `high` cells, and the junction where each ends."""

    paths: Ragged
    of_cell: Ragged
    target: Ints
    wide: int
    high: int


def expected_distances(
    segments: Segments,
    different: DistinctSegments,
    rider: Ints,
    profiles: Profiles,
    model: ReleaseModel,
    groups: Groups | None,
    cells: SquareCells,
    junctions: Junctions,
) -> SegmentDistances:
    """The expected distance of every segment of every rider; without groups the release is empty."""
    count = len(segments)
    if groups is None:
        return SegmentDistances(np.full(count, cells.diameter), np.zeros(count, bool), np.zeros(count, bool))
    metres, weightless = np.empty(count), np.zeros(count, bool)
    before = np.full(count, -1, np.int64)
    before[1:] = np.where(profiles.known_before[1:], segments.source[:-1], -1)
    result = SegmentDistances(metres, groups.widened[different.of_segment], weightless)
    asked = _RawSegments(segments.source, before, different.of_segment, rider)
    size, moves = len(junctions), model.moves
    share_out(
        lambda first, end: _expect(first, end, asked, profiles, moves, groups, size, result),
        count,
        "expected distances",
    )
    return result


def group_distances(
    different: DistinctSegments, segments: Segments, model: ReleaseModel, cells: SquareCells, junctions: int
) -> Groups | None:
    """Distances of every different raw segment to the different released ones around it; None for an empty release."""
    if len(model.segments) == 0:
        return None
    begin = cells.of[segments.trips.location[segments.start[different.first]]]
    raw = Ragged(different.point, different.offsets)
    grounds = _Grounds(
        Ragged(model.different.point, model.different.offsets),
        Ragged(model.by_cell, model.bounds),
        model.target,
        cells.wide,
        cells.high,
    )
    parts: dict[int, tuple[Ints, Ints, Floats, Mask]] = {}

    def work(first: int, end: int) -> None:
        parts[first] = _grouped(first, end, raw, begin, grounds, junctions)

    share_out(work, len(different.first), "distances of segments")
    found = [parts[first] for first in sorted(parts)]
    sizes = np.concatenate([part[0] for part in found])
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Groups(bounds, *(np.concatenate([part[i] for part in found]) for i in (1, 2, 3)))


@njit(cache=True, nogil=True)
def _grouped(
    first: int, end: int, raw: Ragged, begin: Ints, grounds: _Grounds, junctions: int
) -> tuple[Ints, Ints, Floats, Mask]:
    there, bounds = grounds.paths
    by_cell, of_cell = grounds.of_cell
    target, wide, high = grounds.target, grounds.wide, grounds.high
    size, used = np.zeros(end - first, np.int64), 0
    ends, mean = np.empty(64, np.int64), np.empty(64)
    widened = np.zeros(end - first, np.bool_)
    total, number = np.zeros(junctions), np.zeros(junctions, np.int64)
    for s in range(first, end):
        x = raw.values[raw.offsets[s] : raw.offsets[s + 1]]
        row, column = begin[s] // wide, begin[s] % wide
        ring, some = 0, 0
        while some == 0:
            ring += 1
            for r in range(max(row - ring, 0), min(row + ring + 1, high)):
                for c in range(max(column - ring, 0), min(column + ring + 1, wide)):
                    cell = r * wide + c
                    for at in range(of_cell[cell], of_cell[cell + 1]):
                        other = by_cell[at]
                        y = there[bounds[other] : bounds[other + 1]]
                        z = target[other]
                        total[z] += warping(x, y, INFINITE) / max(len(x), len(y))
                        number[z] += 1
                        some += 1
        widened[s - first] = ring > 1
        for z in range(junctions):
            if number[z]:
                if used == len(ends):
                    more_ends, more_mean = np.empty(2 * used, np.int64), np.empty(2 * used)
                    more_ends[:used], more_mean[:used] = ends, mean
                    ends, mean = more_ends, more_mean
                ends[used], mean[used] = z, total[z] / number[z]
                used += 1
                size[s - first] += 1
                total[z], number[z] = 0.0, 0
    return size, ends[:used].copy(), mean[:used].copy(), widened


@njit(cache=True)
def _row(context: Ints, asked: int) -> int:
    at = int(np.searchsorted(context, asked))
    return at if at < len(context) and context[at] == asked else -1


@njit(cache=True)
def row_entropy(moves: Ints, source: int, size: int) -> float:
    """Equation (6) for one row of a rider's ascending moves: 1 without data, 0 where there is one junction."""
    low = np.searchsorted(moves, source * size)
    high = np.searchsorted(moves, (source + 1) * size)
    if size == 1:
        return 0.0
    if low == high:
        return 1.0
    total, entropy, run = high - low, 0.0, 0
    for at in range(low, high):
        run += 1
        if at + 1 == high or moves[at + 1] != moves[at]:
            share = run / total
            entropy -= share * np.log2(share)
            run = 0
    return entropy / np.log2(size)


@njit(cache=True, nogil=True)
def _expect(
    first: int,
    end: int,
    asked: _RawSegments,
    profiles: Profiles,
    released: ReleasedMoves,
    groups: Groups,
    size: int,
    result: SegmentDistances,
) -> None:
    bounds, mean = groups.bounds, groups.metres
    for s in range(first, end):
        x, different, rider = asked.source[s], asked.different[s], asked.rider[s]
        own = profiles.move[profiles.offsets[rider] : profiles.offsets[rider + 1]]
        doubt = row_entropy(own, x, size)
        low, high = np.searchsorted(own, x * size), np.searchsorted(own, (x + 1) * size)
        row, rows = -1, released.second
        if asked.before[s] >= 0:
            row = _row(rows.context, asked.before[s] * size + x)
        if row < 0:
            rows = released.first
            row = _row(rows.context, x)
        begin, stop = (rows.indptr[row], rows.indptr[row + 1]) if row >= 0 else (0, 0)
        weighted, weights, plain = 0.0, 0.0, 0.0
        for at in range(bounds[different], bounds[different + 1]):
            z = groups.ends[at]
            w = 0.0
            if high > low:
                times = np.searchsorted(own[low:high], x * size + z, side="right") - np.searchsorted(
                    own[low:high], x * size + z
                )
                w += (1 - doubt) * times / (high - low)
            if row >= 0:
                place = begin + np.searchsorted(rows.target[begin:stop], z)
                if place < stop and rows.target[place] == z:
                    w += doubt * rows.share[place]
            else:
                w += doubt / len(released.ends)
            weighted += w * mean[at]
            weights += w
            plain += mean[at]
        if weights > 0:
            result.metres[s] = weighted / weights
        else:
            result.metres[s] = plain / (bounds[different + 1] - bounds[different])
            result.weightless[s] = True
