"""Cost of several releases of the same data together.

The plain sum needs no assumption: it bounds every sequence of releases, even when each price was chosen after
looking at the releases before. With a delta there are tighter figures, by privacy loss distribution (PLD)
and, for runs accounted in zCDP, by Renyi divergences. Those hold when no price was chosen from earlier
outputs. They are reported beside the sum; the ledger itself only ever refuses by the sum.

Every figure is rounded so that it can only be too large.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log1p, nextafter
from typing import Any

from wayveil.errors import ParameterError, WayveilError, plain
from wayveil.privacy.budget import Rational, exact

ZERO = Fraction(0)
# Grid of the privacy loss. Losses round up to it, so a coarser grid is safe, only less sharp.
FINEST_GRID = 1e-4
MOST_BINS = 500_000
LARGEST_EPSILON = 500
# The convolutions are in floating point: masses are off by some 1e-16, which must not eat into the promise.
FLOAT_GUARD = 1e-13


@dataclass(frozen=True)
class Cost:
    """One release: (epsilon, delta)-DP, and rho-zCDP as well when `rho` is given."""

    epsilon: Fraction
    delta: Fraction = ZERO
    rho: Fraction | None = None


@dataclass(frozen=True)
class Composition:
    """All releases together: (sum_epsilon, sum_delta)-DP always, and (epsilon, delta)-DP by `method`."""

    releases: int
    sum_epsilon: Fraction
    sum_delta: Fraction
    epsilon: float
    delta: Fraction
    method: str


def compose(costs: Sequence[Cost], delta: Rational) -> Composition:
    """The smallest epsilon that we can prove for all releases together at this delta (0 < delta < 1)."""
    target = exact(delta, "delta")
    if target >= 1:
        raise ParameterError("a delta of 1 or more promises nothing; use a small one such as 1e-6")
    sum_epsilon = sum((cost.epsilon for cost in costs), ZERO)
    sum_delta = sum((cost.delta for cost in costs), ZERO)
    figures = {"plain sum": _above(sum_epsilon) if sum_delta <= target else inf}
    if costs:
        figures["privacy loss distribution"] = _by_loss_distribution(costs, _below(target) - FLOAT_GUARD)
    if any(cost.rho is not None for cost in costs):
        figures["zero-concentrated"] = _by_renyi_divergence(costs, target)
    method = min(figures, key=figures.__getitem__)
    if figures[method] == inf:
        raise WayveilError(
            f"no epsilon holds at delta {plain(target)}: the releases have spent delta {plain(sum_delta)} "
            "together; ask for a larger delta"
        )
    return Composition(len(costs), sum_epsilon, sum_delta, figures[method], target, method)


def _by_loss_distribution(costs: Sequence[Cost], delta: float) -> float:
    """Each release as the worst (epsilon, delta)-DP mechanism there is, losses convolved."""
    if delta <= 0 or max(cost.epsilon for cost in costs) > LARGEST_EPSILON:
        return inf
    accounting = _accounting()
    distributions = accounting.pld.privacy_loss_distribution
    grid = max(FINEST_GRID, float(sum(cost.epsilon for cost in costs)) / MOST_BINS)
    together = distributions.identity(value_discretization_interval=grid)
    for (epsilon, release_delta), times in Counter((cost.epsilon, cost.delta) for cost in costs).items():
        worst = accounting.pld.common.DifferentialPrivacyParameters(_above(epsilon), _above(release_delta))
        single = distributions.from_privacy_parameters(worst, value_discretization_interval=grid)
        together = together.compose(single.self_compose(times) if times > 1 else single)
    return float(together.get_epsilon_for_delta(delta))


def _by_renyi_divergence(costs: Sequence[Cost], delta: Fraction) -> float:
    """Renyi divergences added order by order; the delta of a release without rho is its chance to fail."""
    left = delta - sum((cost.delta for cost in costs if cost.rho is None), ZERO)
    if left <= 0:
        return inf
    rdp = _accounting().rdp.rdp_privacy_accountant
    orders = rdp.DEFAULT_RDP_ORDERS
    divergences = [sum(_divergence(cost, order) for cost in costs) for order in orders]
    return nextafter(float(rdp.compute_epsilon(orders, divergences, _below(left))[0]), inf)


def _divergence(cost: Cost, order: float) -> float:
    """rho times the order; for pure epsilon that of randomised response, which is the worst case."""
    if cost.rho is not None:
        return _above(cost.rho) * order
    epsilon = _above(cost.epsilon)
    # log(p^a q^(1-a) + q^a p^(1-a)) with p = e^eps / (1 + e^eps) and q = 1 - p, over (a - 1)
    moments = epsilon * (order - 1) + log1p(exp(-epsilon * (2 * order - 1))) - log1p(exp(-epsilon))
    return max(moments, 0.0) / (order - 1)


def _accounting() -> Any:
    try:
        import dp_accounting.pld.common
        import dp_accounting.pld.privacy_loss_distribution
        import dp_accounting.rdp
    except ImportError as error:
        raise WayveilError(
            "adding up releases at a delta needs dp-accounting: "
            "install it with `pip install 'wayveil[accounting]'`"
        ) from error
    return dp_accounting


def _above(value: Fraction) -> float:
    """The float at or above an exact number."""
    near = float(value)
    return near if Fraction(near) >= value else nextafter(near, inf)


def _below(value: Fraction) -> float:
    """The float at or below an exact number."""
    near = float(value)
    return near if Fraction(near) <= value else nextafter(near, -inf)
