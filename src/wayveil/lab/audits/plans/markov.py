"""How the Markov chain with normalised contributions is attacked."""

from fractions import Fraction

import numpy as np

from wayveil.counting.local import LocalCounter
from wayveil.counting.ngram_counts import CountNormalisedNgrams
from wayveil.counting.tally import counted
from wayveil.lab.audits.mutants import (
    EVERYWHERE,
    GAME,
    GREY,
    LONG_TRIP,
    OBSERVED_WORLD,
    WITH_QUESTIONS,
    Mutation,
    with_counter,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.mechanisms.markov import Markov
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.questions import SparseCounts
from wayveil.world.marked_ngrams import MarkedNgrams

MOST_MOVES = 12


class _StopsAtTwelve(LocalCounter):
    """Weights shrink with the number of moves, but only down to a twelfth."""

    def normalised_ngrams(self, universe: MarkedNgrams, whole: int) -> SparseCounts:
        moves = self._trips.lengths + universe.begins
        counts = counted(CountNormalisedNgrams(universe, whole), self._trips.take(moves <= MOST_MOVES))
        table = np.zeros(universe.size, np.int64)
        table[counts.keys] = counts.counts
        for trip in np.flatnonzero(moves > MOST_MOVES):
            # As if it had so much to give that a twelfth of what others have is left for every move.
            alone, heavier = self._trips.take(np.array([trip])), whole // MOST_MOVES * int(moves[trip])
            counts = counted(CountNormalisedNgrams(universe, heavier), alone)
            table[counts.keys] += counts.counts
        found = np.flatnonzero(table)
        return SparseCounts(universe.size, found, table[found])


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
        Markov(time="720"),
        Markov(time="720", dense_cells=1, trips_share=Fraction(1, 2), false_moves=1),
        Markov(successors="all", lengths_share=Fraction(1, 10)),
    ),
    epsilon=Fraction(2),
    mutations=(
        *EVERYWHERE,
        *WITH_QUESTIONS,
        OBSERVED_WORLD,
        Mutation("contributions not normalised", with_counter(_WholeMoves), (GREY, GAME), "the longest trip"),
        Mutation("normalisation stops at 12 moves", with_counter(_StopsAtTwelve), (GREY, GAME), LONG_TRIP),
    ),
)
