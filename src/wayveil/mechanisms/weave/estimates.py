"""Estimates of noisy cells: how far noise reaches, and counts shrunk towards what the others let expect."""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.synthesis.following import Known
from wayveil.synthesis.projection import onto_total


@dataclass(frozen=True, eq=False)
class CellEstimates:
    """One value per cell of a block, in trips, all with this standard deviation.

    each   that of every cell, where earlier releases tell more of some cells than of others; `deviation` is then the
           root of the mean square
    """

    value: Floats
    deviation: float
    each: Floats | None = None

    @classmethod
    def of_known(cls, known: Known) -> "CellEstimates":
        """Return cells whose variances differ."""
        return cls(known.value, float(np.sqrt(known.variance.mean())), np.sqrt(known.variance))

    @property
    def variance(self) -> Floats:
        """Of every cell."""
        return np.full(len(self.value), self.deviation**2) if self.each is None else self.each**2

    @property
    def scale(self) -> float:
        """The scale of Laplace noise with this deviation."""
        return self.deviation / sqrt(2)

    def reach(self) -> Floats:
        """Return what noise alone exceeds in every second block: the more cells, the farther its largest value."""
        return np.sqrt(self.variance / 2) * max(log(len(self.value)), 1.0)


def group_alike(expected: Floats, alike: int) -> Ints:
    """Return a group for each cell: cells of a group have about the same expectation, and are at least `alike`."""
    groups = int(np.clip(len(expected) // alike, 1, 24))
    cuts = np.quantile(expected, np.arange(1, groups) / groups, method="lower")
    # Cells of which nothing is expected are all alike.
    return np.searchsorted(np.unique(cuts), expected, side="left")


def judge_counts(noisy: Floats, scale: float, group: Ints | None = None) -> tuple[Floats, Floats]:
    """Return the mean of each count given its noisy value, and the probability that nothing is there.

    `scale` is that of the noise (Laplace).
    """
    mean, nothing = np.maximum(noisy, 0.0), (noisy <= 0).astype(np.float64)
    if scale <= 0 or len(noisy) == 0:
        return mean, nothing
    group = np.zeros(len(noisy), np.int64) if group is None else group
    for number in range(int(group.max()) + 1):
        here = np.flatnonzero(group == number)
        if len(here):
            found, nothing[here] = _judge_group(noisy[here] / scale)
            mean[here] = found * scale
    return mean, nothing


def keep_likely_counts(
    noisy: Floats, scale: float, total: float, doubtful: float, group: Ints | None = None
) -> Floats:
    """Return counts that add up to a total: only those that are likely something and not nothing, scaled.

    Where the signal is weak it is better to have the few places that are certain too often, up to twice, than to send
    people to the many that noise suggests. What is then still missing goes to the largest of the others.
    """
    mean, nothing = judge_counts(noisy, scale, group)
    found = np.where(nothing < doubtful, mean, 0.0)
    others = np.flatnonzero(found <= 0)
    found *= min(2.0 if len(others) else np.inf, total / max(float(found.sum()), 1e-300))
    found[others] = onto_total(noisy[others], total - float(found.sum()))
    return found


def _judge_group(value: Floats) -> tuple[Floats, Floats]:
    """Return means, and probabilities of nothing, for noise of scale one (a mixture of exponential laws is learnt).

    Values are put into bins that are wide where values are large; the bins give the weights of the laws, and those the
    mean of each bin.
    """
    place = np.arcsinh(value)
    edges = np.linspace(float(place.min()), float(place.max()) + 1e-9, 501)
    count = np.histogram(place, edges)[0].astype(np.float64)
    centre = np.sinh((edges[1:] + edges[:-1]) / 2)
    # Means of the exponential laws, from far below the noise to the largest value; none equals the noise's scale.
    powers = np.arange(-3, max(np.log2(max(value.max(), 1.0)), 1.0) + 1)
    rates = 1 / np.append(2.0 ** (powers + 1 / 8), 1e-6)
    likely, moment = _compare_laws(centre[:, None], rates[None, :])
    # The last law says that there is nothing; in large tables that is nearly always true.
    weight = np.full(len(rates), 1 / len(value))
    weight[-1] = 1.0
    weight /= weight.sum()
    used = count > 0
    for _ in range(60):
        joint = likely[used] * weight
        joint *= (count[used] / np.maximum(joint.sum(axis=1), 1e-300))[:, None]
        weight = joint.sum(axis=0) / count.sum()
    density = np.maximum(likely @ weight, 1e-300)
    mean = (moment @ weight) / density
    # A law whose mean is below the noise's scale says that nothing is there.
    nothing = (likely * weight)[:, rates > 1].sum(axis=1) / density
    # What is taken off changes slowly, also between bins that are wide.
    off = np.interp(value, centre, mean - centre)
    return np.maximum(value + off, 0.0), np.interp(value, centre, nothing)


def _compare_laws(value: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """Return the density of (exponential count + noise) at a value, and that times the mean of the count given it.

    Below zero both without the factor exp(value) / 2, above without 1 / 2: what matters is how laws compare.
    """
    up = np.maximum(value, 0.0)
    apart, both = rate - 1, rate + 1
    noise, tail = np.exp(-up), np.exp(-rate * up)
    inside = (noise - tail) / apart
    outside = tail / both
    inside_mean = (noise - tail * (1 + apart * up)) / apart**2
    outside_mean = tail * (up / both + 1 / both**2)
    return rate * (inside + outside), rate * (inside_mean + outside_mean)
