"""The noisy prefix tree (Chen, Fung and Desai 2011), repaired.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: the nodes of one level are disjoint, so one trip moves one count of a level by one, and a unit with m trips
    moves a level by at most m. A level is noised with scale m h / epsilon over *all* its public candidates, empty ones
    included, and costs epsilon / h. Which nodes are expanded depends on noisy counts only, so the levels compose to
    epsilon; consistency and trips are post-processing.
    Attacked by tests/mechanisms/test_noisy_prefix_tree_audit.py.

Repaired
    The published version takes its height from the data, its alphabet from the data, and the exact number of trips at
    the root. Here the height is public or bought (`private_height`), the alphabet is the public world, and the root
    has no count.
"""

from fractions import Fraction
from typing import Any, ClassVar, Literal

from pydantic import Field

from wayveil.counting.protocol import Counter
from wayveil.errors import ParameterError
from wayveil.mechanisms.growth import LevelPlan, Threshold, grow
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Contribution
from wayveil.synthesis.consistency import Consistency
from wayveil.synthesis.tree import PrefixTree
from wayveil.world.successors import CompleteSuccessors, Successors
from wayveil.world.world import World


class NoisyPrefixTree(Mechanism):
    """A tree of prefixes with noisy counts, and the trips that it describes.

    height           stops of a trip that are used; later ones are cut off (public)
    private_height   buy the height instead: the given quantile of trip lengths, at most `height`
    height_share     share of epsilon that buys it
    successors       candidates for the next stop: `network` moves, `all` stops, or `auto` (network where there is one)
    false_children   noise-aware threshold: false children that noise may add to a node, on average
    threshold_scales a fixed threshold, in noise scales, in place of the noise-aware one (published: 2.83)
    when_explosive   what to do with a fixed threshold under which false nodes multiply: `refuse`, `raise` or `allow`
    consistency      `weighted` or `equal` repair of parents and children, or `none`
    smoothing        isotonic regression along paths first
    """

    name: ClassVar[str] = "noisy-prefix-tree"
    summary: ClassVar[str] = "noisy counts of trip prefixes, grown level by level"

    height: int = Field(12, ge=1, le=200)
    private_height: bool = False
    height_share: Fraction = Field(Fraction(1, 20), gt=0, lt=1)
    height_quantile: Fraction = Field(Fraction(4, 5), gt=0, lt=1)
    successors: Literal["auto", "network", "all"] = "auto"
    false_children: float = Field(0.5, gt=0, le=1)
    threshold_scales: float | None = Field(None, gt=0)
    when_explosive: Literal["refuse", "raise", "allow"] = "refuse"
    consistency: Literal["weighted", "equal", "none"] = "equal"
    smoothing: bool = True

    @classmethod
    def published(cls, **parameters: Any) -> "NoisyPrefixTree":
        """The paper's fixed threshold, alphabet of all stops and equal consistency, for reproducing studies."""
        preset: dict[str, Any] = {
            "successors": "all",
            "threshold_scales": 2 * 2**0.5,
            "consistency": "equal",
        }
        return cls(**(preset | parameters))

    def measure(self, counter: Counter, gate: Gate) -> PrefixTree:
        """Buy the height if asked, then grow the tree with what remains, in equal parts."""
        successors = self._successors(counter.world)
        threshold = Threshold(self.false_children, self.threshold_scales, self.when_explosive)
        if self.height > 1:  # the root has children once: a single level cannot explode
            threshold.check(successors)
        height = self._height(counter, gate)
        start = CompleteSuccessors(counter.world.size)
        plans = [
            LevelPlan(f"level {depth + 1} of the tree", price, successors if depth else start)
            for depth, price in enumerate(gate.budget.split([1] * height))
        ]
        levels = grow(counter.prefixes(), plans, threshold, gate)
        return PrefixTree(counter.world, levels, Consistency(self.smoothing, self.consistency))

    def _successors(self, world: World) -> Successors:
        if self.successors == "network" and not world.has_network:
            raise ParameterError(
                "successors='network' needs a world with a network; this one is a plain list"
            )
        return CompleteSuccessors(world.size) if self.successors == "all" else world.successors

    def _height(self, counter: Counter, gate: Gate) -> int:
        if not self.private_height:
            return self.height
        lengths = counter.lengths(self.height)
        return gate.quantile(
            "height of the tree",
            lengths.keys,
            self.height_quantile,
            low=1,
            high=self.height,
            contribution=Contribution(per_trip=1),
            price=gate.budget.remaining * self.height_share,
            times=lengths.counts,
        )
