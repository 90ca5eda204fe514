"""How variable-length n-grams are attacked."""

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
    parameter_from_data,
    with_counter,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.mechanisms.variable_ngrams import VariableNgrams


class _NotCut(LocalCounter):
    """Counts the whole of every trip, however long."""

    def runs(self, moves: int, encoding: Alphabet | None = None) -> LevelCounter:
        return super().runs(1 << 20, encoding)


def _longest(counter: Counter) -> int:
    """Count as many moves as the longest trip makes, as published."""
    return 1 + int(counter.lengths(1 << 20).keys.max(initial=1))


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
        Mutation("trips not cut", with_counter(_NotCut), (GREY, GAME), "the longest trip"),
        Mutation(
            "cut taken from the data",
            parameter_from_data("moves", _longest),
            (GREY, GAME),
            "the longest trip",
        ),
    ),
)
