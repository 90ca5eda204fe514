"""How the noisy prefix tree is attacked."""

from wayveil.counting.protocol import Counter
from wayveil.lab.audits.mutants import (
    DRAWN_AGAIN,
    EVERYWHERE,
    GAME,
    GREY,
    OBSERVED_WORLD,
    WITH_QUESTIONS,
    WITH_THRESHOLDS,
    Mutation,
    parameter_from_data,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree


def _longest(counter: Counter) -> int:
    """Make the tree as high as the longest trip, as published."""
    return max(1, int(counter.lengths(1 << 20).keys.max(initial=1)))


PLAN = AuditPlan(
    NoisyPrefixTree(height=2, false_children=1.0),
    also=(
        NoisyPrefixTree(height=4),
        NoisyPrefixTree(height=5, private_height=True),
        NoisyPrefixTree.published(height=3),
    ),
    mutations=(
        *EVERYWHERE,
        DRAWN_AGAIN,
        *WITH_QUESTIONS,
        OBSERVED_WORLD,
        *WITH_THRESHOLDS,
        Mutation(
            "height from the data",
            parameter_from_data("height", _longest),
            (GREY, GAME),
            "the longest trip",
        ),
    ),
)
