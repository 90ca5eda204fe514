"""Attack plans of trees of prefixes: the noisy prefix tree, SeqPT, PPDP, SafePath and DPT."""

from fractions import Fraction

from wayveil.counting.counter import Counter
from wayveil.lab.audits.mutants import (
    CHORUS,
    COMMON,
    DRAWN_AGAIN,
    EVERYWHERE,
    GAME,
    GREY,
    LONG_TRIP,
    LONGEST,
    UNSEEN_STOP,
    WITH_QUESTIONS,
    WITH_THRESHOLDS,
    BrokenGate,
    Mutation,
    as_kind,
    counting,
    only_in_audits,
    only_seen,
    parameter_from_data,
    whole_steps,
    with_gate,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.mechanisms.dpt import DPT
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.world.reference_systems import ReferenceSystems


def _longest(counter: Counter) -> int:
    """Make the tree as high as the longest trip, as published."""
    return max(1, int(counter.lengths(1 << 20).keys.max(initial=1)))


class _TwiceItsShare(BrokenGate):
    """Every level draws the noise of twice the share that is booked for it.

    So the published shares work out: those of a tall taxonomy's general levels alone are more than their visit has.
    """

    def scale(self, contribution: Contribution, price: Fraction) -> Fraction:
        return super().scale(contribution, 2 * price)


class _LookingDPT(DPT):
    """The finest system is chosen by a look at the exact number of trips, and nothing is paid for it."""

    def _choose(self, counter: Counter, gate: Gate, systems: ReferenceSystems, price: Fraction) -> int:
        only_in_audits(gate)
        return int(counter.trips().counts.sum()) % systems.systems


OVERSPENT = Mutation(
    "shares that add up to more than epsilon", with_gate(_TwiceItsShare), (GREY, CHORUS, GAME)
)

# What the tree lost is filled up by visits that are counted beside it.
FILLED = NoisyPrefixTree(height=2, successors="all", filling=Fraction(1, 2))

PLANS = (
    AuditPlan(
        NoisyPrefixTree(height=2, false_children=1.0),
        also=(
            FILLED,
            NoisyPrefixTree(height=4),
            NoisyPrefixTree(height=5, private_height=True),
            NoisyPrefixTree.published(height=3),
        ),
        mutations=(
            *COMMON,
            DRAWN_AGAIN,
            *WITH_THRESHOLDS,
            Mutation("height from the data", parameter_from_data("height", _longest), (GREY, GAME), LONGEST),
            Mutation(
                "filled up by visits that are not capped",
                counting("visits", lambda honest, by, size, most: honest(by, size, None), mechanism=FILLED),
                (GREY,),
                LONG_TRIP,
            ),
        ),
    ),
    AuditPlan(
        SeqPT(height=2, time="720", false_children=1.0),
        also=(
            SeqPT(height=3),
            SeqPT(height=4, time="hour-of-week", smoothing=False, successors="all", filling=Fraction(1, 3)),
            SeqPT.published(height=2, time="240"),
        ),
        epsilon=Fraction(2),
        lawful=60,
        mutations=(*COMMON, *WITH_THRESHOLDS),
    ),
    # The published check that is stricter with true zeros is among the mistakes made everywhere.
    AuditPlan(
        PPDP(height=2, time="720", false_children=1.0),
        also=(
            PPDP(height=3, max_gap=1, filling=Fraction(1, 3)),
            PPDP(height=3, time="10", prune_early=False, smoothing_factor=3.0),
            PPDP.published(height=3, time="240"),
        ),
        epsilon=Fraction(2),
        worlds=(small_network,),
        largest=1_500,
        mutations=(*EVERYWHERE, *WITH_QUESTIONS, *WITH_THRESHOLDS, OVERSPENT),
    ),
    AuditPlan(
        SafePath(height=1, time="720", location_height=0, false_children=1.0),
        also=(
            SafePath(height=2, leaf_weight=2.0, filling=Fraction(1, 3)),
            SafePath(height=2, time="hour-of-week", location_height=2, location_fan_out=2, time_height=2),
            SafePath.published(height=1, location_groups="balanced"),
        ),
        on_networks=(
            SafePath(height=2, time="720", successors="network", location_fan_out=2, false_children=1.0),
        ),
        epsilon=Fraction(3),
        mutations=(*COMMON, *WITH_THRESHOLDS, OVERSPENT),
    ),
    # DPT: every level on its own price, and the choice of the finest system.
    AuditPlan(
        DPT(metres=400.0, systems=2, height=2, parts=12, false_children=1.0),
        also=(DPT(metres=100.0, systems=4, height=3), DPT(metres=3_000.0, systems=1, height=2)),
        epsilon=Fraction(8),
        whole=Fraction(2),
        worlds=(small_network,),
        mutations=(
            *COMMON,
            Mutation("steps not normalised", counting("block", whole_steps), (GREY, GAME), LONGEST),
            Mutation("cells from the data", counting("block", only_seen), (GREY,), UNSEEN_STOP),
            Mutation("system chosen by a look", as_kind(_LookingDPT), (GREY,)),
        ),
    ),
)
