"""How the search for a good trie is attacked."""

from fractions import Fraction

from wayveil.counting.protocol import Counter
from wayveil.lab.audits.mutants import (
    EVERYWHERE,
    GREY,
    OBSERVED_WORLD,
    SAME_NOISE,
    Mutation,
    parameter_from_data,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.plans.mobitrie import NO_CAP, OBSERVED_ONLY
from wayveil.mechanisms.mobitrie import MobiTrieSearch
from wayveil.privacy.bits import SeededBits
from wayveil.world.marked_ngrams import MarkedNgrams


def _share_of_universe(counter: Counter) -> Fraction:
    """Set the wanted F1 for each dataset, as published: here by how much of the universe it fills."""
    universe = MarkedNgrams(counter.world.successors, 3)
    seen = counter.capped_ngrams(universe, 1 << 30, SeededBits(0))
    return Fraction(1 + len(seen.keys), 1 + universe.size)


PLAN = AuditPlan(
    MobiTrieSearch(most=2, quality=Fraction(1, 4), gamma=Fraction(1, 3), slack=0, count_share=Fraction(1, 2)),
    also=(
        MobiTrieSearch(gamma=Fraction(1, 5)),
        MobiTrieSearch.published(gamma=Fraction(1, 5), quality=Fraction(1, 4)),
        MobiTrieSearch(n=2, most=3, trips_share=0, gamma=Fraction(1, 5), quality=Fraction(9, 10), slack=0),
    ),
    epsilon=Fraction(2),
    mutations=(
        *EVERYWHERE,
        SAME_NOISE,
        OBSERVED_WORLD,
        NO_CAP,
        OBSERVED_ONLY,
        Mutation(
            "quality chosen after a look",
            parameter_from_data("quality", _share_of_universe),
            (GREY,),
            "a path nobody takes",
        ),
    ),
    town=False,
)
