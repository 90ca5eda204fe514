"""SafePath (Al-Hussaeni and others 2018): a time tree guided by taxonomies of places and times.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: a visit is a way down a public taxonomy of places and then one of times; every step of that way is a level
    of one tree, in which a trip is in one node per level. Each level is paid with its own share; the shares of a
    sublevel are positive and add up to half of its visit's epsilon / height, which is checked.
    Attacked by the audits registered for `safepath`.

Repaired
    The published shares of a sublevel depend on the universe and become negative for tall taxonomies (height 9 on 68
    stations); here they are fixed weights, normalised. Its thresholds use the level's epsilon although the noise uses
    far less; here they follow the noise of their own sublevel. A taxonomy of height zero, where the published loop
    never runs, is one step to the leaves. Trips come from what nodes have more than their children, not from every
    node's whole count.
"""

from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from wayveil.counting.protocol import Counter
from wayveil.errors import ParameterError
from wayveil.mechanisms.growth import LevelPlan, Threshold, grow
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.shared_fields import (
    ConsistencyRule,
    FalseChildren,
    Height,
    Smoothing,
)
from wayveil.mechanisms.time_axis import TimeAxis, time_bins
from wayveil.privacy.gate import Gate
from wayveil.synthesis.consistency import Consistency
from wayveil.synthesis.model import Model
from wayveil.synthesis.timed_tree import TaxonomyTree
from wayveil.world.network import Network
from wayveil.world.taxonomy import Taxonomy
from wayveil.world.timebins import TimeBins
from wayveil.world.timed import bins_of
from wayveil.world.world import World


class SafePath(Mechanism):
    """A noisy tree in which each visit is chosen coarse to fine: district, stop, part of the day, time bin."""

    name: ClassVar[str] = "safepath"
    makes: ClassVar[type[Model]] = TaxonomyTree
    summary: ClassVar[str] = (
        "noisy counts of prefixes of visits, each found through taxonomies of places and times"
    )
    steps: ClassVar[bool] = False

    height: Height = 12
    time: TimeAxis = "hour-of-day"
    location_groups: str = Field(
        "geography",
        description="Taxonomy of places: `geography`, `routes`, `balanced` (by id), or a csv file with the id and "
        "one column per general level. Without a network, `geography` and `routes` mean `balanced`.",
    )
    location_height: int = Field(
        1,
        ge=0,
        le=20,
        description="General levels of places; 0: none. Above 0, `routes` have 1, and a file as many as its "
        "columns.",
    )
    location_fan_out: int = Field(8, ge=2, description="Children of a general node of places.")
    time_height: int = Field(
        0, ge=0, le=20, description="General levels of time bins, which are grouped with their neighbours."
    )
    time_fan_out: int = Field(4, ge=2, description="Children of a general node of time bins.")
    leaf_weight: float = Field(
        2.0,
        ge=0.1,
        le=10,
        description="How many times as much as the level above each finer level of a taxonomy is paid.",
    )
    false_children: FalseChildren = 0.5
    published_thresholds: bool = Field(
        False,
        description="The paper's thresholds: 2 sqrt(2) noise scales of a whole visit for leaves, twice that for "
        "general nodes; no less than the noise-aware ones where false nodes would multiply.",
    )
    consistency: ConsistencyRule = "equal"
    smoothing: Smoothing = False

    @classmethod
    def published(cls, **parameters: Any) -> "SafePath":
        """The paper's thresholds and equal consistency. Its budget shares are repaired: they can go negative."""
        return cls(**({"published_thresholds": True, "consistency": "equal", "smoothing": True} | parameters))

    def measure(self, counter: Counter, gate: Gate) -> TaxonomyTree:
        """Plan every step of every visit, check that the prices add up, and grow."""
        bins = time_bins(self.time)
        places = self.places(counter.world)
        times = Taxonomy.balanced(bins.count, self.time_height, self.time_fan_out)
        plans = self._plans(gate, places, times)
        spent = sum((plan.price for plan in plans), Fraction(0))
        if spent != gate.budget.remaining or min(plan.price for plan in plans) <= 0:
            raise ParameterError("the shares of the sublevels must be positive and add up to epsilon")
        levels = grow(
            counter.prefixes(TaxonomyEncoding(places, times, bins)),
            plans,
            Threshold(self.false_children),
            gate,
        )
        consistency = Consistency(self.smoothing, self.consistency)
        return TaxonomyTree(counter.world, levels, consistency, bins, places.height, times.height)

    def places(self, world: World) -> Taxonomy:
        """The taxonomy of locations that the parameters name."""
        if self.location_groups == "balanced" or self.location_height == 0:
            return Taxonomy.balanced(world.size, self.location_height, self.location_fan_out)
        if self.location_groups in ("geography", "routes") and not isinstance(world, Network):
            # Without coordinates or lines there is only the order of the ids.
            return Taxonomy.balanced(world.size, self.location_height, self.location_fan_out)
        if isinstance(world, Network) and self.location_groups == "geography":
            return Taxonomy.of_geography(world, self.location_height, self.location_fan_out)
        if isinstance(world, Network) and self.location_groups == "routes":
            return Taxonomy.of_routes(world)
        return Taxonomy.of_file(self.location_groups, world)

    def _plans(self, gate: Gate, places: Taxonomy, times: Taxonomy) -> list[LevelPlan]:
        down_places = places.descents(times.leaves, ordered=False, remembers_leaf=False)
        down_times = times.descents(times.leaves, ordered=True, remembers_leaf=True)
        plans = []
        for visit, share in enumerate(gate.budget.split([1] * self.height), 1):
            for what, steps in (("place", down_places), ("time", down_times)):
                prices = sublevel_prices(share / 2, len(steps), self.leaf_weight)
                for level, (step, price) in enumerate(zip(steps, prices, strict=True), 1):
                    leaf = level == len(steps)
                    label = f"{what} of visit {visit}" + ("" if leaf else f", group level {level}")
                    plans.append(LevelPlan(label, price, step, self._threshold(price, share, leaf)))
        return plans

    def _threshold(self, price: Fraction, share: Fraction, leaf: bool) -> Threshold | None:
        if not self.published_thresholds:
            return None
        scales = (2 if leaf else 4) * sqrt(2) * float(price / share)
        return Threshold(scales=scales, when_explosive="raise")


class TaxonomyEncoding:
    """A visit as the nodes on its way down both taxonomies."""

    def __init__(self, places: Taxonomy, times: Taxonomy, bins: TimeBins) -> None:
        self.places, self.times, self.bins = places, times, bins
        self.width = places.height + 1 + times.height + 1

    def encode(self, location: NDArray[np.int32], time: NDArray[np.int64] | None) -> list[NDArray[np.int32]]:
        bin_ = bins_of(self.bins, time)
        inside = np.maximum(bin_, 0)
        columns = [*self.places.ancestors(location), location, *self.times.ancestors(inside), bin_]
        return columns if (bin_ >= 0).all() else [np.where(bin_ >= 0, each, np.int32(-1)) for each in columns]


def sublevel_prices(share: Fraction, levels: int, leaf_weight: float) -> list[Fraction]:
    """The share split over the levels of a sublevel, each finer one paid `leaf_weight` times the one above."""
    more = Fraction(leaf_weight).limit_denominator(100)
    whole = sum(more**level for level in range(levels))
    return [share * more**level / whole for level in range(levels)]
