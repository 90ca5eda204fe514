"""How many visits trips have where there is no network: drawn as measured, without the long trips that noise makes."""

from math import sqrt

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.cell_estimates import CellEstimates
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.shrinkage import shrink_counts


class Lengths:
    """Draws lengths from the noisy block of lengths by distance; on a list, distance 0 means the same place."""

    def __init__(
        self, edges: Ints, distances: int, noisy: CellEstimates, total: float, settings: Generation
    ) -> None:
        self.low, self.high = edges, np.append(edges[1:], edges[-1] + 1)
        table = noisy.value.reshape(distances, len(edges))
        smooth = np.array(
            [smooth_bins(row, edges, noisy.deviation, settings, settings.on_list.steepness) for row in table]
        )
        self.bins = distances
        # Single visits are at the same place.
        smooth[1:, 0] = 0.0
        smooth[0, 0] += 1e-9
        self.share = smooth / smooth.sum()
        self.mass = total * self.share

    def weigh_ends(self) -> float:
        """The weight that all beginnings together have when every trip spreads one over its moves and marks."""
        middle = (self.low + self.high - 1) / 2
        return float((self.mass.sum(axis=0) / (middle + 1)).sum())

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Distances (0: the same place) and lengths."""
        cell = rng.choice(self.share.size, count, p=self.share.ravel())
        far, bin_ = np.divmod(cell, len(self.low))
        return far, self._draw_within(bin_, rng)

    def draw_given(self, far: Ints, rng: np.random.Generator) -> Ints:
        """Lengths of walks over these distances."""
        found = np.ones(len(far), np.int64)
        for distance in range(self.bins):
            here = np.flatnonzero(far == distance)
            share = self.share[distance] + 1e-12 * (self.low == self.low[min(distance, 1)])
            share = share / share.sum()
            found[here] = self._draw_within(rng.choice(len(share), len(here), p=share), rng)
        return found

    def _draw_within(self, bin_: Ints, rng: np.random.Generator) -> Ints:
        return rng.integers(self.low[bin_], self.high[bin_])


def smooth_bins(row: Floats, low: Ints, deviation: float, settings: Generation, steepness: int) -> Floats:
    """Masses of bins from halves, halves of halves, and so on: a sum is often clear where no bin is.

    A half of longer trips that does not stand out holds at most what a steep power law lets expect from the shorter
    ones: a bin of long trips that is nothing but noise would fill the release with visits.
    """
    on_list = settings.on_list
    worth = shrink_counts(row, deviation / sqrt(2), settings.shrinkage)
    steep = 1.0 / low.astype(np.float64) ** steepness
    mass = np.zeros(len(row))
    todo = [(0, len(row), max(float(row.sum()), 1e-9))]
    while todo:
        start, stop, whole = todo.pop()
        if stop - start == 1:
            mass[start] = whole
            continue
        middle = (start + stop) // 2
        # Of a few bins it matters which are empty, of many how much they are together.
        seen = worth if stop - start <= on_list.few_bins else row
        short, long = (max(float(part.sum()), 0.0) for part in (seen[start:middle], seen[middle:stop]))
        noise = deviation * sqrt(stop - middle)
        if stop - start > on_list.few_bins and long < on_list.dim * noise:
            long = 0.0
        elif long < on_list.clear * noise:
            long = min(long, short * float(steep[middle:stop].sum() / steep[start:middle].sum()))
        share = short / (short + long) if short + long > 0 else 1.0
        todo += [(start, middle, whole * share), (middle, stop, whole * (1 - share))]
    return mass
