"""How the Markov chain with normalised contributions is attacked."""

from dataclasses import replace
from fractions import Fraction

from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.markov import Markov
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.gate import SparseCounts
from wayveil.risk.mutants import EVERYWHERE, GAME, GREY, OBSERVED_WORLD, WITH_QUESTIONS, Mutation
from wayveil.risk.registry import AuditPlan
from wayveil.world.marked_ngrams import MarkedNgrams


class _WholeMoves(LocalCounter):
    """Every move counts whole, so that a long trip counts many times."""

    def normalised_ngrams(self, universe: MarkedNgrams, whole: int) -> SparseCounts:
        moves = self.capped_ngrams(universe, 1 << 30, SeededBits(0))
        return SparseCounts(moves.universe, moves.keys, moves.counts * whole)


PLAN = AuditPlan(
    Markov(order=2, parts=12),
    also=(
        Markov(),
        Markov(order=2, trips_share=Fraction(1, 2)),
        Markov(successors="all", lengths_share=Fraction(1, 10)),
    ),
    epsilon=Fraction(2),
    mutations=(
        *EVERYWHERE,
        *WITH_QUESTIONS,
        OBSERVED_WORLD,
        Mutation(
            "contributions not normalised",
            lambda subject: replace(subject, counter=_WholeMoves),
            (GREY, GAME),
            "the longest trip",
        ),
    ),
)
