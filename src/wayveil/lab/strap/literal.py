"""Expected distances by the book: equations (6), (7) and the sums of section VI-D, with whole matrices.

Slow, and not to be used for a decision: it rises when a release is repeated, and calls an empty release 0. It is here
so that the repaired reading can be compared with what was published. Two definitions are added where the equations have
none: a row of a profile without data is as uncertain as can be (H = 1), and with one junction H = 0.
"""

import numpy as np
from numpy.typing import NDArray

from wayveil.attacks.warping import INFINITE, warping
from wayveil.lab.strap.profiles import Profiles
from wayveil.lab.strap.release_model import ReleaseModel
from wayveil.lab.strap.square_cells import DistinctSegments, Floats, Ints, Junctions, Segments, SquareCells
from wayveil.progress import track


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
