"""MobiTrie (Schulze 2025), repaired: a trie of rolling n-grams that trips can be generated from.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: a trip counts for at most k of its distinct n-grams, one each, chosen by a rule per trip with secure bits,
    so it moves the counts of the *whole* public universe by at most k in all, and a unit with m trips by m k. All
    cells, empty ones included, are noised with scale m k / epsilon. `mobitrie-lt` draws counts and quality together for
    epsilon_1 = (epsilon - epsilon_0) / 2 and repeats by the rule of Liu and Talwar, which costs twice that and
    epsilon_0: given the kept set S, one n-gram that appears or disappears moves either "kept and true" or "missed" by
    one, so that pair moves by at most m k. Which n-grams a trip counts for is drawn once, before the search.
    Attacked by tests/mechanisms/test_mobitrie.py and the plans in risk/plans.

Repaired
    The published version adds n-grams of the data to the public universe: what appears in the output then reveals who
    was there, at any epsilon. It reads its wanted quality off the data, measures it against trips before the cap, and
    leaves open how trips are made from the trie. That its experiments noised observed n-grams only is an inference
    (`wayveil lab study mobitrie`): with noise on all of them, some that nobody visited would be in its tables.
    Here the universe is public, the quality is a public parameter measured on what was counted, and every n-gram
    carries marks for begin and end, so that trips of any length, one stop included, are counted and can be generated.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, sqrt
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from wayveil.arrays import Floats, Ints, Mask
from wayveil.counting.counter import Counter
from wayveil.mechanisms.markov import ONE_TRIP
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.shared_fields import Longest, Moves, Share, noise_aware_threshold
from wayveil.mechanisms.time_axis import public_successors
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts, SparseCounts
from wayveil.privacy.repeat import Stopping, rounds_needed
from wayveil.synthesis.model import Model
from wayveil.synthesis.ngram_model import NgramTable
from wayveil.synthesis.trie_model import Trie
from wayveil.world.marked_ngrams import MarkedNgrams

# A search draws again and again, and keeps all of a draw at once.
MOST_NOISE = 100_000


class _Tries(Mechanism):
    """Common part of both kinds."""

    makes: ClassVar[type[Model]] = Trie

    n: int = Field(3, ge=2, le=8, description="Symbols of an n-gram, begin and end marks included.")
    most: int = Field(
        20,
        ge=1,
        le=100_000,
        description="Distinct n-grams that one trip counts for at most, chosen at random (public).",
    )
    successors: Moves = "auto"
    returns: bool = Field(
        True, description="Whether trips may turn back at once (a, b, a); false: such n-grams are left out."
    )
    trips_share: Fraction = Field(
        Fraction(1, 50),
        ge=0,
        lt=1,
        description="Share of epsilon that buys the number of trips; 0: it is estimated from the n-grams.",
    )
    longest: Longest = 200

    @property
    def _contribution(self) -> Contribution:
        return Contribution(per_trip=self.most)

    def count_grams(self, counter: Counter, gate: Gate) -> tuple[MarkedNgrams, SparseCounts]:
        """Count how many trips chose each n-gram of the public universe."""
        universe = MarkedNgrams(public_successors(counter.world, self.successors), self.n)
        exact = counter.capped_ngrams(universe, self.most, gate.bits)
        there = self._possible(universe, exact.keys)
        return universe, replace(exact, keys=exact.keys[there], counts=exact.counts[there])

    def _possible(self, universe: MarkedNgrams, keys: Ints) -> Mask:
        """A public rule: all of them, or those that do not turn back at once."""
        if self.returns:
            return np.ones(len(keys), bool)
        symbols = universe.unrank(keys)
        return (symbols[:, 2:] != symbols[:, :-2]).all(axis=1)

    def _without_returns(self, universe: MarkedNgrams, answer: NoisyCounts) -> NoisyCounts:
        """Noise is drawn for the whole universe; what the rule leaves out of it goes after that, and is free."""
        there = self._possible(universe, answer.keys)
        return NoisyCounts(answer.question, answer.keys[there], answer.counts[there])

    def _number(self, counter: Counter, gate: Gate) -> float | None:
        if self.trips_share == 0:
            return None
        price = gate.budget.remaining * self.trips_share
        return float(gate.histogram("number of trips", counter.trips(), ONE_TRIP, price).counts[0])

    def _trie(
        self, counter: Counter, universe: MarkedNgrams, answer: NoisyCounts, number: float | None
    ) -> Trie:
        symbols = universe.unrank(answer.keys)
        count = answer.counts.astype(np.float64)
        if number is None:
            number = _estimated_trips(symbols[:, 0] == universe.locations, count, self.most)
        question = answer.question
        grams = NgramTable(symbols, answer.counts, count, question.scale, question.threshold)
        return Trie(counter.world, grams, universe.begins, max(number, 0.0), self.longest)


class MobiTrie(_Tries):
    """Counts of n-grams that stand out from the noise, for the whole budget.

    >>> wv.MobiTrie(n=3).n
    3
    """

    name: ClassVar[str] = "mobitrie"
    summary: ClassVar[str] = "noisy counts of short runs of stops, and walks through overlapping runs"
    holds: ClassVar[frozenset[str]] = frozenset({"total"})
    tells: ClassVar[Mapping[str, float]] = MappingProxyType(
        {
            "visits": 1.0,
            "stops": 1.0,
            "boardings": 1.4,
            "alightings": 0.5,
            "edges": 1.0,
            "triples": 1.0,
            "journeys": 1.4,
            "lengths": 2.0,
        }
    )

    false_share: float = Field(
        0.05,
        gt=0,
        le=0.5,
        description="Sets the threshold: share of all possible n-grams that noise alone may add to the trie, on "
        "average.",
    )
    false_most: float = Field(
        2000, gt=0, description="The same as a number of n-grams; the smaller of the two holds."
    )

    def measure(self, counter: Counter, gate: Gate) -> Trie:
        """Choose and count n-grams, then ask for those that reach the noise-aware threshold."""
        universe, exact = self.count_grams(counter, gate)
        number = self._number(counter, gate)
        price = gate.budget.remaining
        false = min(self.false_share * universe.size, self.false_most)
        threshold = noise_aware_threshold(universe.size, false, gate.scale(self._contribution, price))
        label = f"{self.n}-grams"
        answer = gate.histogram(label, exact, self._contribution, price, threshold=threshold)
        return self._trie(counter, universe, self._without_returns(universe, answer), number)


class MobiTrieSearch(_Tries):
    """Method as published: random thresholds, and a private search for a trie whose noisy F1 reaches a wanted quality.

    Thresholds are uniform between 1 and a standard deviation of the noise. That keeps up to half of all empty cells; in
    a universe where this would be more than 100,000 n-grams, thresholds start where it is that many. Where trips use
    far fewer n-grams than that, no trie has a high F1, and the search ends with nothing.

    >>> wv.MobiTrieSearch(n=3).name
    'mobitrie-lt'
    """

    name: ClassVar[str] = "mobitrie-lt"
    summary: ClassVar[str] = (
        "noisy n-grams above a random threshold, drawn until their noisy F1 is high enough"
    )
    # The F1 counts which n-grams occur at all: all trips of a unit would have a say in it, whatever they weigh.
    weighs: ClassVar[bool] = False

    quality: Fraction = Field(
        Fraction(13, 20),
        gt=0,
        le=1,
        description="Wanted F1 of the kept n-grams (tau), public: a value tried out on the data is a leak.",
    )
    count_share: Share = Field(
        Fraction(19, 20),
        description="Share of a draw's epsilon for its counts (r1); the rest measures their F1 (r2).",
    )
    gamma: Share = Field(Fraction(1, 100), description="Chance to give up after each rejected draw.")
    slack: Fraction = Field(
        Fraction(1, 100),
        ge=0,
        le=1,
        description="Epsilon_0, the price of a cap on the draws; 0: no cap, which leaves more for the draws.",
    )
    unseen: int = Field(
        0,
        ge=0,
        le=1,
        description="Base count of n-grams that no trip has (the study: 1). One trip moves max(count, 1) no further "
        "than the count.",
    )

    @classmethod
    def published(cls, **parameters: Any) -> "MobiTrieSearch":
        """Return the preset of the study's Algorithm 10: a base count of one. How trips are made it leaves open."""
        return cls(**({"unseen": 1} | parameters))

    def measure(self, counter: Counter, gate: Gate) -> Trie:
        """Search. A trie that is not `accepted` means that nothing was found; its epsilon is spent all the same."""
        rounds = rounds_needed(self.gamma, self.slack) if self.slack else None
        stopping = Stopping(self.gamma, rounds, self.slack)
        stopping.draw_price(
            gate.budget.remaining * (1 - self.trips_share)
        )  # refuses before anything is spent
        universe, exact = self.count_grams(counter, gate)
        above = _above(exact, self.unseen)
        number = self._number(counter, gate)

        def draw(inner: Gate) -> tuple[NoisyCounts, Fraction]:
            counts, quality = inner.budget.split([self.count_share, 1 - self.count_share])
            scale = inner.scale(self._contribution, counts)
            threshold = (
                1
                + _uniform(ceil(sqrt(2) * float(scale)), inner)
                + noise_aware_threshold(universe.size, MOST_NOISE, scale, least=0)
            )
            label = f"{self.n}-grams"
            # At least 1, or every n-gram that nobody has would be kept, even without noise.
            least = max(threshold - self.unseen, 1)
            answer = inner.histogram(label, above, self._contribution, counts, threshold=least)
            answer = self._without_returns(universe, answer)
            return answer, self.score(inner, exact, answer.keys, quality)

        price = gate.budget.remaining
        # What a search cost does not tell how noisy its counts are, and the datasheet should.
        noise = float(gate.scale(self._contribution, stopping.draw_price(price) * self.count_share))
        label = f"trie with F1 of {self.quality}; its counts have noise of scale {noise:.4g}"
        found = gate.search(label, draw, self.quality, price, stopping)
        if found is not None:
            return self._trie(counter, universe, _lifted(found, self.unseen), number)
        none = NgramTable(np.zeros((0, self.n), np.int64), np.zeros(0, np.int64), np.zeros(0), Fraction(0))
        return Trie(counter.world, none, universe.begins, 0.0, self.longest, accepted=False)

    def score(self, gate: Gate, exact: SparseCounts, kept_keys: Ints, price: Fraction) -> Fraction:
        """F1 of the kept n-grams against those that were counted, from two noisy numbers."""
        true = exact.keys[exact.counts > 0]
        kept = np.count_nonzero(np.isin(kept_keys, true, assume_unique=True))
        pair = SparseCounts.dense(np.array([kept, len(true) - kept]))
        flips = Contribution(per_trip=self.most, per_cell=self.most)
        hit, missed = gate.histogram("kept and missed n-grams", pair, flips, price).counts.tolist()
        # 2 TP + FP + FN, with FP = kept - TP.
        whole = hit + len(kept_keys) + missed
        return min(max(Fraction(2 * hit, whole), Fraction(0)), Fraction(1)) if whole > 0 else Fraction(0)


def _above(exact: SparseCounts, base: int) -> SparseCounts:
    """By how much max(count, base) exceeds the base: the same cells, and zero wherever the count is not above it."""
    more = exact.counts > base
    return SparseCounts(exact.universe, exact.keys[more], exact.counts[more] - base)


def _lifted(answer: NoisyCounts, base: int) -> NoisyCounts:
    """The answer about counts above a base, with the base under it again."""
    least = answer.question.threshold
    question = replace(answer.question, threshold=None if least is None else least + base)
    return NoisyCounts(question, answer.keys, answer.counts + base)


def _uniform(bound: int, gate: Gate) -> int:
    """A whole number below the bound from fair coins, which are public chance."""
    drawn = bound
    while drawn >= bound:
        drawn = sum(gate.flip(Fraction(1, 2)) << place for place in range((bound - 1).bit_length()))
    return drawn


def _estimated_trips(starts: Mask, count: Floats, most: int) -> float:
    """Trips behind n-grams of which each trip counts for at most `most`, from how many of them are starts.

    With d distinct n-grams in every trip, n trips count for n min(d, most) n-grams, n min(d, most) / d of them starts.
    """
    begun, total = count[starts].sum(), count.sum()
    return float(begun * max(1.0, total / begun / most)) if begun > 0 else 0.0
