"""How DPT is attacked: every level on its own price, the choice of the finest system, and the mistakes in it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Counter
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
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.mechanisms.dpt import DPT
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.world.reference_systems import ReferenceSystems
from wayveil.world.timebins import TimeBins
from wayveil.world.walk_blocks import Block


class _WholeSteps(LocalCounter):
    """Every step counts whole, so that a long trip counts many times."""

    def block(self, block: Block, whole: int, bins: TimeBins | None = None) -> SparseCounts:
        return super().block(block, 4 * whole if block.spread else whole, bins)


class _ObservedCells(LocalCounter):
    """Only cells that somebody is in have a place in the histogram."""

    def block(self, block: Block, whole: int, bins: TimeBins | None = None) -> SparseCounts:
        seen = super().block(block, whole, bins)
        return SparseCounts(max(len(seen.keys), 1), np.arange(len(seen.keys)), seen.counts)


class _LookingDPT(DPT):
    """The finest system is chosen by a look at the exact number of trips, and nothing is paid for it."""

    def _choose(self, counter: Counter, gate: Gate, systems: ReferenceSystems, price: Fraction) -> int:
        only_in_audits(gate)
        return int(counter.trips().counts.sum()) % systems.systems


SMALL = DPT(metres=400.0, systems=2, height=2, parts=12, false_children=1.0)

PLAN = AuditPlan(
    SMALL,
    also=(DPT(metres=100.0, systems=4, height=3), DPT(metres=3_000.0, systems=1, height=2)),
    epsilon=Fraction(8),
    whole=Fraction(2),
    worlds=(small_network,),
    mutations=(
        *EVERYWHERE,
        *WITH_QUESTIONS,
        OBSERVED_WORLD,
        Mutation("steps not normalised", with_counter(_WholeSteps), (GREY, GAME), "the longest trip"),
        Mutation("cells from the data", with_counter(_ObservedCells), (GREY,), "a stop nobody visits"),
        Mutation(
            "system chosen by a look",
            lambda subject: replace(subject, mechanism=_LookingDPT(**dict(SMALL))),
            (GREY,),
        ),
    ),
)
