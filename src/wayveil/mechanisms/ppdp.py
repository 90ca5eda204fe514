"""PPDP (Li and others 2020, as told in the BC Transit study): a time tree with reachability and growing budgets.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: one trip is in one node of a level, every public candidate is noised, and level l is paid with its
    share of epsilon; the shares are public, positive and add up to one. Which candidates are reachable follows from
    the public timetable. Pruning during growth looks at noisy counts only. The numbers of trips and of visits are
    bought with a share of their own; with `filling`, repeats and visits per stop and per time bin with another.
    Attacked by the audits registered for `ppdp`.

Repaired
    The retellings give three budget rules, of which two do not add up to epsilon; here lg(l + sigma) is normalised.
    Their check during growth treats nodes that only noise kept more strictly than real ones, which reads the true
    count; here all nodes are treated by their noisy counts. Trips with a move that the timetable cannot make are cut
    there, by a rule that looks at that trip alone.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import log2
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import Field

from wayveil.counting.counter import Counter
from wayveil.errors import ParameterError
from wayveil.mechanisms.growth import LevelPlan, TreeMechanism
from wayveil.mechanisms.shared_fields import ConsistencyRule, level_prices
from wayveil.mechanisms.time_axis import TimeAxis, time_bins
from wayveil.privacy.gate import Gate
from wayveil.synthesis.consistency import Consistency
from wayveil.synthesis.model import Model
from wayveil.synthesis.tree import TimedTree
from wayveil.world.network import Network
from wayveil.world.successors import CompleteSuccessors
from wayveil.world.timed import Reachable, TimedAlphabet


class PPDP(TreeMechanism):
    """A noisy tree over (stop, time) pairs that grows only where the network can go in the time available.

    >>> wv.PPDP(height=3).height
    3
    """

    name: ClassVar[str] = "ppdp"
    makes: ClassVar[type[Model]] = TimedTree
    summary: ClassVar[str] = (
        "noisy counts of prefixes of (stop, time) pairs that the network can reach in time"
    )
    holds: ClassVar[frozenset[str]] = frozenset({"total"})
    tells: ClassVar[Mapping[str, float]] = MappingProxyType(
        {
            "visits": 1.0,
            "stops": 1.0,
            "hours": 1.0,
            "lengths": 0.7,
        }
    )
    steps: ClassVar[bool] = False

    time: TimeAxis = "hour-of-day"
    max_gap: int | None = Field(
        None,
        ge=0,
        description="Most time bins from a visit to the next; a trip is cut before a longer gap (none: any gap will"
        " do).",
    )
    smoothing_factor: float = Field(
        1.0,
        ge=1,
        description="Sigma: level l is paid in proportion to log2(l + sigma), so that deeper, thinner levels get "
        "more.",
    )
    threshold_k: float | None = Field(
        None,
        ge=0,
        description="With it, level l has the published threshold k / l + b, in noise scales of the level, in place"
        " of the noise-aware one, but no less than that where false nodes would multiply.",
    )
    threshold_b: float = Field(0.0, ge=0, description="The b of that threshold, in noise scales.")
    prune_early: bool = Field(
        True,
        description="While growing, cut children down to their parent's count, and drop those that then miss the "
        "threshold.",
    )
    consistency: ConsistencyRule = "equal"

    @classmethod
    def published(cls, **parameters: Any) -> "PPDP":
        """Decreasing thresholds k / l + b; the study names no values, these keep empty pairs out on average."""
        return cls(**({"threshold_k": 4.0, "threshold_b": 6.0, "size_share": 0} | parameters))

    def measure(self, counter: Counter, gate: Gate) -> TimedTree:
        """Find what is reachable, then grow with incremental budgets."""
        if not isinstance(counter.world, Network):
            raise ParameterError("ppdp needs a network with travel times; this world is a plain list")
        bins = time_bins(self.time)
        alphabet = TimedAlphabet(counter.world, bins)
        reachable = Reachable.on(counter.world, bins, self.max_gap)
        plans = [
            LevelPlan(
                f"level {level} of the tree",
                price,
                reachable if level > 1 else CompleteSuccessors(alphabet.size),
                None if self.threshold_k is None else self.threshold(self._scales(level)),
            )
            for level, price in enumerate(
                level_prices(gate, level_weights(self.height, self.smoothing_factor), self.set_aside), 1
            )
        ]
        prefixes = counter.prefixes(alphabet)
        levels, size = self.grown(
            counter, gate, prefixes, plans, self.threshold(), prune_early=self.prune_early, bins=bins
        )
        consistency = Consistency(self.smoothing, self.consistency)
        return TimedTree(counter.world, levels, consistency, bins, size=size)

    def _scales(self, level: int) -> float:
        return max((self.threshold_k or 0.0) / level + self.threshold_b, 1e-9)


def level_weights(height: int, smoothing_factor: float) -> list[Fraction]:
    """lg(l + sigma) for l = 1..height, as exact rationals (to one part in a million: any positive weights do)."""
    return [Fraction(round(log2(level + smoothing_factor) * 10**6), 10**6) for level in range(1, height + 1)]
