"""The questions of variable-length n-grams: all of them together are one group, which is paid for once.

Variable-length n-grams over alphabets of tens of thousands: pairs of stop and time, or long lists of places.

Hundreds of millions of 2-grams are possible there, and few occur. Every one of them has its noise, but only those that
reach a threshold come back (the gate draws the empty ones among them from their law), and only they grow longer
contexts, whose next symbols are asked for in the same way. Nothing is as large as the universe.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.counting.protocol import Frontier, LevelCounter
from wayveil.mechanisms.shared_fields import noise_aware_threshold
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts, SparseCounts
from wayveil.synthesis.ngram_model import NOT_ASKED, NgramModel, NgramTable, NoisyLengths
from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.trie_model import Kept, SparseContexts
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

# Shares of epsilon on the way down the tree, in whole units.
UNITS = 120


class NgramQuestions:
    """Asks for the counts of one level after the other, each cell with its own share of one price."""

    def __init__(self, gate: Gate, price: Fraction, moves: int, runs: LevelCounter) -> None:
        self._gate, self._price, self._moves, self._runs = gate, price, moves, runs
        self._exact = SparseCounts(0, np.zeros(0, np.int64), np.zeros(0, np.int64))

    def contribution(self, units: int) -> Contribution:
        """Runs from `moves` places, blown up by what is missing to the whole price: noise for a share of it."""
        return Contribution(per_trip=-(-self._moves * UNITS // units), per_cell=self._moves)

    def scale(self, units: int) -> Fraction:
        return self._gate.scale(self.contribution(units), self._price)

    def scales(self) -> Floats:
        """Noise scale by units, none for zero."""
        return np.array([np.inf, *(float(self.scale(units)) for units in range(1, UNITS + 1))])

    def ask(self, length: int, frontier: Frontier, units: Ints) -> Ints:
        """Noisy counts of the cells with units; one question for all cells with the same number of them."""
        if length > 2:  # the counts of the first level are known from the singles
            self._exact = self._runs.count(frontier)
        noisy = np.full(frontier.universe, NOT_ASKED, np.int64)
        for each in np.unique(units[units > 0]).tolist():
            wanted = np.flatnonzero(units == each)
            place = np.full(frontier.universe, -1, np.int64)
            place[wanted] = np.arange(len(wanted))
            found = place[self._exact.keys]
            inside = found >= 0
            exact = SparseCounts(len(wanted), found[inside], self._exact.counts[inside], self._exact.parts)
            noisy[wanted] = self._histogram(length, exact, each).counts
        return noisy

    def ask_over(
        self, length: int, frontier: Frontier, units: int, false_moves: float
    ) -> tuple[Ints, Ints, int]:
        """Cells whose noisy count reaches the threshold, their counts, and the threshold: no table of all cells.

        So many cells of a context reach it by noise alone, on average. The row of the begin mark, which is the last one
        of the first level, is asked for whole: every trip begins once, and there are no more cells than symbols.
        """
        scale = self.scale(units)
        if length > 2:
            self._exact = self._runs.count(frontier)
            limit = noise_aware_threshold(frontier.universe, false_moves * len(frontier.states), scale)
            over = self._histogram(length, self._exact, units, limit)
            return over.keys, over.counts, limit
        begin, keys = int(frontier.starts[-2]), self._exact.keys
        limit = noise_aware_threshold(begin, false_moves * (len(frontier.states) - 1), scale)
        inside = keys < begin
        counts, parts = self._exact.counts, self._exact.parts
        moves = SparseCounts(begin, keys[inside], counts[inside], parts)
        starts = SparseCounts(frontier.universe - begin, keys[~inside] - begin, counts[~inside], parts)
        over = self._histogram(length, moves, units, limit)
        first = self._histogram(length, starts, units, beginning=True)
        cells = np.concatenate([over.keys, begin + first.keys])
        return cells, np.concatenate([over.counts, first.counts]), limit

    def ask_singles(self, frontier: Frontier, units: int) -> Ints:
        """Ask how often trips come to each location, and to the end, within the moves that count."""
        self._exact = self._runs.count(frontier)
        size = len(frontier.states)  # the begin mark, which nothing comes to, gives its number to the end
        arrivals = frontier.children(self._exact.keys)[1].astype(np.int64)
        exact = SparseCounts.of_keys(
            size, np.minimum(arrivals, size - 1), self._exact.counts, self._exact.parts
        )
        return self._histogram(1, exact, units).counts

    def _histogram(
        self,
        length: int,
        exact: SparseCounts,
        units: int,
        threshold: int | None = None,
        *,
        beginning: bool = False,
    ) -> NoisyCounts:
        where = " from the beginning" if beginning else ""
        label = f"{length}-grams{where} for {units}/{UNITS} of the price"
        return self._gate.histogram(
            label, exact, self.contribution(units), self._price, threshold=threshold, group="n-grams"
        )

    def descend(self, cells: Ints) -> None:
        self._runs.descend(cells)


@dataclass(frozen=True, eq=False)
class Singles:
    """Counts known before the tree: noisy counts of single symbols and (last) of ends, of trips, and of lengths."""

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
