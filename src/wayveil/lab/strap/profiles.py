"""What the adversary believes about each rider's moves between junctions.

Each visit of a rider is known with probability p. Junctions that the rider passed unseen are filled in by Gibbs
sampling over the moves that the public network allows: a missing junction between a and b is c with a chance
proportional to T(a, c) T(c, b), where T counts the moves that were seen, plus one for every public move. How many
junctions were passed is known. All draws depend on the rider, the sweep and the place alone.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.attacks.draws import key_of, mixed, uniform, unit_of
from wayveil.attacks.sharing_out import share_out
from wayveil.lab.strap.square_cells import Ints, Segments

SWEEPS, UNUSED = 10, 5  # the first sweeps forget where the chain began


@dataclass(frozen=True, eq=False)
class Profiles:
    """The believed moves of each rider: `move[offsets[u]:offsets[u + 1]]`, ascending, source times junctions plus
    target, one entry per move and used sweep. `known_before` says of each segment whether the junction before it is
    known.
    """

    move: Ints
    offsets: Ints
    known_before: NDArray[np.bool_]


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
    arrays = (
        bounds,
        segments.source[order],
        segments.target[order],
        known_start[order],
        known_end[order],
        ~same_trip[order],
        *moves,
        *_reversed(*moves, junctions),
        junctions,
        key_of("filling in", seed),
        out,
    )
    share_out(lambda first, end: _fill(first, end, *arrays), riders, "adversary's profiles")
    offsets = bounds * (SWEEPS - UNUSED)
    out = out[np.lexsort((out, np.repeat(np.arange(riders), np.diff(offsets))))]
    return Profiles(out, offsets, before)


def _reversed(indptr: Ints, indices: Ints, size: int) -> tuple[Ints, Ints]:
    source = np.repeat(np.arange(size), np.diff(indptr))
    order = np.lexsort((source, indices))
    return np.searchsorted(indices[order], np.arange(size + 1)).astype(np.int64), source[order]


@njit(cache=True)
def _seen(pairs: Ints, count: int, pair: int) -> float:
    times = 0.0
    for i in range(count):
        if pairs[i] == pair:
            times += 1
    return times


@njit(cache=True)
def _weight(indptr: Ints, indices: Ints, pairs: Ints, count: int, size: int, a: int, b: int) -> float:
    """T(a, b)."""
    low, high = indptr[a], indptr[a + 1]
    at = low + np.searchsorted(indices[low:high], b)
    public = at < high and indices[at] == b
    return _seen(pairs, count, a * size + b) + (1.0 if public else 0.0)


@njit(cache=True)
def _draw(candidates: Ints, weights: NDArray[np.float64], lot: float, here: int) -> int:
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


@njit(cache=True, nogil=True)
def _fill(
    first: int,
    end: int,
    bounds: Ints,
    source: Ints,
    target: Ints,
    known_start: NDArray[np.bool_],
    known_end: NDArray[np.bool_],
    opens: NDArray[np.bool_],
    indptr: Ints,
    indices: Ints,
    back: Ints,
    sources: Ints,
    size: int,
    key: np.uint64,
    out: Ints,
) -> None:
    every = np.arange(size)
    for rider in range(first, end):
        low, high = bounds[rider], bounds[rider + 1]
        # The states of all trips of the rider, one trip after the other.
        most = 2 * (high - low)
        state, known, begins = np.empty(most, np.int64), np.empty(most, np.bool_), np.empty(most, np.bool_)
        n = 0
        for s in range(low, high):
            if opens[s]:
                state[n], known[n], begins[n] = source[s], known_start[s], True
                n += 1
            state[n], known[n], begins[n] = target[s], known_end[s], False
            n += 1
        pairs = np.empty(n, np.int64)
        count = 0
        for i in range(1, n):
            if not begins[i] and known[i] and known[i - 1]:
                pairs[count] = state[i - 1] * size + state[i]
                count += 1
        word = mixed(key ^ np.uint64(rider))
        place = out[low * (SWEEPS - UNUSED) : high * (SWEEPS - UNUSED)]
        written = 0
        for sweep in range(SWEEPS + 1):
            # Sweep 0 begins the chain: it looks back only, since what comes next is not filled in yet.
            for i in range(n):
                word = mixed(word)
                if known[i]:
                    continue
                lot = unit_of(word)
                has_before = not begins[i]
                has_after = i + 1 < n and not begins[i + 1] and (sweep > 0 or known[i + 1])
                if has_before:
                    candidates = indices[indptr[state[i - 1]] : indptr[state[i - 1] + 1]]
                elif has_after:
                    candidates = sources[back[state[i + 1]] : back[state[i + 1] + 1]]
                else:
                    candidates = every
                weights = np.ones(len(candidates))
                if has_before:
                    for c in range(len(candidates)):
                        weights[c] = _weight(indptr, indices, pairs, count, size, state[i - 1], candidates[c])
                if has_after:
                    both = weights.copy()
                    total = 0.0
                    for c in range(len(candidates)):
                        both[c] *= _weight(indptr, indices, pairs, count, size, candidates[c], state[i + 1])
                        total += both[c]
                    if total > 0:
                        weights = both
                if len(candidates) == 0 and sweep == 0:
                    state[i] = min(int(lot * size), size - 1)
                else:
                    state[i] = _draw(candidates, weights, lot, state[i])
            if sweep > UNUSED:
                for i in range(1, n):
                    if not begins[i]:
                        place[written] = state[i - 1] * size + state[i]
                        written += 1
