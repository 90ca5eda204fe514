"""Private choice of one candidate by its score: the exponential mechanism's better half, permute-and-flip.

Permute-and-flip visits the candidates in random order and takes the first whose coin of probability
exp(-epsilon (best - score) / (2 sensitivity)) shows heads. It is epsilon-differentially private if one unit
moves no score by more than the sensitivity, and its expected score is never below that of the exponential
mechanism (McKenna and Sheldon, 2020).

The coins do not depend on the order, so the first accepted candidate of a random order is a uniform choice
among all accepted ones: flip every coin, then choose. The best candidate's coin always shows heads, so there
is one to choose.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits
from wayveil.privacy.laws import Exp
from wayveil.privacy.noise import bernoulli
from wayveil.privacy.sampling import uniform_integers


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
