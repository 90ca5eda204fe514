"""How the exhaustive time tree is attacked."""

from fractions import Fraction

from wayveil.lab.audits.mutants import EVERYWHERE, OBSERVED_WORLD, WITH_QUESTIONS, WITH_THRESHOLDS
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.mechanisms.seqpt import SeqPT

PLAN = AuditPlan(
    SeqPT(height=2, time="720", false_children=1.0),
    also=(
        SeqPT(height=3),
        SeqPT(height=4, time="hour-of-week", smoothing=False),
        SeqPT.published(height=2, time="240"),
    ),
    epsilon=Fraction(2),
    lawful=60,
    mutations=(*EVERYWHERE, *WITH_QUESTIONS, OBSERVED_WORLD, *WITH_THRESHOLDS),
)
