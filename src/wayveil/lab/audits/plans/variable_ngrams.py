"""How variable-length n-grams are attacked."""

from dataclasses import dataclass, replace
from fractions import Fraction

from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Alphabet, Counter, LevelCounter
from wayveil.lab.audits.mutants import (
    EVERYWHERE,
    GAME,
    GREY,
    OBSERVED_WORLD,
    WITH_QUESTIONS,
    Mutation,
    only_in_audits,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.recording import Subject
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.gate import Gate
from wayveil.synthesis.ngram_model import NgramModel


class _NotCut(LocalCounter):
    """Counts the whole of every trip, however long."""

    def runs(self, moves: int, encoding: Alphabet | None = None) -> LevelCounter:
        return super().runs(1 << 20, encoding)


@dataclass(frozen=True)
class _CutFromData:
    """As published: as many moves as the longest trip makes."""

    mechanism: VariableNgrams

    def measure(self, counter: Counter, gate: Gate) -> NgramModel:
        only_in_audits(gate)
        moves = 1 + int(counter.lengths(1 << 20).keys.max(initial=1))
        return self.mechanism.model_copy(update={"moves": moves}).measure(counter, gate)


def _cut_from_data(subject: Subject) -> Subject:
    mechanism = subject.mechanism
    if not isinstance(mechanism, VariableNgrams):
        raise TypeError("only variable-length n-grams are cut")
    return replace(subject, mechanism=_CutFromData(mechanism))


PLAN = AuditPlan(
    VariableNgrams(n_max=3, moves=3, trips_share=Fraction(1, 4), expected_scales=0.1),
    also=(
        VariableNgrams(n_max=5, moves=4, expected_scales=0.01),
        VariableNgrams(n_max=4, moves=6, private_moves=True, expected_scales=0.05),
        VariableNgrams(n_max=2, moves=2),
        VariableNgrams(n_max=3, moves=4, time="720"),
        VariableNgrams(n_max=4, moves=6, time="720", dense_cells=1, expected_scales=0.01, false_moves=1),
    ),
    epsilon=Fraction(4),
    whole=Fraction(3),
    mutations=(
        *EVERYWHERE,
        *WITH_QUESTIONS,
        OBSERVED_WORLD,
        Mutation(
            "trips not cut",
            lambda subject: replace(subject, counter=_NotCut),
            (GREY, GAME),
            "the longest trip",
        ),
        Mutation("cut taken from the data", _cut_from_data, (GREY, GAME), "the longest trip"),
    ),
)
