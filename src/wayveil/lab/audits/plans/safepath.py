"""How SafePath is attacked."""

from fractions import Fraction

from wayveil.lab.audits.mutants import (
    CHORUS,
    EVERYWHERE,
    GAME,
    GREY,
    OBSERVED_WORLD,
    WITH_QUESTIONS,
    WITH_THRESHOLDS,
    BrokenGate,
    Mutation,
    with_gate,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.mechanisms.safepath import SafePath
from wayveil.privacy.contributions import Contribution


class _TwiceItsShare(BrokenGate):
    """Every level draws the noise of twice the share that is booked for it.

    So the published shares work out: those of a tall taxonomy's general levels alone are more than their visit has.
    """

    def scale(self, contribution: Contribution, price: Fraction) -> Fraction:
        return super().scale(contribution, 2 * price)


OVERSPENT = Mutation(
    "shares that add up to more than epsilon", with_gate(_TwiceItsShare), (GREY, CHORUS, GAME)
)

PLAN = AuditPlan(
    SafePath(height=1, time="720", location_height=0, false_children=1.0),
    also=(
        SafePath(height=2, leaf_weight=2.0),
        SafePath(height=2, time="hour-of-week", location_height=2, location_fan_out=2, time_height=2),
        SafePath.published(height=1, location_groups="balanced"),
    ),
    on_networks=(
        SafePath(height=2, time="720", successors="network", location_fan_out=2, false_children=1.0),
    ),
    epsilon=Fraction(3),
    mutations=(*EVERYWHERE, *WITH_QUESTIONS, OBSERVED_WORLD, *WITH_THRESHOLDS, OVERSPENT),
)
