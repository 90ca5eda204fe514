"""How the noisy prefix tree is attacked."""

from dataclasses import dataclass, replace

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
    only_in_audits,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.recording import Subject
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.gate import Gate
from wayveil.synthesis.tree import PrefixTree


@dataclass(frozen=True)
class _HeightFromData:
    """As published: a tree as high as the longest trip."""

    mechanism: NoisyPrefixTree

    def measure(self, counter: Counter, gate: Gate) -> PrefixTree:
        only_in_audits(gate)
        height = max(1, int(counter.lengths(1 << 20).keys.max(initial=1)))
        return self.mechanism.model_copy(update={"height": height}).measure(counter, gate)


def _height_from_data(subject: Subject) -> Subject:
    mechanism = subject.mechanism
    if not isinstance(mechanism, NoisyPrefixTree):
        raise TypeError("only a noisy prefix tree has a height")
    return replace(subject, mechanism=_HeightFromData(mechanism))


PLAN = AuditPlan(
    NoisyPrefixTree(height=2, false_children=1.0),
    also=(
        NoisyPrefixTree(height=4),
        NoisyPrefixTree(height=5, private_height=True),
        NoisyPrefixTree.published(height=3, when_explosive="allow"),
    ),
    mutations=(
        *EVERYWHERE,
        DRAWN_AGAIN,
        *WITH_QUESTIONS,
        OBSERVED_WORLD,
        *WITH_THRESHOLDS,
        Mutation("height from the data", _height_from_data, (GREY, GAME), "the longest trip"),
    ),
)
