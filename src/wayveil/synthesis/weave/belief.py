"""What noisy counts are worth: means given the noise and what all counts together say about how counts differ.

Counts of one stratum are thought to come from a mixture of exponential laws whose weights are learnt from the noisy
counts themselves (empirical Bayes, by expectation maximisation); for Laplace noise all integrals are closed. A count
that stands out among its likes is believed; one that noise would often make is worth what its likes are on average.
"""

import numpy as np
from numpy.typing import NDArray

from wayveil.synthesis.projection import onto_total

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Cells from which the weights of a stratum are learnt, at least, and strata at most.
LIKES, STRATA = 60, 24
# Chance of nothing from which a count is taken for nothing: to send people where nobody goes is worse than to send one
# more to a busy place, so it is below a half.
DOUBT = 0.35
# How many times too often counts that are certain may stand for those that are not.
TOO_OFTEN = 2.0
# A law whose mean is below this many noise scales says that there is nothing.
NOTHING = 0.6
_BINS, _ROUNDS = 500, 60


def strata(expected: Floats) -> Ints:
    """Cells with about the same expectation."""
    groups = int(np.clip(len(expected) // LIKES, 1, STRATA))
    cuts = np.quantile(expected, np.arange(1, groups) / groups, method="lower")
    # Cells of which nothing is expected are all alike.
    return np.searchsorted(np.unique(cuts), expected, side="left")


def believed(noisy: Floats, scale: float, stratum: Ints | None = None) -> Floats:
    """The mean of each count given its noisy value; `scale` is that of the noise (Laplace)."""
    return judged(noisy, scale, stratum)[0]


def judged(noisy: Floats, scale: float, stratum: Ints | None) -> tuple[Floats, Floats]:
    """The mean of each count, and the chance that there is nothing, given the noisy value."""
    mean, nothing = np.maximum(noisy, 0.0), (noisy <= 0).astype(np.float64)
    if scale <= 0 or len(noisy) == 0:
        return mean, nothing
    stratum = np.zeros(len(noisy), np.int64) if stratum is None else stratum
    for group in range(int(stratum.max()) + 1):
        here = np.flatnonzero(stratum == group)
        if len(here):
            found, nothing[here] = _given(noisy[here] / scale)
            mean[here] = found * scale
    return mean, nothing


def surely(noisy: Floats, scale: float, total: float, stratum: Ints | None = None) -> Floats:
    """Counts that add up to a total: only those that are likely something and not nothing, scaled.

    Where the signal is weak it is better to have the few places that are certain too often than to send people to the
    many that noise suggests. What is then still missing goes to the largest of the others.
    """
    mean, nothing = judged(noisy, scale, stratum)
    found = np.where(nothing < DOUBT, mean, 0.0)
    others = np.flatnonzero(found <= 0)
    found *= min(TOO_OFTEN if len(others) else np.inf, total / max(float(found.sum()), 1e-300))
    found[others] = onto_total(noisy[others], total - float(found.sum()))
    return found


def _given(value: Floats) -> tuple[Floats, Floats]:
    """For noise of scale one: bins that are wide where values are large, weights of the laws, means per bin."""
    place = np.arcsinh(value)
    low, high = float(place.min()), float(place.max()) + 1e-9
    edges = np.linspace(low, high, _BINS + 1)
    count = np.histogram(place, edges)[0].astype(np.float64)
    centre = np.sinh((edges[1:] + edges[:-1]) / 2)
    # Means of the exponential laws, from far below the noise to the largest value; none equals the noise's scale.
    rates = 1 / np.append(1.1 * 2.0 ** np.arange(-3, max(np.log2(max(value.max(), 1.0)), 1.0) + 1), 1e-6)
    likely, moment = _laws(centre[:, None], rates[None, :])
    # The last law says that there is nothing; in large tables that is nearly always true.
    weight = np.full(len(rates), 1 / len(value))
    weight[-1] = 1.0
    weight /= weight.sum()
    used = count > 0
    for _ in range(_ROUNDS):
        joint = likely[used] * weight
        joint *= (count[used] / np.maximum(joint.sum(axis=1), 1e-300))[:, None]
        weight = joint.sum(axis=0) / count.sum()
    density = np.maximum(likely @ weight, 1e-300)
    mean, nothing = (
        (moment @ weight) / density,
        (likely * weight)[:, rates * NOTHING > 1].sum(axis=1) / density,
    )
    # What is taken off changes slowly, also between bins that are wide.
    off = np.interp(value, centre, mean - centre)
    return np.maximum(value + off, 0.0), np.interp(value, centre, nothing)


def _laws(value: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """Density of (exponential count + noise) at a value, and that times the mean of the count given the value.

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
