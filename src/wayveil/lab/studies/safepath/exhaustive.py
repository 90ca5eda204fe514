"""SeqPT as the study ran it: every possible child of every kept node is visited. For its time; releases nothing."""

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins

_BLOCK = 1_000_000


def pairs(trips: Trips, bins: TimeBins, height: int) -> NDArray[np.int32]:
    """The first `height` (stop, bin) pairs of every trip, one row each, -1 after the end."""
    head = trips.cut(height)
    out = np.full((len(trips), height), -1, np.int32)
    row = np.repeat(np.arange(len(trips)), head.lengths)
    column = np.arange(head.visits) - np.repeat(head.offsets[:-1], head.lengths)
    assert head.time is not None
    out[row, column] = head.location * bins.count + bins.bin_of(head.time)
    return out


def exhaustive(
    columns: NDArray[np.int32], size: int, bins: int, height: int, rng: np.random.Generator
) -> int:
    """Noise on every possible child of every kept node, with arrays. Returns how many nodes were kept.

    The published threshold at epsilon 1; later bins only.
    """
    scale = height
    threshold = 2 * 2**0.5 * scale
    rows, node = np.arange(len(columns)), np.zeros(len(columns), np.int64)
    earliest, kept = np.zeros(1, np.int64), 0
    pair_bin = np.arange(size) % bins
    for depth in range(height):
        symbol = columns[rows, depth]
        inside = (symbol >= 0) & (pair_bin[np.maximum(symbol, 0)] >= earliest[node])
        rows, node, symbol = rows[inside], node[inside], symbol[inside]
        cell = node * size + symbol
        survivors = []
        # A million candidates at a time, so that memory is not what it fails on.
        block = max(1, _BLOCK // size)
        for first in range(0, len(earliest), block):
            last = min(first + block, len(earliest))
            here = (node >= first) & (node < last)
            counts = np.bincount(cell[here] - first * size, minlength=(last - first) * size).astype(float)
            counts += rng.laplace(0, scale, len(counts))
            over = np.flatnonzero(counts >= threshold)
            at, what = np.divmod(over, size)
            survivors.append(first * size + over[pair_bin[what] >= earliest[first + at]])
        found = np.concatenate(survivors)
        place = np.searchsorted(found, cell)
        ok = (
            (place < len(found)) & (found[np.minimum(place, max(len(found) - 1, 0))] == cell)
            if len(found)
            else np.zeros(len(cell), bool)
        )
        rows, node = rows[ok], place[ok]
        earliest = pair_bin[found % size]
        kept += len(found)
        if len(found) == 0:
            break
    return kept
