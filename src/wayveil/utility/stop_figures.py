"""How busy are the stops? Visits per stop, their ranking, and how well a release keeps both."""

import numpy as np
import scipy
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import Counts, relative_errors, sanity_bound
from wayveil.utility.figures import Figures, Measure, check_comparable, check_not_empty

DEFAULT_TOP = 20


def stop_counts(trips: Trips) -> NDArray[np.int64]:
    """Visits of every stop of the world."""
    return np.bincount(trips.location, minlength=trips.world.size).astype(np.int64)


def origin_counts(trips: Trips) -> NDArray[np.int64]:
    """Trips that begin at every stop of the world."""
    first = trips.origins()
    return np.bincount(first[first >= 0], minlength=trips.world.size).astype(np.int64)


def busiest(counts: Counts, top: int) -> NDArray[np.int64]:
    """Positions of the `top` largest counts, largest first; ties go to the lower position on every side, and
    a count of zero is never among the busiest, so that there may be fewer.
    """
    order = np.argsort(-counts, kind="stable")[:top]
    return order[counts[order] > 0]


def kendall_tau_b(left: NDArray[np.integer], right: NDArray[np.integer]) -> float:
    """Rank agreement in -1..1, corrected for ties (tau-b); not a number when one side is all ties."""
    return float(scipy.stats.kendalltau(left, right, variant="b").statistic)


def hit_rate(true: NDArray[np.integer], private: NDArray[np.integer], top: int) -> float:
    """Share of the truly busiest `top` that a release also puts among its busiest `top`."""
    wanted = busiest(true, top)
    return len(np.intersect1d(wanted, busiest(private, top))) / len(wanted)


def ndcg_loss(true: NDArray[np.integer], private: NDArray[np.integer], top: int) -> float:
    """1 - NDCG@k: how much of the discounted gain is lost by following the private ranking. 0 is a ranking that
    is as good as the true one; the gain of a stop is its true count, at rank i divided by log2(i + 1).
    """

    def gain(order: NDArray[np.int64]) -> float:
        return float(np.sum(true[order] / np.log2(np.arange(2, len(order) + 2))))

    return 1 - gain(busiest(private, top)) / gain(busiest(true, top))


class StopFigures(Figures):
    """Mean relative error of visits per stop, agreement of the ranking, and the busiest stops."""

    title = "Stops"

    def __init__(self, raw: Trips, *, top: int = DEFAULT_TOP) -> None:
        check_not_empty(raw)
        self.raw, self.counts, self.top = raw, stop_counts(raw), top

    def measure(self, private: Trips) -> list[Measure]:
        check_comparable(self.raw, private)
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
