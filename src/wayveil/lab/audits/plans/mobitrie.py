"""How MobiTrie is attacked, and the mistakes of its published version."""

import numpy as np

from wayveil.counting.local import LocalCounter
from wayveil.lab.audits.mutants import (
    EVERYWHERE,
    GAME,
    GREY,
    OBSERVED_WORLD,
    PEEKING,
    WITH_QUESTIONS,
    Mutation,
    with_counter,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.privacy.bits import Bits
from wayveil.privacy.questions import SparseCounts
from wayveil.world.marked_ngrams import MarkedNgrams


class NoCap(LocalCounter):
    """Every n-gram of a trip counts, however many there are."""

    def capped_ngrams(self, universe: MarkedNgrams, most: int, bits: Bits) -> SparseCounts:
        return super().capped_ngrams(universe, 1 << 30, bits)


class ObservedNgramsOnly(LocalCounter):
    """As the study's figures suggest: only n-grams that occur in the data have a cell of their own."""

    def capped_ngrams(self, universe: MarkedNgrams, most: int, bits: Bits) -> SparseCounts:
        seen = super().capped_ngrams(universe, most, bits)
        return SparseCounts(max(len(seen.keys), 1), np.arange(len(seen.keys)), seen.counts)


NO_CAP = Mutation("cap not applied", with_counter(NoCap), (GREY, GAME), "the longest trip")
OBSERVED_ONLY = Mutation(
    "noise on observed n-grams only",
    with_counter(ObservedNgramsOnly),
    (GREY, GAME),
    "a stop nobody visits",
)

PLAN = AuditPlan(
    MobiTrie(most=2, false_share=0.2),
    also=(
        MobiTrie(),
        MobiTrie(n=2, most=3, trips_share=0),
        MobiTrie(n=4, most=1),
        MobiTrie(successors="all"),
    ),
    mutations=(*EVERYWHERE, *WITH_QUESTIONS, OBSERVED_WORLD, PEEKING, NO_CAP, OBSERVED_ONLY),
)
