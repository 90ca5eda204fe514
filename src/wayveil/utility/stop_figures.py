"""Figures about how busy stops are and how long trips are."""

import numpy as np
import scipy

from wayveil.arrays import AnyInts, Floats, Ints
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import Counts, relative_errors, sanity_bound
from wayveil.utility.figures import Figures, Measure
from wayveil.world.timebins import TimeBins

DEFAULT_TOP = 20


def stop_counts(trips: Trips) -> Ints:
    """Visits of every stop of the world."""
    return np.bincount(trips.location, minlength=trips.world.size).astype(np.int64)


def origin_counts(trips: Trips) -> Ints:
    """Trips that begin at every stop of the world."""
    first = trips.origins()
    return np.bincount(first[first >= 0], minlength=trips.world.size).astype(np.int64)


def busiest(counts: Counts, top: int) -> Ints:
    """Positions of the `top` largest counts, largest first; ties go to the lower position on every side, and
    a count of zero is never among the busiest, so that there may be fewer.
    """
    order = np.argsort(-counts, kind="stable")[:top]
    return order[counts[order] > 0]


def kendall_tau_b(left: AnyInts, right: AnyInts) -> float:
    """Rank agreement in -1..1, corrected for ties (tau-b); not a number when one side is all ties."""
    return float(scipy.stats.kendalltau(left, right, variant="b").statistic)


def hit_rate(true: AnyInts, private: AnyInts, top: int) -> float:
    """Share of the truly busiest `top` that a release also puts among its busiest `top`."""
    wanted = busiest(true, top)
    return len(np.intersect1d(wanted, busiest(private, top))) / len(wanted)


def ndcg_loss(true: AnyInts, private: AnyInts, top: int) -> float:
    """1 - NDCG@k: how much of the discounted gain is lost by following the private ranking. 0 is a ranking that
    is as good as the true one; the gain of a stop is its true count, at rank i divided by log2(i + 1).
    """

    def gain(order: Ints) -> float:
        return float(np.sum(true[order] / np.log2(np.arange(2, len(order) + 2))))

    return 1 - gain(busiest(private, top)) / gain(busiest(true, top))


class StopFigures(Figures):
    """Mean relative error of visits per stop, agreement of the ranking, and the busiest stops."""

    title = "Stops"

    def __init__(self, raw: Trips, *, top: int = DEFAULT_TOP) -> None:
        super().__init__(raw)
        self.counts, self.top = stop_counts(raw), top

    def _measured(self, private: Trips) -> list[Measure]:
        counts = stop_counts(private)
        error = float(relative_errors(self.counts, counts, sanity_bound(self.raw)).mean())
        return [
            Measure("stop_error", "relative error of visits per stop", error),
            Measure(
                "stop_tau_b", "Kendall tau-b of the ranking", kendall_tau_b(self.counts, counts), "higher"
            ),
            Measure(
                f"stop_top_{self.top}",
                f"share of the {self.top} stops with the most visits found",
                hit_rate(self.counts, counts, self.top),
                "higher",
            ),
            Measure(
                f"stop_ndcg_loss_{self.top}",
                f"1 - NDCG of the {self.top} stops with the most visits",
                ndcg_loss(self.counts, counts, self.top),
            ),
        ]


def length_histogram(trips: Trips) -> Ints:
    """Number of trips with 0, 1, 2, ... stops."""
    return np.bincount(trips.lengths, minlength=1).astype(np.int64)


def jensen_shannon(left: AnyInts, right: AnyInts) -> float:
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


def _bits_from(p: Floats, middle: Floats) -> float:
    some = p > 0
    return float(np.sum(p[some] * np.log2(p[some] / middle[some])))


class LengthDivergence(Figures):
    """Jensen-Shannon divergence (base 2) of stops per trip."""

    title = "Trip lengths"

    def __init__(self, raw: Trips) -> None:
        super().__init__(raw)
        self.histogram = length_histogram(raw)

    def _measured(self, private: Trips) -> list[Measure]:
        # An empty release has no trip at all, which is not "trips of length 0".
        histogram = length_histogram(private) if len(private) else np.zeros(1, np.int64)
        value = jensen_shannon(self.histogram, histogram)
        return [Measure("trip_length_jsd", "Jensen-Shannon divergence of stops per trip (bits)", value)]


class LengthsByHour(Figures):
    """Divergence of lengths for the trips of each hour of the day, as a mean weighted by the raw trips.

    An hour in which a release has no trip shares nothing with the raw one. A release that says nothing about
    time has no figure.
    """

    title = "Trip lengths by hour"

    def __init__(self, raw: Trips) -> None:
        super().__init__(raw)
        if raw.time is None:
            raise ParameterError("lengths by hour need trips with times")
        self.table = lengths_by_hour(raw)

    def _measured(self, private: Trips) -> list[Measure]:
        label = "Jensen-Shannon divergence of stops per trip, by hour (bits)"
        if private.time is None and private.visits:
            return [Measure("trip_length_jsd_by_hour", label, float("nan"))]
        other = lengths_by_hour(private)
        weights = self.table.sum(axis=1)
        values = [jensen_shannon(own, seen) for own, seen in zip(self.table, other, strict=True)]
        return [Measure("trip_length_jsd_by_hour", label, float(np.average(values, weights=weights)))]


def lengths_by_hour(trips: Trips) -> Ints:
    """Trips by the hour of the day of their first visit (rows) and their number of stops (columns)."""
    lengths = trips.lengths
    filled = lengths > 0
    width = int(lengths.max(initial=0)) + 1
    if trips.time is None or not filled.any():
        return np.zeros((24, width), np.int64)
    hour = TimeBins.hour_of_day().bin_of(trips.time[trips.offsets[:-1][filled]]).astype(np.int64)
    return np.bincount(hour * width + lengths[filled], minlength=24 * width).reshape(24, width)
