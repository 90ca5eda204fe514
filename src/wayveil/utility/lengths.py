"""How long are the trips? Stops per trip as a histogram, and how far two such histograms are apart."""

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.utility.question import Measure, Question, check_comparable, check_not_empty


def length_histogram(trips: Trips) -> NDArray[np.int64]:
    """Number of trips with 0, 1, 2, ... stops."""
    return np.bincount(trips.lengths, minlength=1).astype(np.int64)


def jensen_shannon(left: NDArray[np.integer], right: NDArray[np.integer]) -> float:
    """Jensen-Shannon divergence in bits (logarithms to base 2, no square root) of two histograms: 0 when they
    have the same shape, 1 when they share nothing. Missing cells at the end count as 0; a histogram without
    any mass shares nothing with another one.
    """
    size = max(len(left), len(right))
    p, q = (np.pad(np.asarray(side, np.float64), (0, size - len(side))) for side in (left, right))
    if p.sum() == 0 or q.sum() == 0:
        return 0.0 if p.sum() == q.sum() else 1.0
    p, q = p / p.sum(), q / q.sum()
    middle = (p + q) / 2
    return float(np.clip((_bits_from(p, middle) + _bits_from(q, middle)) / 2, 0.0, 1.0))


def _bits_from(p: NDArray[np.float64], middle: NDArray[np.float64]) -> float:
    some = p > 0
    return float(np.sum(p[some] * np.log2(p[some] / middle[some])))


class LengthDivergence(Question):
    """Jensen-Shannon divergence (base 2) of stops per trip."""

    title = "Trip lengths"

    def __init__(self, raw: Trips) -> None:
        check_not_empty(raw)
        self.raw, self.histogram = raw, length_histogram(raw)

    def measure(self, private: Trips) -> list[Measure]:
        check_comparable(self.raw, private)
        # An empty release has no trip at all, which is not "trips of length 0".
        histogram = length_histogram(private) if len(private) else np.zeros(1, np.int64)
        value = jensen_shannon(self.histogram, histogram)
        return [Measure("trip_length_jsd", "Jensen-Shannon divergence of stops per trip (bits)", value)]
