"""How counts of taps by stop, route and time are attacked."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np

from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Counter
from wayveil.lab.audits.followers import with_made_up_prior
from wayveil.lab.audits.mutants import (
    EVERYWHERE,
    GAME,
    GREY,
    OBSERVED_WORLD,
    WITH_QUESTIONS,
    Mutation,
    only_in_audits,
    with_counter,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.plans.tap_counts import EveryVisit
from wayveil.lab.audits.recording import Subject
from wayveil.lab.audits.tiny_worlds import plain_world, small_network
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.privacy.gate import Gate
from wayveil.synthesis.tap_model import TapModel
from wayveil.taps.boardings import Boardings
from wayveil.trips.trips import Trips

DAY_ONE = date(1970, 1, 1)  # the trips of tiny worlds are made in the first days of 1970


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


def _peeking(kind: type[TapMargins]) -> Callable[[Subject], Subject]:
    def make(subject: Subject) -> Subject:
        settings = dict(subject.mechanism) if isinstance(subject.mechanism, TapMargins) else {}
        return replace(subject, mechanism=kind(**settings), counter=_OpenCounter)

    return make


PLAN = AuditPlan(
    TapMargins(first_day=DAY_ONE, days=1, max_visits=2, riders=False),
    also=(
        TapMargins(first_day=DAY_ONE, days=4, max_visits=1, riders=False, period="week"),
        TapMargins(
            first_day=DAY_ONE,
            days=2,
            max_visits=3,
            riders=False,
            shares=(Fraction(1, 10), Fraction(1, 10), Fraction(4, 5)),
        ),
        with_made_up_prior(TapMargins)(first_day=DAY_ONE, days=2, max_visits=2, riders=False),
    ),
    epsilon=Fraction(3),
    worlds=(plain_world, small_boardings),
    mutations=(
        *EVERYWHERE,
        *WITH_QUESTIONS,
        OBSERVED_WORLD,
        Mutation("visits not capped", with_counter(EveryVisit), (GREY, GAME), "the longest trip"),
        Mutation("period from the data", _peeking(_PeriodFromData), (GREY,)),
        Mutation("places from the data", _peeking(_CellsSeen), (GREY,), "a stop nobody visits"),
    ),
)
