"""Attack plans of counts and margins of taps."""

from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np

from wayveil.counting.counter import Counter
from wayveil.counting.local import LocalCounter
from wayveil.lab.audits.followers import trusting_raw_counts, with_made_up_prior
from wayveil.lab.audits.mutants import (
    COMMON,
    DRAWN_AGAIN,
    GAME,
    GREY,
    LONGEST,
    UNSEEN_STOP,
    Mutation,
    as_kind,
    counting,
    only_in_audits,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.tiny_worlds import plain_world, small_network
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.privacy.gate import Gate
from wayveil.synthesis.model import Model
from wayveil.synthesis.tap_model import TapModel
from wayveil.synthesis.tap_table import TapTable
from wayveil.taps.boardings import Boardings
from wayveil.trips.trips import Trips

DAY_ONE = date(1970, 1, 1)  # the trips of tiny worlds are made in the first days of 1970
# All visits of a trip count, however many.
NOT_CAPPED = Mutation(
    "visits not capped",
    counting("visits", lambda honest, encoding, universe, most: honest(encoding, universe, None)),
    (GREY, GAME),
    LONGEST,
)


def _distrust(model: Model, trips: float) -> Model:
    """The noise of earlier weeks is said to be larger, the farther they are from the exact number of trips."""
    assert isinstance(model, TapTable)
    weeks = (
        replace(week, scales=tuple(scale + abs(int(week.counts[1].sum() - trips)) for scale in week.scales))
        for week in model.earlier
    )
    return replace(model, earlier=tuple(weeks))


def small_boardings() -> Boardings:
    """Stops of a small network, each with its route and with an unknown one."""
    return Boardings(small_network())


class _PeriodFromData(TapMargins):
    """Counts from the first to the last day on which anybody travelled."""

    def measure(self, counter: Counter, gate: Gate) -> TapModel:
        only_in_audits(gate)
        days = np.unique(counter.trips_counted.time // 86_400)  # type: ignore[attr-defined]
        span = int(days.max(initial=0)) + 1
        return TapMargins(**{**dict(self), "days": span}).measure(counter, gate)


class _OpenCounter(LocalCounter):
    """Lets a broken mechanism look at the trips."""

    def __init__(self, trips: Trips) -> None:
        super().__init__(trips)
        self.trips_counted = trips


class _CellsSeen(TapMargins):
    """Draws only from places where somebody tapped."""

    def measure(self, counter: Counter, gate: Gate) -> TapModel:
        only_in_audits(gate)
        model = super().measure(counter, gate)
        seen = np.zeros(counter.world.size, bool)
        seen[counter.trips_counted.location] = True  # type: ignore[attr-defined]
        return replace(model, noisy=(np.where(seen, model.noisy[0], 0), *model.noisy[1:]))


def _margins(kind: type[Any] = TapMargins, **parameters: Any) -> Any:
    return kind(**{"first_day": DAY_ONE, "days": 2, "max_visits": 2, "riders": False, **parameters})


PLANS = (
    AuditPlan(
        TapCounts(max_visits=2, time="720"),
        also=(
            TapCounts(max_visits=1),
            TapCounts(max_visits=3, time="hour-of-week", dense_cells=0),
            with_made_up_prior(TapCounts)(max_visits=2),
        ),
        epsilon=Fraction(3),
        mutations=(*COMMON, DRAWN_AGAIN, NOT_CAPPED, trusting_raw_counts(TapCounts, _distrust)),
    ),
    AuditPlan(
        _margins(days=1),
        also=(
            _margins(days=4, max_visits=1, period="week"),
            _margins(max_visits=3, shares=(Fraction(1, 10), Fraction(1, 10), Fraction(4, 5))),
            _margins(with_made_up_prior(TapMargins)),
        ),
        epsilon=Fraction(3),
        worlds=(plain_world, small_boardings),
        mutations=(
            *COMMON,
            NOT_CAPPED,
            Mutation("period from the data", as_kind(_PeriodFromData, counter=_OpenCounter), (GREY,)),
            Mutation("places from the data", as_kind(_CellsSeen, counter=_OpenCounter), (GREY,), UNSEEN_STOP),
        ),
    ),
)
