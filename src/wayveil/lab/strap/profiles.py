"""Beliefs of the adversary about each rider's moves between junctions, before and after a release.

Each visit of a rider is known with probability p. Junctions that the rider passed unseen are filled in by Gibbs
sampling over the moves that the public network allows: a missing junction between a and b is c with a chance
proportional to T(a, c) T(c, b), where T counts the moves that were seen, plus one for every public move. How many
junctions were passed is known. All draws depend on the rider, the sweep and the place alone.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Ints, Mask
from wayveil.attacks.targets import key_of, mixed, uniform, unit_of
from wayveil.lab.strap.square_cells import (
    DistinctSegments,
    Junctions,
    Segments,
    SquareCells,
    cut_at_junctions,
    distinct_segments,
)
from wayveil.progress import share_out
from wayveil.trips.trips import Trips

SWEEPS, UNUSED = 10, 5  # the first sweeps forget where the chain began


class Profiles(NamedTuple):
    """The believed moves of each rider: `move[offsets[u]:offsets[u + 1]]`, ascending, source times junctions plus
    target, one entry per move and used sweep. `known_before` says of each segment whether the junction before it is
    known.
    """

    move: Ints
    offsets: Ints
    known_before: Mask


class _RiderSegments(NamedTuple):
    """Segments in the order of riders (those of rider u from `bounds[u]` on), and what the adversary saw of them."""

    bounds: Ints
    source: Ints
    target: Ints
    known_start: Mask
    known_end: Mask
    opens: Mask


class _PublicMoves(NamedTuple):
    """Moves among `size` junctions that the network allows, by where they begin and by where they end."""

    indptr: Ints
    indices: Ints
    back: Ints
    sources: Ints
    size: int


class _Guess(NamedTuple):
    """Junctions of all trips of one rider, one trip after the other: filled in so far, seen, first of a trip."""

    state: Ints
    known: Mask
    begins: Mask


def believed_moves(
    segments: Segments,
    rider: Ints,
    riders: int,
    moves: tuple[Ints, Ints],
    junctions: int,
    p: float,
    seed: int,
) -> Profiles:
    """Fill in and count. `rider` is the rider of each segment; segments are in the order of trips."""
    known_visit = uniform("known visits", seed, np.arange(segments.trips.visits)) < p
    order = np.argsort(rider, kind="stable")
    bounds = np.searchsorted(rider[order], np.arange(riders + 1)).astype(np.int64)
    known_start = known_visit[segments.start]
    known_end = known_visit[segments.end - 1]
    same_trip = np.zeros(len(segments), bool)
    same_trip[1:] = segments.trip[1:] == segments.trip[:-1]
    # The end of a segment is the start of the next one of the same trip.
    known_end[:-1] = np.where(same_trip[1:], known_start[1:], known_end[:-1])
    before = np.zeros(len(segments), bool)
    before[1:] = same_trip[1:] & known_start[:-1]
    out = np.empty(len(segments) * (SWEEPS - UNUSED), np.int64)
    seen = _RiderSegments(
        bounds,
        segments.source[order],
        segments.target[order],
        known_start[order],
        known_end[order],
        ~same_trip[order],
    )
    public = _PublicMoves(*moves, *_reversed(*moves, junctions), junctions)
    key = key_of("filling in", seed)
    share_out(lambda first, end: _fill(first, end, seen, public, key, out), riders, "adversary's profiles")
    offsets = bounds * (SWEEPS - UNUSED)
    out = out[np.lexsort((out, np.repeat(np.arange(riders), np.diff(offsets))))]
    return Profiles(out, offsets, before)


def _reversed(indptr: Ints, indices: Ints, size: int) -> tuple[Ints, Ints]:
    source = np.repeat(np.arange(size), np.diff(indptr))
    order = np.lexsort((source, indices))
    return np.searchsorted(indices[order], np.arange(size + 1)).astype(np.int64), source[order]


@njit(cache=True)
def _seen(pairs: Ints, pair: int) -> float:
    times = 0.0
    for i in range(len(pairs)):
        if pairs[i] == pair:
            times += 1
    return times


@njit(cache=True)
def _weight(public: _PublicMoves, pairs: Ints, a: int, b: int) -> float:
    """T(a, b)."""
    low, high = public.indptr[a], public.indptr[a + 1]
    at = low + np.searchsorted(public.indices[low:high], b)
    allowed = at < high and public.indices[at] == b
    return _seen(pairs, a * public.size + b) + (1.0 if allowed else 0.0)


@njit(cache=True)
def _draw(candidates: Ints, weights: Floats, lot: float, here: int) -> int:
    """A candidate by weight; the place itself where there is none."""
    total = 0.0
    for i in range(len(candidates)):
        total += weights[i]
    if total <= 0:
        return here
    aim, reached = lot * total, 0.0
    for i in range(len(candidates)):
        reached += weights[i]
        if aim < reached:
            return candidates[i]
    return candidates[len(candidates) - 1]


@njit(cache=True)
def _first_guess(segments: _RiderSegments, low: int, high: int) -> _Guess:
    """Junctions of one rider as they are; those that were not seen are drawn before they are used."""
    most = 2 * (high - low)
    state, known, begins = np.empty(most, np.int64), np.empty(most, np.bool_), np.empty(most, np.bool_)
    n = 0
    for s in range(low, high):
        if segments.opens[s]:
            state[n], known[n], begins[n] = segments.source[s], segments.known_start[s], True
            n += 1
        state[n], known[n], begins[n] = segments.target[s], segments.known_end[s], False
        n += 1
    return _Guess(state[:n], known[:n], begins[:n])


@njit(cache=True)
def _seen_pairs(guess: _Guess, size: int) -> Ints:
    """Moves of which both ends were seen."""
    state, known, begins = guess
    pairs, count = np.empty(len(state), np.int64), 0
    for i in range(1, len(state)):
        if not begins[i] and known[i] and known[i - 1]:
            pairs[count] = state[i - 1] * size + state[i]
            count += 1
    return pairs[:count]


@njit(cache=True)
def _redraw(guess: _Guess, i: int, lot: float, pairs: Ints, public: _PublicMoves, starting: bool) -> int:
    """Draw a junction that was not seen, given the ones around it.

    A chain that is `starting` looks back only, since what comes next is not filled in yet.
    """
    state, known, begins = guess
    has_before = not begins[i]
    has_after = i + 1 < len(state) and not begins[i + 1] and (not starting or known[i + 1])
    if has_before:
        candidates = public.indices[public.indptr[state[i - 1]] : public.indptr[state[i - 1] + 1]]
    elif has_after:
        candidates = public.sources[public.back[state[i + 1]] : public.back[state[i + 1] + 1]]
    else:
        candidates = np.arange(public.size)
    if len(candidates) == 0 and starting:
        return min(int(lot * public.size), public.size - 1)
    weights = np.ones(len(candidates))
    if has_before:
        for c in range(len(candidates)):
            weights[c] = _weight(public, pairs, state[i - 1], candidates[c])
    if has_after:
        both = weights.copy()
        total = 0.0
        for c in range(len(candidates)):
            both[c] *= _weight(public, pairs, candidates[c], state[i + 1])
            total += both[c]
        if total > 0:
            weights = both
    return _draw(candidates, weights, lot, state[i])


@njit(cache=True, nogil=True)
def _fill(
    first: int, end: int, segments: _RiderSegments, public: _PublicMoves, key: np.uint64, out: Ints
) -> None:
    used = SWEEPS - UNUSED
    for rider in range(first, end):
        low, high = segments.bounds[rider], segments.bounds[rider + 1]
        guess = _first_guess(segments, low, high)
        pairs = _seen_pairs(guess, public.size)
        word = mixed(key ^ np.uint64(rider))
        place = out[low * used : high * used]
        written = 0
        for sweep in range(SWEEPS + 1):
            for i in range(len(guess.state)):
                word = mixed(word)
                if not guess.known[i]:
                    guess.state[i] = _redraw(guess, i, unit_of(word), pairs, public, sweep == 0)
            if sweep > UNUSED:
                for i in range(1, len(guess.state)):
                    if not guess.begins[i]:
                        place[written] = guess.state[i - 1] * public.size + guess.state[i]
                        written += 1


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
    outside: Mask

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
