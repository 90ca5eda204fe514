"""Exact counts of trips in the cells of public blocks.

A trip adds one to the cell it falls into, or, in a block that it spreads over, floor(whole / norm) for each of its
parts: never more than `whole` in all (in L2, where the block is euclidean), however long it is. Trips are read in
pieces, so that memory does not grow with the dataset. Trips without a visit are not counted.
"""

from collections.abc import Iterator

import numpy as np

from wayveil.privacy.gate import SparseCounts
from wayveil.trips.trips import Trips
from wayveil.world.spreading import whole_weights
from wayveil.world.timebins import TimeBins
from wayveil.world.walk_blocks import Block, Walks

# Trips read at a time.
PIECE = 1 << 18


def block_counts(trips: Trips, block: Block, whole: int, bins: TimeBins | None = None) -> SparseCounts:
    """What all trips together add to each cell; one trip more or less moves the counts by at most `whole` (in L1, or in
    L2 where the block is euclidean).

    Time bins are asked for the moment at which a trip begins.
    """
    table = np.zeros(block.cells, np.int64)
    for walks in walks_of(trips, bins):
        cells = block.of(walks)
        weight = np.full(len(walks), whole)
        if block.parts is not None:
            parts = block.parts(walks)
            weight = np.repeat(whole_weights(block, parts, cells, whole), parts)
        inside = cells >= 0
        # Sums of integers stay exact in floats below 2^53.
        table += np.bincount(cells[inside], weight[inside], block.cells).astype(np.int64)
    found = np.flatnonzero(table)
    return SparseCounts(block.cells, found, table[found])


def walks_of(trips: Trips, bins: TimeBins | None = None) -> Iterator[Walks]:
    """The trips that visit anything, a piece at a time, as the public blocks see them."""
    for first in range(0, len(trips), PIECE):
        part = trips.offsets[first : first + PIECE + 1]
        start = part[:-1][np.diff(part) > 0]
        if len(start) == 0:
            continue
        location = trips.location[part[0] : part[-1]]
        begin = None
        if bins is not None and trips.time is not None:
            begin = bins.bin_of(trips.time[start])
        yield Walks(location, np.append(start, part[-1]) - part[0], begin)
