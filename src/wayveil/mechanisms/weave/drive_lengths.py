"""How long the ways of drivers are: lengths to aim at, from the noisy table of lengths by distance."""

from dataclasses import replace

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.cell_estimates import CellEstimates
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.visit_lengths import smooth_bins
from wayveil.synthesis.projection import onto_total
from wayveil.world.walk_blocks import LONGEST, WalkBlocks, Walks


class DriveLengths:
    """Draws how many visits a trip should have, given its ends."""

    def __init__(self, blocks: WalkBlocks, table: Floats, total: float, floor: float) -> None:
        """`floor` is the share of the lengths of all distances that is added to those of each distance."""
        self.blocks = blocks
        edges = blocks.length_edges
        mass = onto_total(table, total).reshape(-1, len(edges))
        usual = mass.sum(axis=0) / total
        mass = mass + floor * total / len(mass) * usual
        self.first, self.end = edges, np.append(edges[1:], LONGEST + 1)
        self.running = np.cumsum(mass, axis=1)

    def draw(self, origin: Ints, destination: Ints, fewest: Ints, rng: np.random.Generator) -> Ints:
        """Visits to aim at: as many as measured for the distance, and at least `fewest`, which the way needs."""
        pairs = np.stack([origin, destination], axis=1).astype(np.int32)
        distance = self.blocks.distance(Walks(pairs.ravel(), 2 * np.arange(len(pairs) + 1)))
        return np.asarray(
            _draw(self.running, self.first, self.end, distance, fewest, rng.random((2, len(origin))))
        )


def clear_lengths(table: CellEstimates, edges: Ints, settings: Generation) -> Floats:
    """The table of lengths by distance without the long trips that only noise has put there."""
    rows, steepness = table.value.reshape(-1, len(edges)), settings.drives.steepness
    return np.concatenate([smooth_bins(row, edges, table.deviation, settings, steepness) for row in rows])


def doubt_lengths(table: CellEstimates, clear: Floats, deviations: float) -> CellEstimates:
    """The noisy table for the fit, where no cell stands far above the cleared one.

    The fit believes what stands out, and among many cells of long trips noise lifts one.
    """
    return replace(table, value=np.minimum(table.value, clear + deviations * np.sqrt(table.variance)))


@njit(cache=True, nogil=True)
def _draw(running, first, end, distance, fewest, random):  # type: ignore[no-untyped-def]
    out = fewest.copy()
    for i in range(len(out)):
        row = running[distance[i]]
        # The bin of the fewest visits counts as far as it reaches above them.
        low = np.searchsorted(first, fewest[i], side="right") - 1
        before = row[low - 1] if low > 0 else 0.0
        part = (end[low] - fewest[i]) / (end[low] - first[low])
        skipped = (row[low] - before) * (1 - part)
        left = row[-1] - before - skipped
        if left <= 0:
            continue
        bin_ = np.searchsorted(row, before + skipped + random[0, i] * left, side="right")
        bin_ = min(max(bin_, low), len(row) - 1)
        start = max(first[bin_], fewest[i])
        out[i] = start + int(random[1, i] * (end[bin_] - start))
    return out
