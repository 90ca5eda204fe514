"""Choosing among mechanisms on the sensitive trips themselves, and paying for it.

Most figures of merit are no scores for a private choice: one trip can move the mean relative error of count queries,
an F1 or a rank correlation by far more than one over the number of trips, so that noise that hides it would drown the
score. The distance of *normalised moves* is one: a trip spreads a weight of one over its moves (begin and end
included), so adding a trip moves the L1 distance between raw and released weights by at most one.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: a draw picks a candidate by public coins, pays for its model and for one noisy distance, and stops there:
    epsilon_1 = epsilon / 2 by adaptive composition. The search repeats independent draws until a score reaches a public
    tolerance or a coin ends it, which costs twice a draw (`wayveil.privacy.repeat`). A candidate that refuses is a
    rejected draw. Nothing of a rejected draw leaves, not even that there was one, and an ended search is an answer: its
    epsilon is spent. How long a search took is not covered; keep it to yourself.
    Attacked by the plan in risk/plans and by tests/mechanisms/test_private_choice.py, against the law in closed form.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, SerializeAsAny, field_validator

from wayveil.arrays import Ints
from wayveil.counting.counter import Counter
from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError, RefusedError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import mechanism
from wayveil.mechanisms.shared_fields import Share
from wayveil.privacy.budget import Budget, Spend
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.repeat import Stopping
from wayveil.synthesis.model import Model
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.marked_ngrams import MarkedNgrams
from wayveil.world.world import World

PARTS = 1 << 20
# A distance is no count: it falls with one trip and rises with another, so one that takes the place of the other moves
# the only cell there is by two.
ONE_DISTANCE = Contribution(per_trip=PARTS, per_cell=2 * PARTS)


class NothingFoundError(RefusedError):
    """A private search ended without a candidate that is good enough. Its budget is spent."""


class PrivateChoice(Mechanism):
    """The first of several mechanisms, drawn at random, whose release is close enough to the trips.

    >>> choice = wv.PrivateChoice(candidates=(wv.Markov(), wv.NoisyPrefixTree(height=4)), tolerance=6_000)
    >>> [each.name for each in choice.candidates]
    ['markov', 'noisy-prefix-tree']
    """

    name: ClassVar[str] = "private-choice"
    summary: ClassVar[str] = "a search among mechanisms by the distance of moves, paid for"
    # The distance is that of the released trips from those that were counted: they are as many.
    weighs: ClassVar[bool] = False

    candidates: tuple[SerializeAsAny[Mechanism], ...] = Field(
        min_length=1,
        description="Mechanisms to choose from (public), or their names.",
    )
    tolerance: int = Field(
        ge=0,
        description="Largest distance that is accepted, in trips: of n trips, n/2 means that half of the weight of "
        "moves may lie elsewhere; 2 n accepts every release of n trips (public; from `recommend` on "
        "simulated trips).",
    )
    score_share: Share = Field(
        Fraction(1, 10), description="Share of a draw's epsilon that pays for its score."
    )
    gamma: Share = Field(
        Fraction(1, 20),
        description="Chance to give up after each rejected draw; about 1 / gamma draws are made.",
    )

    @field_validator("candidates", mode="before")
    @classmethod
    def _by_name(cls, given: object) -> object:
        """Candidates as a command line or a datasheet names them."""
        return tuple(_made(one) for one in given) if isinstance(given, list | tuple) else given

    @field_validator("candidates")
    @classmethod
    def _untrained(cls, candidates: tuple[Mechanism, ...]) -> tuple[Mechanism, ...]:
        """A draw pays in pure epsilon: a candidate that needs a delta would fail after the noise of the search."""
        for candidate in candidates:
            if candidate.trained:
                raise ValueError(
                    f"{candidate.name} is trained, which costs a delta, and a search is paid in pure epsilon; omit it"
                )
        return candidates

    def measure(self, counter: Counter, gate: Gate) -> Model:
        """Search; the whole of epsilon is booked at the start."""
        universe = MarkedNgrams(counter.world.successors, 2)
        weights = counter.normalised_ngrams(universe, PARTS)
        found = gate.search(
            "choice among mechanisms",
            lambda inner: self._draw(counter, universe, weights, inner),
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

    @classmethod
    def model_kinds(cls, described: Mapping[str, Any]) -> tuple[type[Model], ...]:
        """Those of all candidates: which of them was chosen is told by the model that is there."""
        kinds = [mechanism(each["name"]).model_kinds(each) for each in described["parameters"]["candidates"]]
        return tuple(dict.fromkeys(kind for several in kinds for kind in several))

    def rule(self, world: World) -> LegalityRule:
        """The rule that all candidates share: the trips are the same for all, and for the score."""
        rules = {candidate.rule(world) for candidate in self.candidates}
        if len(rules) > 1:
            wanted = "; ".join(f"{each.name}: {each.rule(world)}" for each in self.candidates)
            raise ParameterError(
                f"private-choice: the candidates want different rules before counting ({wanted}), and a choice counts "
                "the same trips for all; give the rule that shall hold for all of them"
            )
        return rules.pop()

    def describe(self) -> dict[str, object]:
        """Parameters alone would not tell which mechanisms there were to choose from."""
        described = super().describe()
        candidates = [candidate.describe() for candidate in self.candidates]
        return described | {"parameters": self.model_dump(mode="json") | {"candidates": candidates}}

    def _draw(
        self, counter: Counter, universe: MarkedNgrams, weights: SparseCounts, gate: Gate
    ) -> tuple[Model | None, int]:
        """A candidate's model and its noisy distance, the less the better."""
        chosen = self.candidates[self._pick(counter, gate)]
        score_price = gate.budget.total * self.score_share
        model_price = gate.budget.total - score_price
        gate.budget.spend(Spend(f"model of {chosen.name}", model_price, 1, model_price, kind="search"))
        try:
            model = chosen.measure(counter, gate.inner(Budget(model_price)))
            # A fixed seed: generating is public chance, and the distance must follow from the model alone.
            released = model.generate(0)
        except RefusedError:
            return None, -self.tolerance * PARTS - 1
        return model, -self._distance(move_distance(weights, released, universe), gate, score_price)

    def _pick(self, counter: Counter, gate: Gate) -> int:
        """A uniform candidate, by the coins of the gate and whatever the trips are."""
        for place in range(len(self.candidates) - 1):
            if gate.flip(Fraction(1, len(self.candidates) - place)):
                return place
        return len(self.candidates) - 1

    def _distance(self, exact: int, gate: Gate, price: Fraction) -> int:
        counts = SparseCounts.dense(np.array([exact]))
        return int(gate.histogram("distance of moves", counts, ONE_DISTANCE, price).counts[0])


def _made(candidate: object) -> object:
    """A mechanism from its name, or from its own description."""
    if isinstance(candidate, str):
        return mechanism(candidate)()
    if isinstance(candidate, dict) and {"name", "parameters"} <= candidate.keys():
        return mechanism(candidate["name"])(**candidate["parameters"])
    return candidate


def move_distance(raw: SparseCounts, released: Trips, universe: MarkedNgrams) -> int:
    """L1 distance of the weights of all moves, in parts of a trip; a release that moves elsewhere pays in full."""
    other = LocalCounter(released).normalised_ngrams(universe, PARTS)
    keys: Ints = np.union1d(raw.keys, other.keys)
    sides = np.zeros((2, len(keys)), np.int64)
    for side, counts in zip(sides, (raw, other), strict=True):
        side[np.searchsorted(keys, counts.keys)] = counts.counts
    return int(np.abs(sides[0] - sides[1]).sum())
