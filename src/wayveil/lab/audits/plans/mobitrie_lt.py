"""How the search for a good trie is attacked."""

from dataclasses import dataclass, replace
from fractions import Fraction

from wayveil.counting.protocol import Counter
from wayveil.lab.audits.mutants import EVERYWHERE, GREY, OBSERVED_WORLD, SAME_NOISE, Mutation, only_in_audits
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.plans.mobitrie import NO_CAP, OBSERVED_ONLY
from wayveil.lab.audits.recording import Subject
from wayveil.mechanisms.mobitrie import MobiTrieSearch
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.gate import Gate
from wayveil.synthesis.trie_model import Trie
from wayveil.world.marked_ngrams import MarkedNgrams


@dataclass(frozen=True)
class _QualityAfterALook:
    """As published: the wanted F1 is set for each dataset, here by how much of the universe it fills."""

    mechanism: MobiTrieSearch

    def measure(self, counter: Counter, gate: Gate) -> Trie:
        only_in_audits(gate)
        universe = MarkedNgrams(counter.world.successors, self.mechanism.n)
        seen = counter.capped_ngrams(universe, 1 << 30, SeededBits(0))
        quality = Fraction(1 + len(seen.keys), 1 + universe.size)
        return self.mechanism.model_copy(update={"quality": quality}).measure(counter, gate)


def _quality_after_a_look(subject: Subject) -> Subject:
    mechanism = subject.mechanism
    if not isinstance(mechanism, MobiTrieSearch):
        raise TypeError("only a search has a wanted quality")
    return replace(subject, mechanism=_QualityAfterALook(mechanism))


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
        Mutation("quality chosen after a look", _quality_after_a_look, (GREY,), "a path nobody takes"),
    ),
    town=False,
)
