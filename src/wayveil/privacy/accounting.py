"""Cost of trainings: the privacy loss distribution of Poisson-sampled Gaussian steps, by dp-accounting.

A step draws every unit with probability q, sums clipped gradients of L2 norm at most C, and adds a Gaussian of
standard deviation sigma C (rounded, which costs nothing: see `rounded`). The loss of all steps of all trainings is
composed; losses are rounded up, so epsilon is never too small. Nothing here looks at data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

from wayveil.errors import ParameterError, plain

# Grid of the privacy loss: losses round up to it.
GRID = 1e-3
# Sigmas are whole multiples of this, rounded up.
SIGMA_STEP = Fraction(1, 1024)
LARGEST_SIGMA = 512
LEAST_SIGMA = Fraction(3, 8)


@dataclass(frozen=True)
class SampledSteps:
    """So many steps, each of which draws every unit with this probability."""

    probability: Fraction
    steps: int

    def __post_init__(self) -> None:
        if not 0 < self.probability <= 1 or self.steps < 1:
            raise ParameterError(
                "a training draws units with a probability of at most 1, in at least one step"
            )


def require_accounting() -> None:
    """Say what to install, before anything is read or spent."""
    try:
        import dp_accounting.pld  # noqa: F401
    except ImportError as error:
        raise ParameterError(
            "trained mechanisms need dp-accounting to know what training costs: pip install 'wayveil[accounting]'. "
            "Nothing was spent; od-hops and weave work without it"
        ) from error


def training_epsilon(trainings: Sequence[SampledSteps], sigma: Fraction, delta: Fraction) -> float:
    """The smallest epsilon of all steps together at this delta, rounded up."""
    require_accounting()
    import dp_accounting
    from dp_accounting import pld

    accountant: Any = pld.PLDAccountant(
        dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=GRID
    )
    for training in trainings:
        step = dp_accounting.GaussianDpEvent(float(sigma))
        sampled = dp_accounting.PoissonSampledDpEvent(float(training.probability), step)
        accountant.compose(sampled, training.steps)
    return float(accountant.get_epsilon(float(delta)))


def sigma_for(trainings: Sequence[SampledSteps], epsilon: Fraction, delta: Fraction) -> Fraction:
    """See `_sigma_for`, which remembers what it found: audits ask the same again and again."""
    require_accounting()
    return _sigma_for(tuple(trainings), epsilon, delta)


@lru_cache(maxsize=256)
def _sigma_for(trainings: tuple[SampledSteps, ...], epsilon: Fraction, delta: Fraction) -> Fraction:
    """The smallest noise, in multiples of the clip, whose steps together cost at most epsilon at this delta."""
    if delta <= 0 or delta >= 1:
        raise ParameterError(
            f"trained mechanisms need a delta above 0 and far below 1 over the number of trips, not {plain(delta)}: "
            f"give one such as 1e-6"
        )

    def fits(steps: int) -> bool:
        return training_epsilon(trainings, steps * SIGMA_STEP, delta) <= float(epsilon)

    # Doubling, then halving the interval: what is tried last is what is used.
    high = ceil(LEAST_SIGMA / SIGMA_STEP)
    while not fits(high):
        high *= 2
        if high * SIGMA_STEP > LARGEST_SIGMA:
            raise ParameterError(
                f"no noise up to {LARGEST_SIGMA} clips makes these steps cost epsilon {float(epsilon):g} at delta "
                f"{float(delta):g}; use fewer steps or a larger epsilon"
            )
    low = high // 2 if high > ceil(LEAST_SIGMA / SIGMA_STEP) else high - 1
    while high - low > max(high // 64, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high * SIGMA_STEP
