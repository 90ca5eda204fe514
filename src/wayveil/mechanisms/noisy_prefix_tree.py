"""The noisy prefix tree (Chen, Fung and Desai 2011), repaired.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: the nodes of one level are disjoint, so one trip moves one count of a level by one, and a unit with m trips
    moves a level by at most m. A level is noised with scale m h / epsilon over *all* its public candidates, empty ones
    included, and costs epsilon / h. Which nodes are expanded depends on noisy counts only, so the levels compose to
    epsilon; consistency and trips are post-processing. A share of epsilon buys the numbers of trips and
    of visits, which one trip moves by one and by 24 at most (in a tall tree, by two heights). With `filling`, another
    share buys visits per stop, and how many of them are repeats: a trip moves either by at most 8, or as many as the
    tree is high.
    Attacked by tests/mechanisms/test_noisy_prefix_tree_audit.py.

Repaired
    The published version takes its height from the data, its alphabet from the data, and the exact number of trips at
    the root. Here the height is public or bought (`private_height`), the alphabet is the public world, and the number
    of trips is bought: first visits beyond it are scaled down to it, and it tells how much the tree lost.
"""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import Field

from wayveil.counting.counter import Counter
from wayveil.mechanisms.growth import LevelPlan, TreeMechanism
from wayveil.mechanisms.shared_fields import (
    ConsistencyRule,
    Moves,
    Share,
    Smoothing,
    ThresholdScales,
    WhenExplosive,
    level_prices,
)
from wayveil.mechanisms.time_axis import public_successors
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.synthesis.consistency import Consistency
from wayveil.synthesis.model import Model
from wayveil.synthesis.tree import PrefixTree
from wayveil.world.successors import CompleteSuccessors


class NoisyPrefixTree(TreeMechanism):
    """A tree of prefixes with noisy counts, and the trips that it describes.

    >>> wv.NoisyPrefixTree(height=4).height
    4
    """

    name: ClassVar[str] = "noisy-prefix-tree"
    makes: ClassVar[type[Model]] = PrefixTree
    summary: ClassVar[str] = "noisy counts of trip prefixes, grown level by level"
    holds: ClassVar[frozenset[str]] = frozenset({"total"})
    tells: ClassVar[Mapping[str, float]] = MappingProxyType(
        {
            "visits": 1.0,
            "stops": 1.0,
            "boardings": 1.4,
            "alightings": 1.4,
            "edges": 0.5,
            "triples": 0.5,
            "journeys": 2.0,
            "lengths": 0.7,
        }
    )

    private_height: bool = Field(
        False, description="Buy the height instead: a quantile of the trips' lengths, at most `height`."
    )
    height_share: Share = Field(
        Fraction(1, 20), description="Share of epsilon that buys the height, with `private_height`."
    )
    height_quantile: Share = Field(
        Fraction(4, 5), description="Quantile of the lengths that is bought, with `private_height`."
    )
    successors: Moves = "auto"
    threshold_scales: ThresholdScales = None
    when_explosive: WhenExplosive = "refuse"
    consistency: ConsistencyRule = "equal"
    smoothing: Smoothing = True

    @classmethod
    def published(cls, **parameters: Any) -> "NoisyPrefixTree":
        """The paper's alphabet of all stops, and its fixed threshold where false nodes would not multiply by it."""
        preset: dict[str, Any] = {
            "successors": "all",
            "threshold_scales": 2 * 2**0.5,
            "when_explosive": "raise",
            "size_share": 0,
        }
        return cls(**(preset | parameters))

    def measure(self, counter: Counter, gate: Gate) -> PrefixTree:
        """Buy the height if asked, then grow the tree with what remains, in equal parts."""
        successors = public_successors(counter.world, self.successors)
        threshold = self.threshold(self.threshold_scales, self.when_explosive)
        if self.height > 1:  # the root has children once: a single level cannot explode
            threshold.check(successors)
        self.require_fillable(counter.world)
        height = self._height(counter, gate)
        start = CompleteSuccessors(counter.world.size)
        plans = [
            LevelPlan(f"level {depth + 1} of the tree", price, successors if depth else start)
            for depth, price in enumerate(level_prices(gate, [1] * height, self.set_aside))
        ]
        levels, size = self.grown(counter, gate, counter.prefixes(), plans, threshold)
        return PrefixTree(counter.world, levels, Consistency(self.smoothing, self.consistency), size=size)

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
            parts=lengths.parts,
        )
