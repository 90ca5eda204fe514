"""Gate that protects nobody: published experiments noised only what occurs in the data.

Which cells come back tells which ones somebody was in, whatever epsilon is. Studies use it to say with a number how
much of a printed figure such a leak explains. It takes noise from a seed alone, so no release can be made with it.
"""

from dataclasses import replace

from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts, Question, SparseCounts
from wayveil.privacy.units import Unit


class ObservedOnlyGate(Gate):
    """Answers about the cells that occur in the data, and about no others. Not private at any epsilon."""

    def __init__(self, unit: Unit, budget: Budget, bits: Bits) -> None:
        if bits.private:
            raise ParameterError(
                "a gate that leaks takes noise from a seed: nothing that it answers may leave"
            )
        super().__init__(unit, budget, bits)

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        """Noise on the cells that somebody is in; the empty ones are left out."""
        seen = SparseCounts.dense(exact.counts)
        noisy = super().answer(replace(question, universe=seen.universe), seen)
        return NoisyCounts(question, exact.keys[noisy.keys], noisy.counts)

    def inner(self, budget: Budget) -> Gate:
        """Searches leak in every draw."""
        return ObservedOnlyGate(self.unit, budget, self.bits)
