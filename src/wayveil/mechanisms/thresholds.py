"""The count that noise alone seldom reaches: what separates cells that somebody visited from cells that nobody did."""

from fractions import Fraction
from math import ceil, log


def noise_aware_threshold(cells: float, false: float, scale: Fraction, *, least: int = 1) -> int:
    """The smallest whole number that about `false` of so many empty cells reach, but no less than `least`.

    Noise lifts an empty cell to t with probability about exp(-t / scale) / 2. All of this is public.
    """
    return max(least, ceil(float(scale) * log(max(cells / (2 * false), 1.0))))
