"""Private choices: uniform whole numbers, one candidate by its score, a quantile over a public range.

Which trips of a rider are counted is part of the mechanism, so it uses the same secure bits as the noise.

Permute-and-flip visits the candidates in random order and takes the first whose coin of probability
exp(-epsilon (best - score) / (2 sensitivity)) shows heads. It is epsilon-differentially private if one unit
moves no score by more than the sensitivity, and its expected score is never below that of the exponential
mechanism (McKenna and Sheldon, 2020).

The coins do not depend on the order, so the first accepted candidate of a random order is a uniform choice
among all accepted ones: flip every coin, then choose. The best candidate's coin always shows heads, so there
is one to choose.

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
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.laws import Exp
from wayveil.privacy.noise import bernoulli


def uniform_integers(size: int, bound: int, bits: Bits | None = None) -> NDArray[np.int64]:
    """Independent uniform integers in [0, bound): words modulo bound, the last incomplete round rejected."""
    if not 1 <= bound <= 1 << 63:
        raise ParameterError(f"A bound lies between 1 and 2^63, not at {bound}.")
    source = bits or secure_bits()
    last = np.uint64((1 << 64) - (1 << 64) % bound - 1)
    words = source.words(size)
    while (rejected := np.flatnonzero(words > last)).size:
        words[rejected] = source.words(len(rejected))
    return (words % np.uint64(bound)).astype(np.int64)


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


def permute_and_flip(
    utilities: NDArray[np.integer], price: Fraction, sensitivity: int, bits: Bits | None = None
) -> int:
    """The index of a candidate with a high utility, exactly by the law above.

    utilities    integer scores of the public candidates
    price        epsilon that the choice costs
    sensitivity  how far one unit can move any one utility, up or down
    """
    scores = np.asarray(utilities)
    if scores.ndim != 1 or len(scores) == 0 or not np.can_cast(scores.dtype, np.int64):
        raise ParameterError("a selection needs a list of at least one integer utility")
    if price <= 0 or sensitivity < 1:
        raise ParameterError(
            f"a selection needs a price above 0 and a sensitivity from 1 on, not {price} and {sensitivity}"
        )
    scores = scores.astype(np.int64)
    # Wrapped to 64 bits without a sign, the difference is right even when it does not fit 63.
    gaps = (scores.max() - scores).view(np.uint64)
    accepted = np.flatnonzero(_accept(gaps, price / (2 * sensitivity), bits))
    return int(accepted[uniform_integers(1, len(accepted), bits)[0]])


def _accept(gaps: NDArray[np.uint64], rate: Fraction, bits: Bits | None) -> NDArray[np.bool_]:
    """True with probability exp(-rate gap): a coin of exp(-rate 2^j) for each binary digit 2^j of the gap."""
    accepted = np.ones(len(gaps), bool)
    # From the highest digit down, because its coin leaves the fewest to ask.
    for j in reversed(range(int(gaps.max()).bit_length())):
        asked = np.flatnonzero(accepted & ((gaps >> np.uint64(j)) & np.uint64(1) == 1))
        accepted[asked] = bernoulli(len(asked), Exp(rate * (1 << j)), bits)
    return accepted
