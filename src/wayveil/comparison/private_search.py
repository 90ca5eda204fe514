"""Choosing among mechanisms on the sensitive trips themselves, and paying for it.

Most figures of merit are no scores for a private choice: one trip can move the mean relative error of count queries,
an F1 or a rank correlation by far more than one over the number of trips, so that noise that hides it would drown the
score. The distance of *normalised moves* is one: a trip spreads a weight of one over its moves (begin and end
included), so adding a trip moves the L1 distance between raw and released weights by at most one.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: a draw picks a candidate at random, pays for its model and for one noisy distance, and stops there. The
    search repeats independent draws until a score reaches a public tolerance or a coin ends it, which costs twice a
    draw (`wayveil.privacy.repeat`). Nothing of a rejected draw leaves, and an ended search is an answer: its epsilon
    is spent.
    Attacked by tests/comparison/test_private_search.py with the grey-box audit.
"""

from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, SerializeAsAny

from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Counter
from wayveil.errors import WayveilError
from wayveil.mechanisms.mechanism import Mechanism, Model
from wayveil.privacy.budget import Budget, Spend
from wayveil.privacy.gate import Gate, SparseCounts
from wayveil.privacy.repeat import Stopping
from wayveil.privacy.units import Contribution
from wayveil.trips.trips import Trips
from wayveil.world.marked_ngrams import MarkedNgrams

PARTS = 1 << 20


class NothingFoundError(WayveilError):
    """A private search ended without a candidate that is good enough. Its budget is spent."""


class PrivateChoice(Mechanism):
    """The first of several mechanisms, drawn at random, whose release is close enough to the trips.

    candidates   what to choose from (public)
    tolerance    largest distance that is accepted, in trips: of n trips, n/2 means that half of the weight of moves
                 may lie elsewhere; 2 n accepts everything (public; from `recommend` on simulated trips)
    score_share  share of a draw that pays for its score
    gamma        chance to give up after each rejected draw; about 1 / gamma draws are made
    """

    name: ClassVar[str] = "private-choice"
    summary: ClassVar[str] = "a search among mechanisms by the distance of moves, paid for"

    candidates: tuple[SerializeAsAny[Mechanism], ...] = Field(min_length=1)
    tolerance: int = Field(ge=0)
    score_share: Fraction = Field(Fraction(1, 10), gt=0, lt=1)
    gamma: Fraction = Field(Fraction(1, 20), gt=0, lt=1)

    def measure(self, counter: Counter, gate: Gate) -> Model:
        """Search; the whole of epsilon is booked at the start."""
        universe = MarkedNgrams(counter.world.successors, 2)
        weights = counter.normalised_ngrams(universe, PARTS)

        def draw(inner: Gate) -> tuple[Model, int]:
            score_price = inner.budget.total * self.score_share
            model_price = inner.budget.total - score_price
            chosen = self.candidates[self._pick(inner)]
            inner.budget.spend(Spend(f"model of {chosen.name}", model_price, 1, model_price, kind="search"))
            model = chosen.measure(counter, inner.inner(Budget(model_price)))
            # A fixed seed: generating is public chance, and the distance must follow from the model alone.
            distance = move_distance(weights, model.generate(0), universe)
            noisy = inner.histogram(
                "distance of moves",
                SparseCounts.dense(np.array([distance])),
                Contribution(per_trip=PARTS),
                score_price,
            )
            return model, -int(noisy.counts[0])

        found = gate.search(
            "choice among mechanisms",
            draw,
            -self.tolerance * PARTS,
            gate.budget.remaining,
            Stopping(self.gamma),
        )
        if found is None:
            raise NothingFoundError(
                "the search ended without a release within the tolerance. Its epsilon is spent, because ending without "
                "one is an answer too; a new search with a larger tolerance is a new purchase"
            )
        return found

    def _pick(self, gate: Gate) -> int:
        """A uniform candidate, by the coins of the gate."""
        for place in range(len(self.candidates) - 1):
            if gate.flip(Fraction(1, len(self.candidates) - place)):
                return place
        return len(self.candidates) - 1


def move_distance(raw: SparseCounts, released: Trips, universe: MarkedNgrams) -> int:
    """L1 distance of the weights of all moves, in parts of a trip; a release that moves elsewhere pays in full."""
    other = LocalCounter(released).normalised_ngrams(universe, PARTS)
    keys: NDArray[np.int64] = np.union1d(raw.keys, other.keys)
    sides = np.zeros((2, len(keys)), np.int64)
    for side, counts in zip(sides, (raw, other), strict=True):
        side[np.searchsorted(keys, counts.keys)] = counts.counts
    return int(np.abs(sides[0] - sides[1]).sum())
