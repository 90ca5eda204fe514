"""Quantiles of private whole numbers (lengths of trips, trips per rider) over a public range.

A quantile is chosen by `permute_and_flip` among all numbers of the range. Let n values be given and q = a/b.
A number x is a q-quantile if fewer than or exactly q n values lie below it and at least q n values do not lie
above it. Its utility is minus the number of values by which it fails that, times b to stay whole:

    u(x) = -max(0,  b #{v < x} - a n,  a n - b #{v <= x})

Where no value equals x this is the usual -b |#{v <= x} - q n|; where many do, that usual form would punish x
for the values that tie with it and prefer an empty number below. One value more or less adds b - a, -a, or 0
to each term, so it moves u(x) by at most max(a, b - a).
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError, plain
from wayveil.privacy.contributions import Contribution

# Utilities then fit 64 bits for any data that fits a disk.
MAX_DENOMINATOR = 1_000_000
MAX_CANDIDATES = 10_000_000


def quantile_utilities(
    values: NDArray[np.integer],
    q: Fraction,
    low: int,
    high: int,
    times: NDArray[np.integer] | None = None,
) -> NDArray[np.int64]:
    """u(x) for x = low .. high. Values outside the range count as its nearest end, a rule per value.

    With `times`, the i-th value stands for so many of them.
    """
    a, b = _ratio(q)
    if not 1 <= high - low + 1 <= MAX_CANDIDATES:
        raise ParameterError(
            f"a quantile needs a public range of 1 to {MAX_CANDIDATES:,} whole numbers, not {low}..{high}"
        )
    clipped = np.clip(np.asarray(values, np.int64), low, high) - low
    # Weighted sums are floats, exact below 2^53.
    at = np.bincount(clipped, times, high - low + 1).astype(np.int64)
    up_to = np.cumsum(at)
    wanted = a * int(at.sum())
    too_high, too_low = b * (up_to - at) - wanted, wanted - b * up_to
    missed: NDArray[np.int64] = np.maximum(0, np.maximum(too_high, too_low))
    return -missed


def utility_contribution(values: Contribution, q: Fraction) -> Contribution:
    """Return how far a trip moves the utilities, from how far it moves the histogram of the values."""
    a, b = _ratio(q)
    step = max(a, b - a)
    per_trip = None if values.per_trip is None else step * values.per_trip
    return Contribution(
        per_trip=per_trip,
        per_visit=None if values.per_visit is None else step * values.per_visit,
        per_cell=per_trip or 0,
    )


def _ratio(q: Fraction) -> tuple[int, int]:
    if not 0 < q < 1 or q.denominator > MAX_DENOMINATOR:
        raise ParameterError(
            f"q must lie between 0 and 1, as a fraction of at most {MAX_DENOMINATOR:,} parts, not {plain(q)}"
        )
    return q.numerator, q.denominator
