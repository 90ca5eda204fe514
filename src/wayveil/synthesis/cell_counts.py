"""Numbers of taps straight from noisy histograms, and how far noise may have moved them.

Every cell is an exact count plus independent noise around zero, so sums of cells are right on average, and their noise
has a known law. Where several histograms tell the same number, they are averaged with the weights that leave the least
noise. The released taps are drawn from a table fitted to all histograms, without negative cells: close to these
numbers, but with errors that no law tells. The bars belong to the numbers here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayveil.synthesis.estimates import HOURS, Estimate, Key, Visits
from wayveil.synthesis.noise_sums import half_width
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR, TimeBins
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class CellCounts:
    """One noisy histogram: what each cell belongs to (-1: nothing that is asked for), and the scale of the noise."""

    keys: Mapping[Key, NDArray[np.int64]]
    counts: NDArray[np.int64]
    scale: float


def estimate_visits(histograms: Sequence[CellCounts], question: Visits, world: World) -> Estimate | None:
    """Taps per stop, route or hour, or per several of them; None where no histogram tells."""
    sizes: dict[Key, int] = {"stop": world.size, "hour": HOURS}
    if isinstance(world, Network):
        sizes["route"] = len(world.route_ids)
    if any(key not in sizes for key in question.per):
        return None
    size = int(np.prod([sizes[key] for key in question.per], dtype=np.int64))
    value, weight, fourth = np.zeros(size), np.zeros(size), np.zeros(size)
    for histogram in histograms:
        if not set(question.per) <= set(histogram.keys):
            continue
        at, known = np.zeros(len(histogram.counts), np.int64), np.ones(len(histogram.counts), bool)
        for key in question.per:
            at = at * sizes[key] + histogram.keys[key]
            known &= histogram.keys[key] >= 0
        many = np.bincount(at[known], minlength=size)
        precision = np.divide(1.0, many * 2 * histogram.scale**2, out=np.zeros(size), where=many > 0)
        value += precision * np.bincount(at[known], histogram.counts[known], size)
        fourth += precision**4 * many * 12 * histogram.scale**4
        weight += precision
    if not weight.all():
        return None
    return Estimate.within(value / weight, half_width(1 / weight, fourth / weight**4))


def hour_of_bins(bins: TimeBins) -> NDArray[np.int64] | None:
    """The hour of the day of each time bin; None where a bin is longer than an hour."""
    if np.any((bins.end - 1) // HOUR != bins.start // HOUR):
        return None
    return np.asarray(bins.start % DAY // HOUR, np.int64)
