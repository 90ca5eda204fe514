"""The gate: the only door between exact counts and the outside.

A mechanism asks a `Question` about exact counts and gets a noisy answer. The gate derives the sensitivity from the
unit, books the spend, draws the noise, and lets nothing else out. Because every question passes here, one argument
covers every mechanism: if, given the same earlier answers, two neighbouring datasets lead to the same question over
the same public cells, and their exact counts differ by at most the booked sensitivity, then the whole run costs the
sum of the booked prices (adaptive composition). The grey-box audit checks exactly these two conditions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.privacy.budget import Budget, Spend
from wayveil.privacy.noise import discrete_gaussian, discrete_laplace
from wayveil.privacy.survivors import survivors
from wayveil.privacy.units import Contribution, Unit
from wayveil.trips.trips import Trips

# Above this many cells a histogram is never written out cell by cell.
DENSE_LIMIT = 200_000_000


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """Exact counts over public cells 0..universe-1: `counts` at the ascending `keys`, zero everywhere else."""

    universe: int
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def dense(cls, counts: NDArray[np.integer]) -> "SparseCounts":
        """All cells, one after the other."""
        return cls(len(counts), np.arange(len(counts)), np.asarray(counts, np.int64))

    @classmethod
    def of_keys(cls, universe: int, keys: NDArray[np.int64]) -> "SparseCounts":
        """How often each key occurs."""
        # A table of all cells is quickest while it is not much larger than the data.
        if universe <= max(4 * len(keys), 1 << 16):
            table = np.bincount(keys, minlength=universe)
            found = np.flatnonzero(table)
            return cls(universe, found, table[found].astype(np.int64))
        found, counts = np.unique(keys, return_counts=True)
        return cls(universe, found.astype(np.int64), counts.astype(np.int64))


@dataclass(frozen=True)
class Question:
    """What is asked of the data. Everything here is public or follows from earlier noisy answers.

    threshold  only cells whose noisy count reaches it come back; None = all cells
    """

    label: str
    universe: int
    contribution: Contribution
    price: Fraction
    scale: Fraction
    threshold: int | None
    group: str | None = None


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """A noisy answer: `counts` at ascending `keys`; every other cell fell below the question's threshold."""

    question: Question
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]


class Gate:
    """Answers questions about bounded trips under one unit and one budget."""

    def __init__(
        self,
        unit: Unit,
        budget: Budget,
        bits: Bits | None = None,
        *,
        before_first_answer: Callable[[], None] | None = None,
    ) -> None:
        self.unit = unit
        self.budget = budget
        self.bits = secure_bits() if bits is None else bits
        self._before_first_answer = before_first_answer

    @property
    def private(self) -> bool:
        """Whether the noise comes from the secure generator."""
        return self.bits.private

    def bound(self, trips: Trips) -> Trips:
        """The trips that are counted: every unit cut down to its bound."""
        return self.unit.bound(trips, self.bits)

    def scale(self, contribution: Contribution, price: Fraction) -> Fraction:
        """The noise that such a question needs: Laplace scale for epsilon, Gaussian variance for rho."""
        sensitivity = self.unit.sensitivity(contribution)
        if self.budget.currency == "rho":
            return Fraction(sensitivity.l2_squared) / (2 * price)
        return Fraction(sensitivity.l1) / price

    def histogram(
        self,
        label: str,
        exact: SparseCounts,
        contribution: Contribution,
        price: Fraction,
        *,
        threshold: int | None = None,
        group: str | None = None,
    ) -> NoisyCounts:
        """Noisy counts of all cells, or of those that reach the threshold.

        With a threshold, empty cells are not visited: those that noise lifts over it are drawn from their exact law.
        """
        if threshold is not None and threshold < 1:
            raise ParameterError(f"{label}: a threshold must be at least 1, not {threshold}")
        if threshold is None and exact.universe > DENSE_LIMIT:
            raise ParameterError(f"{label}: {exact.universe:,} cells are too many without a threshold")
        if threshold is not None and self.budget.currency == "rho":
            raise ParameterError(f"{label}: thresholded histograms are counted in epsilon, not in rho")
        question = Question(
            label, exact.universe, contribution, price, self.scale(contribution, price), threshold, group
        )
        sensitivity = self.unit.sensitivity(contribution)
        booked = sensitivity.l2_squared if self.budget.currency == "rho" else sensitivity.l1
        self.budget.spend(Spend(label, price, booked, question.scale, group))
        self.open()
        return self.answer(question, exact)

    def open(self) -> None:
        """From here on noise has been drawn and the budget cannot come back."""
        if self._before_first_answer is not None:
            self._before_first_answer()
            self._before_first_answer = None

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        """Draw the noise. Audits replace this step to record and to replay."""
        if question.threshold is None:
            noise = self._noise(question)
            noise[exact.keys] += exact.counts
            return NoisyCounts(question, np.arange(exact.universe), noise)
        noisy = exact.counts + discrete_laplace(len(exact.counts), question.scale, self.bits)
        over = noisy >= question.threshold
        empty = exact.universe - len(exact.keys)
        position, value = survivors(empty, question.scale, question.threshold, self.bits)
        # The i-th empty cell lies behind all counted cells with fewer than i+1 empty cells before them.
        before = exact.keys - np.arange(len(exact.keys))
        position = position + np.searchsorted(before, position, side="right")
        keys = np.concatenate([exact.keys[over], position])
        order = np.argsort(keys, kind="stable")
        return NoisyCounts(question, keys[order], np.concatenate([noisy[over], value])[order])

    def _noise(self, question: Question) -> NDArray[np.int64]:
        if self.budget.currency == "rho":
            return discrete_gaussian(question.universe, question.scale, self.bits)
        return discrete_laplace(question.universe, question.scale, self.bits)
