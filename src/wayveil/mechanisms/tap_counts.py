"""Tap counts: plain noisy histograms of stops, of hours and of both together. The baseline for boardings.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: one visit adds one to one cell of each histogram. A unit of visits (event, points, window) moves a
    histogram by as many visits as it has; a unit of trips by at most `max_visits` per trip, since only the first
    `max_visits` visits of a trip are counted. The histograms are paid with their shares of epsilon.
    Earlier releases that it follows are public: the filter over them is post-processing.
    Attacked by the audits registered for `tap-counts`.

What it cannot do: nothing that connects two visits survives. It releases single taps, not trips.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from pydantic import Field

from wayveil.counting.counter import Counter
from wayveil.counting.protocol import Encoding
from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import DEFAULT_PARTS, HOURS, Mechanism, typical_cells
from wayveil.mechanisms.shared_fields import MaxVisits, Share, noise_aware_threshold, visit_contribution
from wayveil.mechanisms.time_axis import TimeAxis, time_bins
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts
from wayveil.synthesis.model import Model
from wayveil.synthesis.tap_table import TapTable
from wayveil.world.timebins import TimeBins
from wayveil.world.timed import TimedAlphabet, VisitBin, VisitStop
from wayveil.world.world import World

NOTHING = np.zeros(0, np.int64)
# The least part of the budget that a histogram keeps when nobody needs it: single taps are drawn from all three.
LEAST = Fraction(1, 40)


def share_out(
    wanted: tuple[Fraction | None, ...], total: Fraction | None, at: int = 1
) -> tuple[Fraction, ...]:
    """Parts of the budget of histograms in the proportion in which they are needed, none below the least.

    Any histogram tells the total; the one with the fewest cells (`at`) tells it best.
    """
    parts = [part or Fraction(0) for part in wanted]
    parts[at] += total or 0
    whole = sum(parts) or 1
    found = [max(part / whole, LEAST) for part in parts]
    return tuple(part / sum(found) for part in found)


class TapCounts(Mechanism):
    """Noisy numbers of visits per stop, per time bin, and per stop and time bin.

    >>> wv.TapCounts().name
    'tap-counts'
    """

    name: ClassVar[str] = "tap-counts"
    makes: ClassVar[type[Model]] = TapTable
    summary: ClassVar[str] = "noisy numbers of visits per stop, per hour, and per stop and hour"
    steps: ClassVar[bool] = False
    follows: ClassVar[bool] = True
    same_as_prior: ClassVar[tuple[str, ...]] = ("max_visits",)

    time: TimeAxis = "hour-of-day"
    max_visits: MaxVisits = None
    stops_share: Share = Field(Fraction(1, 4), description="Share of epsilon for the histogram of stops.")
    times_share: Share = Field(
        Fraction(1, 10),
        description="Share of epsilon for the histogram of time bins; the rest buys stops and time bins together, if "
        "there is any.",
    )
    dense_cells: int = Field(
        1_000_000,
        ge=0,
        description="Up to so many cells of stop and time bin, every one comes back; above, those that reach a "
        "noise-aware threshold.",
    )
    false_cells: float = Field(
        0.1, gt=0, description="Sets that threshold: cells per stop that noise alone may keep, on average."
    )

    def serving(self, parts: Mapping[str, Fraction], districts: str | None = None) -> Self:
        """Share the budget between stops, time bins and both; what nobody needs keeps the least.

        Where needs are said and none is about both together, these are not bought: taps are drawn from the other two.
        """
        if {"stops_share", "times_share"} & self.model_fields_set:
            return self
        wanted = parts.get("boardings"), parts.get("hours"), parts.get("stop-hours")
        both = "stop-hours" in parts or parts == DEFAULT_PARTS
        stops, times, *_ = share_out(wanted if both else wanted[:2], parts.get("total"))
        return self.model_copy(update={"stops_share": stops, "times_share": times})

    def cells_told(self, world: World) -> Sequence[tuple[float, Fraction]]:
        """Return busy stops and hours."""
        return (typical_cells(world.size), Fraction(self.stops_share)), (HOURS, Fraction(self.times_share))

    def measure(self, counter: Counter, gate: Gate) -> TapTable:
        """Three histograms of the same visits."""
        bins = time_bins(self.time)
        earlier = tuple(
            _require_bins(model, bins).as_earlier(counter.world)
            for model in self._earlier
            if isinstance(model, TapTable)
        )
        contribution = visit_contribution(self.name, gate.unit, self.max_visits)
        both_share = 1 - self.stops_share - self.times_share
        if both_share < 0:
            raise ParameterError("stops_share and times_share are more than the whole together")
        shares = [self.stops_share, self.times_share, *([both_share] if both_share else [])]
        for_stops, for_times, *for_pairs = gate.budget.split(shares)
        both = TimedAlphabet(counter.world, bins)

        def ask(
            label: str, encoding: Encoding, cells: int, price: Fraction, threshold: int | None = None
        ) -> NoisyCounts:
            exact = counter.visits(encoding, cells, self.max_visits)
            return gate.histogram(label, exact, contribution, price, threshold=threshold)

        limit = None
        if both.size > self.dense_cells and for_pairs:
            limit = noise_aware_threshold(bins.count, self.false_cells, gate.scale(contribution, *for_pairs))
        stops = ask("visits per stop", VisitStop(), counter.world.size, for_stops)
        times = ask("visits per time bin", VisitBin(bins), bins.count, for_times)
        pairs = [ask("visits per stop and time bin", both, both.size, price, limit) for price in for_pairs]
        keys, counts = next(((each.keys, each.counts) for each in pairs), (NOTHING, NOTHING))
        return TapTable(
            counter.world,
            bins,
            stops.counts,
            times.counts,
            keys,
            counts,
            (
                stops.question.scale,
                times.question.scale,
                sum((each.question.scale for each in pairs), Fraction(0)),
            ),
            limit,
            earlier,
            gaussian=gate.budget.currency == "rho",
        )


def _require_bins(model: TapTable, bins: TimeBins) -> TapTable:
    """Refuse an earlier release that counted other hours."""
    if model.bins.labels != bins.labels:
        raise ParameterError(
            f"a prior counted other time bins ({model.bins.count}) than this release does ({bins.count}); give the "
            f"same `time`. Nothing was spent"
        )
    return model
