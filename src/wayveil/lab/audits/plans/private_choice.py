"""Attack plan of the private choice among mechanisms: beside the usual mistakes, those that a search invites."""

from fractions import Fraction
from typing import Any

from pydantic import PrivateAttr

from wayveil.counting.counter import Counter
from wayveil.lab.audits.mutants import (
    COMMON,
    GREY,
    LAW,
    BrokenGate,
    Mutation,
    as_kind,
    only_in_audits,
    with_gate,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mobitrie import MobiTrieSearch
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.private_choice import NothingFoundError, PrivateChoice
from wayveil.privacy.budget import Budget, Spend
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.repeat import repeat_until
from wayveil.synthesis.model import Model
from wayveil.world.marked_ngrams import MarkedNgrams


class _SilentScore(PrivateChoice):
    """A candidate is judged by its exact distance."""

    def _distance(self, exact: int, gate: Gate, price: Fraction) -> int:
        only_in_audits(gate)
        return exact


class _Favourite(PrivateChoice):
    """Which candidate is tried depends on how many trips there are."""

    def _pick(self, counter: Counter, gate: Gate) -> int:
        only_in_audits(gate)
        return int(counter.lengths(1).counts.sum()) % len(self.candidates)


class _ToleranceFromData(PrivateChoice):
    """Tolerates a distance of half the trips that there are."""

    def measure(self, counter: Counter, gate: Gate) -> Model:
        only_in_audits(gate)
        half = int(counter.lengths(1).counts.sum()) // 2
        return PrivateChoice(**{**dict(self), "tolerance": half}).measure(counter, gate)


class _Remembering(PrivateChoice):
    """Keeps what was drawn in this run."""

    _drawn: list[tuple[Model | None, int]] = PrivateAttr(default_factory=list)

    def measure(self, counter: Counter, gate: Gate) -> Any:
        only_in_audits(gate)
        self._drawn.clear()
        return super().measure(counter, gate)

    def _draw(
        self, counter: Counter, universe: MarkedNgrams, weights: SparseCounts, gate: Gate
    ) -> tuple[Model | None, int]:
        self._drawn.append(super()._draw(counter, universe, weights, gate))
        return self._drawn[-1]


class _InTurn(_Remembering):
    """A candidate that was rejected is not tried again: a draw knows of those before it."""

    def _pick(self, counter: Counter, gate: Gate) -> int:
        return min(len(self._drawn), len(self.candidates) - 1)


class _DrawsReleased(_Remembering):
    """Says how many candidates were tried, in vain or not."""

    def measure(self, counter: Counter, gate: Gate) -> Any:
        try:
            return super().measure(counter, gate), len(self._drawn)
        except NothingFoundError:
            return None, len(self._drawn)


class _BestOfTheRejected(_Remembering):
    """Where nothing is good enough, publishes the best that there was."""

    def measure(self, counter: Counter, gate: Gate) -> Any:
        try:
            return super().measure(counter, gate)
        except NothingFoundError:
            return max(self._drawn, key=lambda draw: draw[1])


class _WholePriceForEach(BrokenGate):
    """Every draw gets all that the search costs."""

    def search(self, *asked: Any) -> Any:
        label, draw, threshold, price, stopping = asked
        self.budget.spend(Spend(label, price, 1, price, kind="search"))
        return repeat_until(lambda: draw(self.inner(Budget(price))), threshold, stopping, self.flip)


class _ThreeTries(BrokenGate):
    """Gives up after three draws, whatever a coin would say."""

    def search(self, *asked: Any) -> Any:
        label, draw, threshold, price, stopping = asked
        each = stopping.draw_price(price)
        self.budget.spend(Spend(label, price, 1, each, kind="search"))
        for _ in range(3):
            candidate, score = draw(self.inner(Budget(each)))
            if score >= threshold:
                return candidate
        return None


class _WeakCoin(BrokenGate):
    """Coins fall half as often as they should."""

    def flip(self, probability: Fraction) -> bool:
        return super().flip(probability / 2)


TREE = NoisyPrefixTree(height=2, false_children=1.0)
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)

PLANS = (
    AuditPlan(
        PrivateChoice(
            candidates=(Markov(order=2), TREE), tolerance=8, score_share=HALF, gamma=Fraction(2, 5)
        ),
        also=(
            PrivateChoice(candidates=(TREE,), tolerance=4, gamma=QUARTER),
            # Searches inside a search, which may end with nothing.
            PrivateChoice(
                candidates=(
                    Markov(),
                    MobiTrieSearch(most=2, quality=QUARTER, gamma=HALF, slack=0),
                    PrivateChoice(candidates=(TREE,), tolerance=4, gamma=HALF),
                ),
                tolerance=8,
                gamma=HALF,
            ),
        ),
        epsilon=Fraction(4),
        whole=Fraction(3),
        mutations=(
            *COMMON,
            Mutation("score without noise", as_kind(_SilentScore), (GREY,)),
            Mutation("candidate after a look at the trips", as_kind(_Favourite), (GREY,)),
            Mutation("tolerance from the data", as_kind(_ToleranceFromData), (GREY,)),
            Mutation("draws that know of each other", as_kind(_InTurn), (GREY,)),
            Mutation("number of draws released", as_kind(_DrawsReleased), (GREY,)),
            Mutation("best of the rejected draws released", as_kind(_BestOfTheRejected), (GREY,)),
            Mutation("whole price for every draw", with_gate(_WholePriceForEach), (GREY,)),
            Mutation("three tries and no coin", with_gate(_ThreeTries), (GREY,)),
            Mutation("coins that fall too seldom", with_gate(_WeakCoin), (LAW,)),
        ),
        busy=6,
        town=False,
    ),
)
