"""Variable-length n-grams over alphabets of tens of thousands: pairs of stop and time, or long lists of places.

Hundreds of millions of 2-grams are possible there, and few occur. Every one of them has its noise, but only those that
reach a threshold come back (the gate draws the empty ones among them from their law), and only they grow longer
contexts, whose next symbols are asked for in the same way. Nothing is as large as the universe.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.counting.protocol import Frontier
from wayveil.mechanisms.ngram_questions import NgramQuestions
from wayveil.synthesis.length_histogram import NoisyLengths
from wayveil.synthesis.ngram_model import NgramModel, NgramTable
from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.sparse_contexts import Kept, SparseContexts
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class Singles:
    """What is known before the tree: noisy counts of single symbols and (last) of ends, of trips, and of lengths."""

    noisy: Ints
    scale: Fraction
    moves: int
    trips: float
    lengths: NoisyLengths


class ImplicitNgrams:
    """Grows contexts from what stands out, level by level, and completes them (see `sparse_contexts`)."""

    def __init__(
        self,
        questions: NgramQuestions,
        first: Frontier,
        singles: Singles,
        n_max: int,
        false_moves: float,
        expected_thresholds: float,
    ) -> None:
        self.questions, self.first, self.singles = questions, first, singles
        self.n_max, self.false_moves, self.expected = n_max, false_moves, expected_thresholds
        self.size = len(first.states) - 1  # the begin mark is the last state
        self.begin, self.end = self.size, self.size + 1

    def measure(
        self, world: World, bins: TimeBins | None, double: int, left: int, longest: int
    ) -> NgramModel:
        """The 2-grams for `double` units of the price, longer ones in equal parts for what is left."""
        single, contexts = self.singles, SparseContexts(self.end)
        cells, noisy, limit = self.questions.ask_over(2, self.first, double, self.false_moves)
        grams = self._grams(np.arange(self.end)[:, None], self.first, cells)
        visits = onto_total(single.noisy, max(float(single.noisy.sum()), 1.0))
        starts = grams[:, 0] == self.begin
        count = noisy.astype(np.float64)
        count[starts] = onto_total(noisy[starts], single.trips)
        total = np.append(visits[: self.size], single.trips)
        some = count > 0
        kept = Kept(grams[some], noisy[some], count[some], self.questions.scale(double), limit)
        tables = [self._singles(visits), contexts.complete(np.arange(self.end)[:, None], total, kept)]
        for length in range(3, self.n_max + 1):
            if left == 0:
                break
            units = max(left // (self.n_max - length + 1), 1)
            left -= units
            cells, grams, noisy, table = self._longer(contexts, length, cells, grams, noisy, units)
            if table is None:
                break
            tables.append(table)
        return NgramModel(
            world,
            tuple(tables),
            (self.begin,),
            self.end,
            single.trips,
            longest,
            single.moves,
            single.lengths,
            bins,
        )

    def _longer(
        self, contexts: SparseContexts, length: int, cells: Ints, grams: Ints, noisy: Ints, units: int
    ) -> tuple[Ints, Ints, Ints, NgramTable | None]:
        """n-grams of one symbol more, under those that are frequent enough for a child to stand out."""
        scale = self.questions.scale(units)
        going = grams[:, -1] < self.end
        degree = self.first.successors.degree(np.minimum(grams[:, -1], self.size))
        # A child can have at most all of its context, so fewer than its threshold cannot show one.
        least = float(scale) * np.log(np.maximum(degree / (2 * self.false_moves), np.e))
        grows = going & (noisy >= self.expected * least)
        self.questions.descend(cells[grows])
        grown, total = grams[grows], noisy[grows].astype(np.float64)
        if len(grown) == 0:
            return cells, grams, noisy, None
        frontier = Frontier(grown[:, -1], self.first.successors)
        cells, noisy, limit = self.questions.ask_over(length, frontier, units, self.false_moves)
        grams = self._grams(grown, frontier, cells)
        return (
            cells,
            grams,
            noisy,
            contexts.complete(grown, total, Kept(grams, noisy, noisy.astype(np.float64), scale, limit)),
        )

    def _grams(self, contexts: Ints, frontier: Frontier, cells: Ints) -> Ints:
        """The symbols of each cell: those of its context, and the one that follows."""
        parent, symbol, _ = frontier.children(cells)
        return np.concatenate([contexts[parent], symbol[:, None].astype(np.int64)], axis=1)

    def _singles(self, visits: Floats) -> NgramTable:
        names = np.append(np.arange(self.size), self.end)[:, None]
        return NgramTable(names, self.singles.noisy, visits, self.singles.scale)
