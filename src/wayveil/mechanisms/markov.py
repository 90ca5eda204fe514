"""A Markov chain with normalised contributions: the simplest mechanism that any other has to beat.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: a trip of L stops makes L + 1 moves, marks included, and gives floor(K / (L + 1)) of its K parts to each,
    so it moves the table of all public moves by at most K in all, whatever its length; a unit with m trips by m K. The
    table is noised with scale m K / epsilon on *every* public move; a move is one between stops or, with `time`,
    between pairs of stop and public time bin. A second table (order 2) and a bought number of
    trips are each paid for with a share of their own. Walking the tables is post-processing.
    Attacked by tests/mechanisms/test_markov.py and the plan in risk/plans/markov.py.

What it measures
    Moves weighted by one over the length of their trip. No length has to be cut off, and nobody's commute of three
    stops counts less than somebody's journey of sixty; but the generated trips have the *harmonic* mean of the raw
    lengths, which is below the usual mean where lengths differ, unless `lengths_share` buys a histogram of them (each
    trip is in one class, so it costs that share).
"""

from collections.abc import Mapping
from fractions import Fraction
from math import sqrt
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from wayveil.counting.counter import Counter
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.shared_fields import (
    DenseCells,
    FalseMoves,
    Longest,
    Moves,
    Share,
    noise_aware_threshold,
)
from wayveil.mechanisms.time_axis import OptionalTimeAxis, PublicSymbols
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts, SparseCounts
from wayveil.synthesis.model import Model
from wayveil.synthesis.ngram_model import LengthClasses, NgramModel, NgramTable, NoisyLengths
from wayveil.synthesis.projection import onto_total
from wayveil.world.marked_ngrams import MarkedNgrams
from wayveil.world.successors import MarkedMoves
from wayveil.world.world import World

ONE_TRIP = Contribution(per_trip=1)
# Tables up to this size are noised cell by cell; of larger ones only what stands out comes back.
DENSE_CELLS = 20_000_000


class Markov(Mechanism):
    """A noisy table of moves, begin and end included, and walks through it.

    >>> made = wv.release(trips, wv.Markov(), epsilon=2, unit=wv.Trip(), rows="calls", ledger=None)
    >>> made.datasheet["guarantee"]["epsilon"]
    '2'
    """

    name: ClassVar[str] = "markov"
    makes: ClassVar[type[Model]] = NgramModel
    summary: ClassVar[str] = "noisy moves between stops, every trip with the same total weight, and walks"
    holds: ClassVar[frozenset[str]] = frozenset({"total"})
    tells: ClassVar[Mapping[str, float]] = MappingProxyType(
        {
            "visits": 1.0,
            "stops": 0.5,
            "boardings": 1.4,
            "alightings": 1.0,
            "edges": 0.5,
            "triples": 1.0,
            "journeys": 3.0,
            "lengths": 2.0,
        }
    )

    order: Literal[1, 2] = Field(
        1,
        description="Stops that decide what comes next: the last, or the last two where they are frequent enough.",
    )
    time: OptionalTimeAxis = None
    successors: Moves = "auto"
    trips_share: Share = Field(
        Fraction(1, 50),
        description="Share of epsilon that buys the number of trips; not spent where the total of the table is more"
        " exact.",
    )
    lengths_share: Fraction = Field(
        Fraction(0),
        ge=0,
        lt=1,
        description="Share of epsilon that buys how long trips are, so that walks end accordingly; 0: not bought, "
        "and trips are as long as the table makes them.",
    )
    longest: Longest = 200
    parts: int = Field(
        1 << 20,
        ge=1,
        le=1 << 30,
        description="Whole numbers in which a trip spreads its weight of one; should exceed the moves of any trip.",
    )
    false_moves: FalseMoves = 0.1
    dense_cells: DenseCells = DENSE_CELLS

    def covered(self, world: World) -> bool:
        """Measured over stops; not over pairs."""
        return self.time is None

    def measure(self, counter: Counter, gate: Gate) -> NgramModel:
        """Ask for one table per order, and for the number of trips where the first table does not tell."""
        symbols = PublicSymbols.of(counter.world, self.successors, self.time)
        universes: list[MarkedNgrams | MarkedMoves] = (
            [MarkedMoves(symbols.successors)]
            if symbols.alphabet is not None
            else [MarkedNgrams(symbols.successors, order + 1) for order in range(1, self.order + 1)]
        )
        # The noise of a total grows with the root of its cells; that of a bought number with one over its share.
        bought = universes[0].size > min(self.dense_cells, float(1 / self.trips_share) ** 2)
        number, total = None, gate.budget.remaining
        if bought:
            price = total * self.trips_share
            number = gate.histogram("number of trips", counter.trips(), ONE_TRIP, price).counts[0]
        lengths = None
        if self.lengths_share > 0:
            lengths = noisy_lengths(counter, gate, self.longest, total * self.lengths_share)
        answers = []
        for universe, price in zip(universes, gate.budget.split([1] * self.order), strict=True):
            exact = self._counts(counter, universe, symbols)
            label = "moves" if universe.n == 2 else "pairs of moves"
            threshold = self._threshold(gate, universe, price)
            answers.append(gate.histogram(label, exact, self._spread, price, threshold=threshold))
        if number is None:
            number = answers[0].counts.sum() / self.parts
        trips = max(float(number), 1.0)
        tables = [self._cleaned(*pair, trips) for pair in zip(universes, answers, strict=True)]
        if self.order == 2:
            tables[1] = self._frequent_pairs(tables[1], universes[1].end)
        end = universes[0].end
        return NgramModel(
            counter.world,
            tuple(tables),
            (end - 1,),
            end,
            trips,
            self.longest,
            lengths=lengths,
            bins=symbols.bins,
        )

    def _counts(
        self, counter: Counter, universe: MarkedNgrams | MarkedMoves, symbols: PublicSymbols
    ) -> SparseCounts:
        if isinstance(universe, MarkedMoves) and symbols.alphabet is not None:
            return counter.normalised_moves(universe, self.parts, symbols.alphabet)
        return counter.normalised_ngrams(universe, self.parts)  # type: ignore[arg-type]

    @model_validator(mode="after")
    def _something_is_left(self) -> "Markov":
        if self.time is not None and self.order == 2:
            raise ValueError("over pairs of stop and time only the last one decides; use variable-ngrams")
        if self.trips_share + self.lengths_share >= 1:
            raise ValueError("the shares leave nothing for the moves")
        return self

    @property
    def _spread(self) -> Contribution:
        return Contribution(per_trip=self.parts, per_cell=self.parts)

    def _threshold(self, gate: Gate, universe: MarkedNgrams | MarkedMoves, price: Fraction) -> int | None:
        if universe.size <= self.dense_cells:
            return None
        allowed = self.false_moves * universe.locations
        return noise_aware_threshold(universe.size, allowed, gate.scale(self._spread, price))

    def _cleaned(self, universe: MarkedNgrams | MarkedMoves, answer: NoisyCounts, trips: float) -> NgramTable:
        """Counts in trips that add up to the number of trips, as every trip has the same weight."""
        dense = answer.question.threshold is None
        counts = onto_total(answer.counts, trips * self.parts) if dense else answer.counts.astype(np.float64)
        kept = np.flatnonzero(counts > 0)
        return NgramTable(
            universe.unrank(answer.keys[kept]),
            answer.counts[kept],
            counts[kept] / self.parts,
            answer.question.scale,
            answer.question.threshold,
        )

    def _frequent_pairs(self, table: NgramTable, end: int) -> NgramTable:
        """Only the pairs of stops whose weight stands out from the noise of the steps that follow them."""
        context = table.symbols[:, 0] * (end + 1) + table.symbols[:, 1]
        _, row, steps = np.unique(context, return_inverse=True, return_counts=True)
        weight = np.bincount(row, table.count) * self.parts
        clear = (weight >= 3 * sqrt(2) * float(table.scale) * np.sqrt(steps))[row]
        return NgramTable(
            table.symbols[clear], table.noisy[clear], table.count[clear], table.scale, table.threshold
        )


def noisy_lengths(counter: Counter, gate: Gate, longest: int, price: Fraction) -> NoisyLengths:
    """Trips by classes of their length: every trip is in one class."""
    classes = LengthClasses.up_to(longest)
    lengths = counter.lengths(longest)
    some = lengths.keys > 0
    exact = SparseCounts.of_keys(len(classes), classes.of(lengths.keys), lengths.counts[some], lengths.parts)
    answer = gate.histogram("trips by length", exact, ONE_TRIP, price)
    return NoisyLengths(classes, answer.counts, answer.question.scale)
