"""Variable-length n-grams (Chen, Acs and Castelluccia 2012), repaired.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: a marked trip is cut after M moves, so runs start from at most M places of it. Single symbols spend a share
    of epsilon, every context node a share on its children, and on the way from a first symbol down to any node the
    shares add up to at most one. The runs that start at one place follow one such way and are in one child of each
    node on it. What is counted with share s is noised with scale m M / (s epsilon), so it costs a place
    s epsilon / (m M) at most, the way of a place epsilon / (m M), the M places of a trip epsilon / m, and the m trips
    of a unit epsilon. Which children are asked for, and with which share, follows from noisy counts only.
    In the books every question of the tree is a part of one group that is paid for once: a unit moves the parts, each
    measured in its own sensitivity, by at most one in all. With `time`, symbols are pairs of stop and public time bin.
    Where there are too many 2-grams to count each, all of them still have their noise, and those that reach a public
    threshold come back; the rest of the reason is the same.
    Attacked by tests/mechanisms/test_variable_ngrams.py and the plan in risk/plans/variable_ngrams.py.

Repaired
    The published version takes the alphabet and the longest length from the data, forgets the end symbol in its
    sensitivity, and has no begin mark, so that it knows neither how many trips there are nor where they start.
"""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from pydantic import Field, model_validator

from wayveil.arrays import Floats, Ints
from wayveil.counting.counter import Counter
from wayveil.counting.protocol import Frontier
from wayveil.errors import ParameterError
from wayveil.mechanisms.markov import DENSE_CELLS, ONE_TRIP, noisy_lengths
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.ngram_questions import UNITS, ImplicitNgrams, NgramQuestions, Singles
from wayveil.mechanisms.shared_fields import DenseCells, FalseMoves, Longest, Moves, Share
from wayveil.mechanisms.time_axis import OptionalTimeAxis, PublicSymbols, public_successors
from wayveil.privacy.gate import Gate
from wayveil.synthesis.context_tree import ContextLevel, ContextTree, NoisyVisits
from wayveil.synthesis.model import Model
from wayveil.synthesis.ngram_model import NOT_ASKED, NgramModel
from wayveil.world.successors import CompleteSuccessors, MarkedSuccessors
from wayveil.world.world import World


class VariableNgrams(Mechanism):
    """A tree of contexts that is deep where trips are many, and walks by the longest context it knows.

    >>> wv.VariableNgrams(n_max=5).n_max
    5
    """

    name: ClassVar[str] = "variable-ngrams"
    makes: ClassVar[type[Model]] = NgramModel
    summary: ClassVar[str] = "noisy counts of short runs of stops, longer where trips are many, and walks"
    holds: ClassVar[frozenset[str]] = frozenset({"boardings", "total"})
    tells: ClassVar[Mapping[str, float]] = MappingProxyType(
        {
            "visits": 1.0,
            "stops": 0.7,
            "alightings": 0.7,
            "edges": 1.0,
            "triples": 1.0,
            "journeys": 1.0,
            "lengths": 2.0,
        }
    )

    n_max: int = Field(
        5, ge=2, le=12, description="Symbols of the longest n-gram, begin and end marks included (public)."
    )
    moves: int = Field(
        20,
        ge=1,
        le=10_000,
        description="Moves of a trip that are counted, begin and end included; later ones are cut off (public).",
    )
    private_moves: bool = Field(
        False, description="Buy that number instead: a quantile of the trips' moves, at most `moves`."
    )
    moves_share: Share = Field(
        Fraction(1, 50), description="Share of epsilon that buys it, with `private_moves`."
    )
    moves_quantile: Share = Field(
        Fraction(9, 10), description="Quantile that is bought, with `private_moves`."
    )
    single_share: Share = Field(
        Fraction(2, 5),
        description="Share of the budget of n-grams for how often each symbol occurs; rounded to 1/120.",
    )
    double_share: Share = Field(
        Fraction(3, 10),
        description="Share of it for the 2-grams, which decide where the tree grows; all that is left if `n_max` is"
        " 2.",
    )
    expected_scales: float = Field(
        1.0,
        gt=0,
        description="Children are counted if so many are expected, in noise scales; others follow the shorter "
        "context. Where 2-grams are too many to count each: contexts of fewer thresholds than this have no children.",
    )
    spread: float = Field(
        0.5,
        gt=0,
        description="How far counts are thought to lie from what the shorter context makes expect, as a ratio; only "
        "where 2-grams are few enough to count each.",
    )
    trips_share: Share = Field(Fraction(1, 20), description="Share of epsilon that buys the number of trips.")
    lengths_share: Share = Field(
        Fraction(1, 20),
        description="Share of epsilon that buys how long trips are, in classes up to `longest` stops.",
    )
    time: OptionalTimeAxis = None
    false_moves: FalseMoves = 0.1
    dense_cells: DenseCells = DENSE_CELLS
    successors: Moves = "auto"
    longest: Longest = 200

    def covered(self, world: World) -> bool:
        """Measured over stops, counted cell by cell; not over pairs, nor where only what stands out comes back."""
        successors = MarkedSuccessors(public_successors(world, self.successors))
        return (
            self.time is None and int(successors.degree(np.arange(successors.end)).sum()) <= self.dense_cells
        )

    def measure(self, counter: Counter, gate: Gate) -> NgramModel:
        """Buy the number of trips and perhaps the cut, then grow the tree with what remains."""
        symbols = PublicSymbols.of(counter.world, self.successors, self.time)
        successors = MarkedSuccessors(symbols.successors)
        first = Frontier(np.arange(successors.end), successors)
        implicit = first.universe > self.dense_cells
        if implicit and self.spread != type(self).model_fields["spread"].default:
            raise ParameterError(
                f"spread plays no part here: {first.universe:,} possible 2-grams are too many to count each, and what "
                "stands out of the noise is taken as it is. Leave it out, or use fewer stops or time bins"
            )
        total = gate.budget.remaining
        price = total * self.trips_share
        trips = gate.histogram("number of trips", counter.trips(), ONE_TRIP, price).counts[0]
        lengths = noisy_lengths(counter, gate, self.longest, total * self.lengths_share)
        moves = self._moves(counter, gate, total * self.moves_share)
        asker = NgramQuestions(gate, gate.budget.remaining, moves, counter.runs(moves, symbols.alphabet))
        single, double = round(UNITS * self.single_share), round(UNITS * self.double_share)
        double = double if self.n_max > 2 else UNITS - single
        ones = asker.ask_singles(first, single)
        if implicit:
            known = Singles(ones, asker.scale(single), moves, max(float(trips), 1.0), lengths)
            sparse = ImplicitNgrams(asker, first, known, self.n_max, self.false_moves, self.expected_scales)
            return sparse.measure(counter.world, symbols.bins, double, UNITS - single - double, self.longest)
        twos = asker.ask(2, first, np.full(first.universe, double))
        visits = NoisyVisits(ones, asker.scale(single), moves)
        # Ways through a network hardly ever lead straight back; over a list of places nothing is known of that.
        free = symbols.alphabet is not None or isinstance(symbols.successors, CompleteSuccessors)
        tree = ContextTree(
            successors,
            len(first.states),
            twos,
            asker.scale(double),
            visits,
            max(float(trips), 1.0),
            float(free),
        )
        left = np.full(first.universe, UNITS - single - double)
        for length in range(3, self.n_max + 1):
            left = self._deepen(tree, asker, length, left)
            if not left.any():
                break
        return tree.model(counter.world, self.longest, lengths, symbols.bins)

    @model_validator(mode="after")
    def _something_is_left(self) -> "VariableNgrams":
        bought = self.trips_share + self.lengths_share + self.moves_share
        units = [round(UNITS * share) for share in (self.single_share, self.double_share)]
        if min(units) < 1 or sum(units) >= UNITS or bought >= 1:
            raise ValueError(f"the shares leave nothing for longer n-grams, or one is below 1/{UNITS}")
        return self

    def _deepen(self, tree: ContextTree, asker: NgramQuestions, length: int, left: Ints) -> Ints:
        """Add the contexts of `length` - 1 symbols that are frequent enough. Returns the units left of each cell."""
        asked_above = tree.deepest.noisy != NOT_ASKED
        open_ = np.flatnonzero(asked_above & (left > 0) & (tree.deepest.weight > 0))
        scale_of = asker.scales()
        cells, level = tree.sprout(open_, self.expected_scales * scale_of[left[open_]])
        asker.descend(cells)
        if len(cells) == 0:
            return np.zeros(0, np.int64)
        units = self._units(level, left[cells], scale_of, self.n_max - length + 1)
        per_cell = np.repeat(units, level.degree)
        asked = level.weight >= self.expected_scales * scale_of[per_cell]
        frontier = Frontier(level.symbols[:, -1], tree.successors)
        noisy = asker.ask(length, frontier, np.where(asked, per_cell, 0))
        back = tree.leads_back(level)
        # Longer contexts follow those of two symbols, which know already how many turn.
        before = tree.turning if length == 3 else 1.0
        turning = level.settle(asked, noisy[asked], scale_of[per_cell[asked]], self.spread, back, before)
        if length == 3:
            tree.turning = turning
        level.scale = asker.scale(int(units.min()))
        tree.add(cells, level)
        return np.repeat(left[cells] - units, level.degree)

    def _units(self, level: ContextLevel, left: Ints, scale_of: Floats, levels: int) -> Ints:
        """Return what each context spends now: what is left, spread over the levels that it is expected to reach."""
        most = np.zeros(len(level.total))
        np.maximum.at(most, level.row, level.weight)
        ratio = np.clip(most / np.maximum(level.total, 1e-9), 1e-6, 1 - 1e-6)
        reach = np.log(np.maximum(most / (self.expected_scales * scale_of[left]), 1.0)) / -np.log(ratio)
        return np.maximum(left // np.clip(1 + reach.astype(np.int64), 1, levels), 1)

    def _moves(self, counter: Counter, gate: Gate, price: Fraction) -> int:
        if not self.private_moves:
            return self.moves
        lengths = counter.lengths(self.moves)
        return gate.quantile(
            "moves of a trip",
            lengths.keys + 1,
            self.moves_quantile,
            1,
            self.moves,
            ONE_TRIP,
            price,
            times=lengths.counts,
            parts=lengths.parts,
        )
