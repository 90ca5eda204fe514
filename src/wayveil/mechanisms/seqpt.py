"""SeqPT: the exhaustive tree over (stop, time) pairs, the baseline of the SafePath study.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: that of the noisy prefix tree, with pairs in place of stops: one trip is in one node of a level, every
    public pair that may follow is a candidate, empty or not, and levels compose. The numbers of trips and of visits
    are bought with a share of their own.
    Attacked by the audits registered for `seqpt`.

Repaired
    As for the noisy prefix tree. The published baseline visits every empty child, which is why it timed out; here
    survivors among them are drawn from their exact law, so that the time is gone and only the noise remains.
"""

from typing import Any, ClassVar, Literal

from pydantic import Field

from wayveil.counting.counter import Counter
from wayveil.errors import ParameterError
from wayveil.mechanisms.growth import LevelPlan, TreeMechanism, least_false_nodes
from wayveil.mechanisms.shared_fields import (
    ConsistencyRule,
    Smoothing,
    ThresholdScales,
    WhenExplosive,
    level_prices,
)
from wayveil.mechanisms.time_axis import TimeAxis, public_successors, time_bins
from wayveil.privacy.gate import Gate
from wayveil.synthesis.consistency import Consistency
from wayveil.synthesis.model import Model
from wayveil.synthesis.tree import TimedTree
from wayveil.world.successors import CompleteSuccessors
from wayveil.world.timed import Later, TimedAlphabet


class SeqPT(TreeMechanism):
    """A noisy tree over (stop, time) pairs with nothing to guide it: a baseline.

    >>> wv.SeqPT(height=2).height
    2
    """

    name: ClassVar[str] = "seqpt"
    makes: ClassVar[type[Model]] = TimedTree
    summary: ClassVar[str] = "noisy counts of prefixes of (stop, time) pairs, unguided"

    time: TimeAxis = "hour-of-day"
    successors: Literal["all", "network"] = Field(
        "all", description="Stops that may come next: `all` (taps), or those of the `network`."
    )
    threshold_scales: ThresholdScales = None
    when_explosive: WhenExplosive = "allow"
    max_false_nodes: int = Field(
        20_000_000,
        ge=1,
        description="Nodes that noise alone may make, as estimated before anything is paid; more are refused.",
    )
    consistency: ConsistencyRule = "equal"
    smoothing: Smoothing = True

    @classmethod
    def published(cls, **parameters: Any) -> "SeqPT":
        """The study's fixed threshold, where false nodes would not multiply by it."""
        paper = {"threshold_scales": 2 * 2**0.5, "when_explosive": "raise", "size_share": 0}
        return cls(**(paper | parameters))

    def measure(self, counter: Counter, gate: Gate) -> TimedTree:
        """Refuse a hopeless size at once, then grow all levels at equal prices; the gate watches the memory."""
        bins = time_bins(self.time)
        alphabet = TimedAlphabet(counter.world, bins)
        later = Later(public_successors(counter.world, self.successors), bins.count)
        threshold = self.threshold(self.threshold_scales, self.when_explosive)
        if self.height > 1:
            threshold.check(later)
        expected = least_false_nodes(alphabet.size, later.mean_degree, self.height, threshold)
        if expected > self.max_false_nodes:
            raise ParameterError(
                f"noise alone would make at least {expected:.2g} nodes over {self.height} levels "
                f"({alphabet.size:,} pairs of stop and time, {later.mean_degree:,.0f} of which may follow each). Use "
                f"a noise-aware threshold, fewer levels or fewer time bins, or raise max_false_nodes."
            )
        plans = [
            LevelPlan(
                f"level {depth + 1} of the tree",
                price,
                later if depth else CompleteSuccessors(alphabet.size),
            )
            for depth, price in enumerate(level_prices(gate, [1] * self.height, self.set_aside))
        ]
        levels, size = self.grown(counter, gate, counter.prefixes(alphabet), plans, threshold, bins=bins)
        consistency = Consistency(self.smoothing, self.consistency)
        return TimedTree(counter.world, levels, consistency, bins, size=size)
