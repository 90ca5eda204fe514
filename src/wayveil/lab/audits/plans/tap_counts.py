"""How plain tap counts are attacked."""

from dataclasses import replace
from fractions import Fraction

from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Encoding
from wayveil.lab.audits.followers import trusting_raw_counts, with_made_up_prior
from wayveil.lab.audits.mutants import (
    DRAWN_AGAIN,
    EVERYWHERE,
    GAME,
    GREY,
    OBSERVED_WORLD,
    WITH_QUESTIONS,
    Mutation,
    with_counter,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.questions import SparseCounts
from wayveil.synthesis.model import Model
from wayveil.synthesis.tap_table import TapTable


class EveryVisit(LocalCounter):
    """Counts all visits of a trip, however many."""

    def visits(self, encoding: Encoding, universe: int, most: int | None) -> SparseCounts:
        return super().visits(encoding, universe, None)


def _distrust(model: Model, trips: float) -> Model:
    """The noise of earlier weeks is said to be larger, the farther they are from the exact number of trips."""
    assert isinstance(model, TapTable)
    weeks = (
        replace(week, scales=tuple(scale + abs(int(week.counts[1].sum() - trips)) for scale in week.scales))
        for week in model.earlier
    )
    return replace(model, earlier=tuple(weeks))


PLAN = AuditPlan(
    TapCounts(max_visits=2, time="720"),
    also=(
        TapCounts(max_visits=1),
        TapCounts(max_visits=3, time="hour-of-week", dense_cells=0),
        with_made_up_prior(TapCounts)(max_visits=2),
    ),
    epsilon=Fraction(3),
    mutations=(
        *EVERYWHERE,
        DRAWN_AGAIN,
        *WITH_QUESTIONS,
        OBSERVED_WORLD,
        Mutation("visits not capped", with_counter(EveryVisit), (GREY, GAME), "the longest trip"),
        trusting_raw_counts(TapCounts, _distrust),
    ),
)
