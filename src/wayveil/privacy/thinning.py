"""Stronger protection for some rows: what a unit did there is counted with a small chance, or not at all.

Guarantee
    Let a mechanism be epsilon-differentially private for a unit. If what a unit did at listed places is kept, all of it
    or nothing, with probability p = (e^s - 1) / (e^d - 1), then two datasets that differ in what one unit did at these
    places are at most s apart, where d is how far the mechanism lets them be: epsilon for the unit `event` (one tap
    comes or goes), and 2 epsilon for units of riders (the rider is in both, with other rows: one goes, one comes).
    Reason: with probability 1 - p both datasets are the same after thinning, and otherwise they are at most d apart. So
    the ratio of an outcome's chances is at most 1 + p (e^d - 1) = e^s, and at least 1 - p (1 - e^-d) >= e^-s.
    For everything else a unit did, epsilon holds as before: thinning is a rule per unit, with coins of its own.
    Attacked by tests/privacy/test_thinning.py, on a variant without thinning too.

This is the sampling mechanism of personalised differential privacy (Jorgensen, Yu and Cormode 2015), for places.
"""

from math import expm1, nextafter

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits, secure_bits

# The chance is rounded down by more than floating point can be off.
SLACK = 1 - 1e-12


def keep_chance(stronger: float, distance: float) -> float:
    """p for a loss of `stronger`, where the mechanism allows `distance`."""
    if not 0 < stronger < distance:
        raise ParameterError(
            f"a stronger epsilon lies above 0 and below what the release allows ({distance:g}), not at {stronger:g}"
        )
    return nextafter(expm1(stronger) / expm1(distance) * SLACK, 0.0)


def thin(units: Ints, chance: float, bits: Bits | None = None) -> NDArray[np.bool_]:
    """Which rows stay: one coin for every unit; rows of unit -1 have a coin each."""
    limit = np.uint64(int(chance * (1 << 64)))
    source = bits or secure_bits()
    _, which = np.unique(np.where(units < 0, -1 - np.arange(len(units)), units), return_inverse=True)
    words = source.words(int(which.max(initial=-1)) + 1)
    return np.asarray(words < limit)[which]
