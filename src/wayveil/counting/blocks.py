"""Exact counts of trips in the cells of public blocks.

A trip adds one to the cell it falls into, or, in a block that it spreads over, floor(whole / norm) for each of its
parts: never more than `whole` in all (in L2, where the block is euclidean), however long it is. Trips without a visit
are not counted.
"""

from dataclasses import dataclass

import numpy as np

from wayveil.arrays import Ints
from wayveil.counting.tally import ONE
from wayveil.trips.trips import Trips
from wayveil.world.block_weights import whole_weights
from wayveil.world.timebins import TimeBins
from wayveil.world.walk_blocks import Block, Walks


@dataclass(frozen=True)
class CountBlock:
    """What all trips together add to each cell; one trip more or less moves the counts by at most `whole` (in L1, or
    in L2 where the block is euclidean).

    Time bins are asked for the moment at which a trip begins.
    """

    block: Block
    whole: int
    bins: TimeBins | None = None

    @property
    def universe(self) -> int:
        return self.block.cells

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        walks = walks_of(trips, self.bins)
        if len(walks) == 0:
            return np.zeros(0, np.int64), ONE
        cells = self.block.of(walks)
        inside = cells >= 0
        if self.block.parts is None:
            return cells[inside], ONE * self.whole
        parts = self.block.parts(walks)
        weight = np.repeat(whole_weights(self.block, parts, cells, self.whole), parts)
        return cells[inside], weight[inside]


def walks_of(trips: Trips, bins: TimeBins | None = None) -> Walks:
    """The trips that visit anything, as the public blocks see them."""
    start = trips.offsets[:-1][trips.lengths > 0]
    begin = None
    if bins is not None and trips.time is not None:
        begin = bins.bin_of(trips.time[start])
    return Walks(trips.location, np.append(start, trips.visits), begin)
