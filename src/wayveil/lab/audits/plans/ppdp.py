"""How PPDP is attacked. The published check that is stricter with true zeros is among the mistakes made everywhere."""

from fractions import Fraction

from wayveil.lab.audits.mutants import EVERYWHERE, WITH_QUESTIONS, WITH_THRESHOLDS
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.plans.safepath import OVERSPENT
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.mechanisms.ppdp import PPDP

PLAN = AuditPlan(
    PPDP(height=2, time="720", false_children=1.0),
    also=(
        PPDP(height=3, max_gap=1),
        PPDP(height=3, time="10", prune_early=False, smoothing_factor=3.0),
        PPDP.published(height=3, time="240"),
    ),
    epsilon=Fraction(2),
    worlds=(small_network,),
    largest=1_500,
    mutations=(*EVERYWHERE, *WITH_QUESTIONS, *WITH_THRESHOLDS, OVERSPENT),
)
