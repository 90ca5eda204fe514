"""How plain tap counts are attacked."""

from dataclasses import replace
from fractions import Fraction

from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Encoding
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.gate import SparseCounts
from wayveil.risk.mutants import DRAWN_AGAIN, EVERYWHERE, GAME, GREY, OBSERVED_WORLD, WITH_QUESTIONS, Mutation
from wayveil.risk.registry import AuditPlan


class _EveryVisit(LocalCounter):
    """Counts all visits of a trip, however many."""

    def visits(self, encoding: Encoding, universe: int, most: int | None) -> SparseCounts:
        return super().visits(encoding, universe, None)


PLAN = AuditPlan(
    TapCounts(max_visits=2, time="720"),
    also=(
        TapCounts(max_visits=1),
        TapCounts(max_visits=3, time="hour-of-week", dense_cells=0),
    ),
    epsilon=Fraction(3),
    mutations=(
        *EVERYWHERE,
        DRAWN_AGAIN,
        *WITH_QUESTIONS,
        OBSERVED_WORLD,
        Mutation(
            "visits not capped",
            lambda subject: replace(subject, counter=_EveryVisit),
            (GREY, GAME),
            "the longest trip",
        ),
    ),
)
