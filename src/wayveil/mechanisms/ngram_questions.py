"""The questions of variable-length n-grams: all of them together are one group, which is paid for once."""

from fractions import Fraction

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.counting.protocol import Frontier, LevelCounter
from wayveil.mechanisms.thresholds import noise_aware_threshold
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts, SparseCounts
from wayveil.synthesis.ngram_model import NOT_ASKED

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
            exact = SparseCounts(len(wanted), found[inside], self._exact.counts[inside])
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
        moves = SparseCounts(begin, keys[inside], self._exact.counts[inside])
        starts = SparseCounts(frontier.universe - begin, keys[~inside] - begin, self._exact.counts[~inside])
        over = self._histogram(length, moves, units, limit)
        first = self._histogram(length, starts, units, beginning=True)
        cells = np.concatenate([over.keys, begin + first.keys])
        return cells, np.concatenate([over.counts, first.counts]), limit

    def ask_singles(self, frontier: Frontier, units: int) -> Ints:
        """How often trips come to each location, and to the end, within the moves that count."""
        self._exact = self._runs.count(frontier)
        size = len(frontier.states)  # the begin mark, which nothing comes to, gives its number to the end
        arrivals = frontier.children(self._exact.keys)[1].astype(np.int64)
        return self._histogram(
            1, SparseCounts.of_keys(size, np.minimum(arrivals, size - 1), self._exact.counts), units
        ).counts

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
