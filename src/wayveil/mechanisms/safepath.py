"""SafePath (Al-Hussaeni and others 2018): a time tree guided by taxonomies of places and times.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: a visit is a way down a public taxonomy of places and then one of times; every step of that way is a level
    of one tree, in which a trip is in one node per level. Each level is paid with its own share; the shares of a
    sublevel are positive and add up to half of its visit's epsilon / height, which is checked. Which children a node
    can have follows from public things: the taxonomies, the order of time and, if asked for, the network. The numbers
    of trips and of visits are bought with a share of their own; with `filling`, repeats and visits per stop and per
    time bin too.
    Attacked by the audits registered for `safepath`.

Repaired
    The published shares of a sublevel depend on the universe and become negative for tall taxonomies (height 9 on 68
    stations); here they are fixed weights, normalised, and `published` keeps to its own where they are positive. Its
    thresholds use the level's epsilon although the noise uses far less; here they follow the noise of their own
    sublevel. A taxonomy of height zero, where the published loop never runs, is one step to the leaves. Groups never
    make more of their children than these counted. Trips come from what nodes have more than their children, not from
    every node's whole count.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import sqrt
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from wayveil.arrays import Int32s, Ints
from wayveil.counting.counter import Counter
from wayveil.errors import ParameterError
from wayveil.mechanisms.growth import LevelPlan, Threshold, TreeMechanism
from wayveil.mechanisms.shared_fields import level_prices
from wayveil.mechanisms.time_axis import TimeAxis, public_successors, time_bins
from wayveil.privacy.gate import Gate
from wayveil.synthesis.consistency import Consistency
from wayveil.synthesis.model import Model
from wayveil.synthesis.tree import TaxonomyTree
from wayveil.world.network import Network
from wayveil.world.network_descent import network_descents
from wayveil.world.successors import Successors
from wayveil.world.taxonomy import Taxonomy
from wayveil.world.timebins import WEEK, TimeBins
from wayveil.world.timed import bins_of
from wayveil.world.world import World

_MADE_HERE = ("geography", "routes", "balanced")
# Groups of the hours of a week, where nobody says otherwise: six hours each.
QUARTERS_OF_DAYS = 28


class SafePath(TreeMechanism):
    """A noisy tree in which each visit is chosen coarse to fine: district, stop, part of the day, time bin.

    >>> wv.SafePath(height=3).height
    3
    """

    name: ClassVar[str] = "safepath"
    makes: ClassVar[type[Model]] = TaxonomyTree
    summary: ClassVar[str] = (
        "noisy counts of prefixes of visits, each found through taxonomies of places and times"
    )
    holds: ClassVar[frozenset[str]] = frozenset({"journey-hours", "total"})
    tells: ClassVar[Mapping[str, float]] = MappingProxyType(
        {
            "visits": 1.0,
            "stops": 1.4,
            "hours": 1.0,
            "boardings": 1.0,
            "journey-hours": 2.0,
            "lengths": 0.5,
        }
    )

    time: TimeAxis = "hour-of-day"
    successors: Literal["all", "network"] = Field(
        "all",
        description="Stops that may come next: `all` (taps), or those of the `network`; a group is then possible if a "
        "stop in it is.",
    )
    location_groups: str = Field(
        "geography",
        description="Taxonomy of places: `geography`, `routes`, `balanced` (by id), or a csv file with the id and "
        "one column per general level. Without a network, `geography` means `balanced`.",
    )
    location_height: int = Field(
        1,
        ge=0,
        le=20,
        description="General levels of places; 0: none. Above 0, `routes` have 1, and a file as many as its "
        "columns.",
    )
    location_fan_out: int = Field(8, ge=2, description="Children of a general node of places.")
    time_height: int | None = Field(
        None,
        ge=0,
        le=20,
        description="General levels of time bins, which are grouped with their neighbours; none: hours of a week by "
        "quarters of days, other bins not.",
    )
    time_fan_out: int = Field(4, ge=2, description="Children of a general node of time bins.")
    time_groups: str = Field(
        "balanced",
        description="Taxonomy of times: `balanced`, or a csv file with the label of the bin (08:00-09:00) and one "
        "column per general level, which then says the height.",
    )
    leaf_weight: float = Field(
        2.0,
        ge=0.1,
        le=10,
        description="How many times as much as the level above each finer level of a taxonomy is paid.",
    )
    published_shares: bool = Field(
        False,
        description="The paper's shares of a sublevel where they are positive: level d of the taxonomy gets 2 d / "
        "locations of it (or bins), leaves the rest. Elsewhere the weights.",
    )
    published_thresholds: bool = Field(
        False,
        description="The paper's thresholds: 2 sqrt(2) noise scales of a whole visit for leaves, twice that for "
        "general nodes; no less than the noise-aware ones where false nodes would multiply.",
    )
    consistency: Literal["noise", "weighted", "equal", "none"] = Field(
        "noise",
        description="Visits that exceed the visit before: with `noise` every count is weighed by its noise, groups "
        "too; else only visits count, scaled down in proportion (`weighted`), the same subtracted from each "
        "(`equal`), or left (`none`).",
    )

    @classmethod
    def published(cls, **parameters: Any) -> "SafePath":
        """The paper's thresholds, taxonomies and consistency, and its shares where they are positive."""
        paper = {
            "time": "hour-of-week",
            "location_height": 6,
            "location_fan_out": 2,
            "time_height": 6,
            "time_fan_out": 2,
            "published_thresholds": True,
            "published_shares": True,
            "consistency": "equal",
            "size_share": 0,
        }
        return cls(**(paper | parameters))

    def measure(self, counter: Counter, gate: Gate) -> TaxonomyTree:
        """Plan every step of every visit, check that the prices add up, and grow."""
        bins = time_bins(self.time)
        places = self.places(counter.world)
        times = self.times(bins)
        plans = self.plans(gate, places, times, counter.world)
        spent = sum((plan.price for plan in plans), Fraction(0))
        if spent != gate.budget.remaining * (1 - self.set_aside) or min(plan.price for plan in plans) <= 0:
            raise ParameterError("the shares of the sublevels must be positive and add up to epsilon")
        prefixes = counter.prefixes(TaxonomyEncoding(places, times, bins))
        levels, size = self.grown(counter, gate, prefixes, plans, self.threshold(), bins=bins)
        consistency = Consistency(self.smoothing, self.consistency)
        return TaxonomyTree(counter.world, levels, consistency, bins, places.height, times.height, size=size)

    def public_files(self) -> dict[str, Path]:
        named = {"taxonomy of places": self.location_groups, "taxonomy of times": self.time_groups}
        return {what: Path(file) for what, file in named.items() if file not in _MADE_HERE}

    def times(self, bins: TimeBins) -> Taxonomy:
        """The taxonomy of time bins that the parameters name."""
        if self.time_groups == "balanced" and self.time_height is None:
            return Taxonomy.balanced(bins.count, int(bins.period == WEEK), QUARTERS_OF_DAYS)
        if self.time_groups == "balanced":
            return Taxonomy.balanced(bins.count, self.time_height or 0, self.time_fan_out)
        return Taxonomy.of_times_file(self.time_groups, bins)

    def places(self, world: World) -> Taxonomy:
        """The taxonomy of locations that the parameters name."""
        if self.location_groups not in _MADE_HERE:
            return Taxonomy.of_file(self.location_groups, world)
        if self.location_groups == "routes" and not isinstance(world, Network):
            raise ParameterError(
                "a plain list of places has no routes to group them by; group them by `geography`, `balanced` or a file"
            )
        if self.location_groups == "balanced" or self.location_height == 0 or not isinstance(world, Network):
            # Without coordinates there is only the order of the ids.
            return Taxonomy.balanced(world.size, self.location_height, self.location_fan_out)
        if self.location_groups == "geography":
            return Taxonomy.of_geography(world, self.location_height, self.location_fan_out)
        return Taxonomy.of_routes(world)

    def _descents(
        self, places: Taxonomy, times: Taxonomy, world: World
    ) -> tuple[Sequence[Successors], Sequence[Successors], Sequence[Successors]]:
        """Steps to the first place, to a later one, and to a time."""
        if self.successors == "network":
            return network_descents(places, times, public_successors(world, "network"))
        down_places = places.descents(times.leaves, ordered=False, remembers_leaf=False)
        return down_places, down_places, times.descents(times.leaves, ordered=True, remembers_leaf=True)

    def plans(self, gate: Gate, places: Taxonomy, times: Taxonomy, world: World) -> list[LevelPlan]:
        """Every step of every visit, with its price and its threshold where that is a published one."""
        down_first, down_places, down_times = self._descents(places, times, world)
        plans = []
        for visit, share in enumerate(level_prices(gate, [1] * self.height, self.set_aside), 1):
            for what, steps, leaves in (
                ("place", down_first if visit == 1 else down_places, places.leaves),
                ("time", down_times, times.leaves),
            ):
                prices = self._prices(share / 2, len(steps), leaves)
                for level, (step, price) in enumerate(zip(steps, prices, strict=True), 1):
                    leaf = level == len(steps)
                    label = f"{what} of visit {visit}" + ("" if leaf else f", group level {level}")
                    plans.append(LevelPlan(label, price, step, self._threshold(price, share, leaf)))
        return plans

    def _prices(self, share: Fraction, levels: int, leaves: int) -> list[Fraction]:
        paid = published_prices(share, levels, leaves) if self.published_shares else None
        return sublevel_prices(share, levels, self.leaf_weight) if paid is None else paid

    def _threshold(self, price: Fraction, share: Fraction, leaf: bool) -> Threshold | None:
        if not self.published_thresholds:
            return None
        scales = (2 if leaf else 4) * sqrt(2) * float(price / share)
        return self.threshold(scales)


class TaxonomyEncoding:
    """A visit as the nodes on its way down both taxonomies."""

    def __init__(self, places: Taxonomy, times: Taxonomy, bins: TimeBins) -> None:
        self.places, self.times, self.bins = places, times, bins
        self.width = places.height + 1 + times.height + 1

    def encode(self, location: Int32s, time: Ints | None) -> list[Int32s]:
        bin_ = bins_of(self.bins, time)
        inside = np.maximum(bin_, 0)
        columns = [*self.places.ancestors(location), location, *self.times.ancestors(inside), bin_]
        return columns if (bin_ >= 0).all() else [np.where(bin_ >= 0, each, np.int32(-1)) for each in columns]


def sublevel_prices(share: Fraction, levels: int, leaf_weight: float) -> list[Fraction]:
    """The share split over the levels of a sublevel, each finer one paid `leaf_weight` times the one above."""
    more = Fraction(leaf_weight).limit_denominator(100)
    whole = sum(more**level for level in range(levels))
    return [share * more**level / whole for level in range(levels)]


def published_prices(share: Fraction, levels: int, leaves: int) -> list[Fraction] | None:
    """The paper's split over the levels of a sublevel; None where it leaves nothing for the leaves."""
    general = [share * 2 * level / leaves for level in range(1, levels)]
    rest = share - sum(general)
    return [*general, rest] if rest > 0 else None
