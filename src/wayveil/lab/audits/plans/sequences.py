"""Attack plans of mechanisms that count n-grams: the Markov chain, variable-length n-grams, and MobiTrie's two."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from wayveil.counting.counter import Counter
from wayveil.counting.local import LocalCounter
from wayveil.counting.ngram_counts import count_normalised_ngrams
from wayveil.counting.protocol import Alphabet
from wayveil.counting.tally import counted
from wayveil.lab.audits.mutants import (
    COMMON,
    EVERYWHERE,
    GAME,
    GREY,
    LONG_TRIP,
    LONGEST,
    OBSERVED_WORLD,
    PEEKING,
    SAME_NOISE,
    UNSEEN_PATH,
    UNSEEN_STOP,
    Mutation,
    counting,
    only_seen,
    parameter_from_data,
    with_counter,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mobitrie import MobiTrie, MobiTrieSearch
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.bits import Bits, SeededBits
from wayveil.privacy.questions import SparseCounts
from wayveil.world.marked_ngrams import MarkedNgrams

MOST_MOVES = 12
Honest = Callable[..., SparseCounts]


class _StopsAtTwelve(LocalCounter):
    """Weights shrink with the number of moves, but only down to a twelfth."""

    def normalised_ngrams(self, universe: MarkedNgrams, whole: int) -> SparseCounts:
        moves = self._trips.lengths + universe.begins
        counts = counted(count_normalised_ngrams(universe, whole), self._trips.take(moves <= MOST_MOVES))
        table = np.zeros(universe.size, np.int64)
        table[counts.keys] = counts.counts
        for trip in np.flatnonzero(moves > MOST_MOVES):
            # As if it had so much to give that a twelfth of what others have is left for every move.
            alone, heavier = self._trips.take(np.array([trip])), whole // MOST_MOVES * int(moves[trip])
            counts = counted(count_normalised_ngrams(universe, heavier), alone)
            table[counts.keys] += counts.counts
        found = np.flatnonzero(table)
        return SparseCounts(universe.size, found, table[found])


class _WholeMoves(LocalCounter):
    """Every move counts whole, so that a long trip counts many times."""

    def normalised_ngrams(self, universe: MarkedNgrams, whole: int) -> SparseCounts:
        moves = self.capped_ngrams(universe, 1 << 30, SeededBits(0))
        return SparseCounts(moves.universe, moves.keys, moves.counts * whole)


def _uncapped(honest: Honest, universe: MarkedNgrams, most: int, bits: Bits) -> SparseCounts:
    """Every n-gram of a trip counts, however many there are."""
    return honest(universe, 1 << 30, bits)


def _not_cut(honest: Honest, moves: int, encoding: Alphabet | None = None) -> SparseCounts:
    """Count the whole of every trip, however long."""
    return honest(1 << 20, encoding)


def _longest(counter: Counter) -> int:
    """Count as many moves as the longest trip makes, as published."""
    return 1 + int(counter.lengths(1 << 20).keys.max(initial=1))


def _share_of_universe(counter: Counter) -> Fraction:
    """Set the wanted F1 for each dataset, as published: here by how much of the universe it fills."""
    universe = MarkedNgrams(counter.world.successors, 3)
    seen = counter.capped_ngrams(universe, 1 << 30, SeededBits(0))
    return Fraction(1 + len(seen.keys), 1 + universe.size)


# The mistakes of the published MobiTrie; its figures suggest that only n-grams that occur had a cell of their own.
NO_CAP = Mutation("cap not applied", counting("capped_ngrams", _uncapped), (GREY, GAME), LONGEST)
OBSERVED_ONLY = Mutation(
    "noise on observed n-grams only", counting("capped_ngrams", only_seen), (GREY, GAME), UNSEEN_STOP
)

PLANS = (
    AuditPlan(
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
            *COMMON,
            Mutation("contributions not normalised", with_counter(_WholeMoves), (GREY, GAME), LONGEST),
            Mutation(
                "normalisation stops at 12 moves", with_counter(_StopsAtTwelve), (GREY, GAME), LONG_TRIP
            ),
        ),
    ),
    AuditPlan(
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
            *COMMON,
            Mutation("trips not cut", counting("runs", _not_cut), (GREY, GAME), LONGEST),
            Mutation(
                "cut taken from the data", parameter_from_data("moves", _longest), (GREY, GAME), LONGEST
            ),
        ),
    ),
    AuditPlan(
        MobiTrie(most=2, false_share=0.2),
        also=(
            MobiTrie(),
            MobiTrie(n=2, most=3, trips_share=0),
            MobiTrie(n=4, most=1, returns=False),
            MobiTrie(successors="all"),
        ),
        mutations=(*COMMON, PEEKING, NO_CAP, OBSERVED_ONLY),
    ),
    AuditPlan(
        MobiTrieSearch(
            most=2, quality=Fraction(1, 4), gamma=Fraction(1, 3), slack=0, count_share=Fraction(1, 2)
        ),
        also=(
            MobiTrieSearch(gamma=Fraction(1, 5)),
            MobiTrieSearch.published(gamma=Fraction(1, 5), quality=Fraction(1, 4)),
            MobiTrieSearch(
                n=2, most=3, trips_share=0, gamma=Fraction(1, 5), quality=Fraction(9, 10), slack=0
            ),
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
                UNSEEN_PATH,
            ),
        ),
        town=False,
    ),
)
