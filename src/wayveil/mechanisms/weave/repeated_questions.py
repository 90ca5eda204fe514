"""What Weave asks when it follows earlier releases: the same cells again, so that answers add up over the weeks.

Everything here is a function of earlier releases, which are public. The partition of origin-destination pairs is taken
over and not bought again; its price goes to the other questions. Looking more finely, as answers that add up would
allow, was tried on simulated cities and brought nothing.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from wayveil.arrays import Ints
from wayveil.errors import ParameterError
from wayveil.mechanisms.weave.measurements import Measurements, NoisyBlock
from wayveil.synthesis.model import Model
from wayveil.world.walk_blocks import Resolution
from wayveil.world.world import World


def require_same_looks(
    earlier: Sequence[Model], world: World, *, times: int, gaussian: bool
) -> list[Measurements]:
    """The earlier measurements; refuses those whose cells cannot be those of this release."""
    found = [each for each in earlier if isinstance(each, Measurements)]
    for each in found:
        if each.world.fingerprint() != world.fingerprint():
            raise ParameterError(
                "a prior was woven over another world; its zones and edges are not those of this release. Only counts "
                "of taps can follow releases over another version of a feed. Nothing was spent"
            )
        if each.resolution.times != times:
            raise ParameterError(
                f"a prior has {each.resolution.times} time bins, and this release {times}: they cannot be compared. "
                f"Nothing was spent"
            )
        if each.gaussian != gaussian:
            raise ParameterError(
                "a prior was paid for in another currency (epsilon, rho), in which trips are spread over edges "
                "otherwise. Nothing was spent"
            )
    return found


def weigh_as_before(last: Measurements) -> dict[str, Fraction]:
    """Weights in the proportion of the prices that the last release paid for its blocks."""
    shown = {name: block.whole / np.sqrt(block.variance) for name, block in last.noisy.items()}
    if last.gaussian:
        shown = {name: value**2 for name, value in shown.items()}
    most = max(shown.values())
    # Exact and short fractions, none of which is nothing.
    return {name: Fraction(max(round(1_000 * value / most), 1)) for name, value in shown.items()}


def blocks_alike(
    earlier: Sequence[Measurements], look: Resolution, leaves: Ints
) -> tuple[dict[str, NoisyBlock], ...]:
    """The noisy blocks of each release whose cells are those of a release with this look and this partition."""
    found = []
    for each in earlier:
        alike = set(ALWAYS_ALIKE)
        if np.array_equal(each.leaves, leaves):
            alike.add("pair")
        for name, fields in DEPENDS_ON.items():
            if all(getattr(each.resolution, field) == getattr(look, field) for field in fields):
                alike.add(name)
        found.append({name: block for name, block in each.noisy.items() if name in alike})
    return tuple(found)


# Blocks whose cells do not depend on how finely a release looks.
ALWAYS_ALIKE = frozenset({"origin", "destination", "hour", "edge", "two edges", "move", "turn"})
# What the cells of the others depend on.
DEPENDS_ON = {
    "length": ("distances", "growth"),
    "distance": ("distances",),
    "extent": ("distances",),
    "origin zone": ("ends",),
    "destination zone": ("ends",),
    "hour at origin": ("hours",),
    "hour at destination": ("hours",),
    "band of pair": ("pairs", "bands"),
    "edge zone": ("edges",),
    "visit": ("visits",),
    "memory": ("memory", "memories"),
}
