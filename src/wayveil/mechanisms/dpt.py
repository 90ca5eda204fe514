"""DPT: trips as steps on grids of several sizes (He, Cormode, Machanavajjhala, Procopiuc and Srivastava 2015).

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: grids, sizes, tree height and thresholds are public. A trip has W events (steps, changes of system, the
    end) and gives floor(K / W) of its K parts to each, so it moves the nodes of one level of all trees together by at
    most K, whatever its length; every level is noised with its own share, and only public children of kept nodes are
    asked. The choice of the finest system moves by at most K per trip and is bought with `gate.select`; starts and the
    number of trips are histograms in which a trip is in one cell. Walking is post-processing.
    Attacked by tests/mechanisms/test_dpt.py and the plan in risk/plans/dpt.py.
"""

from fractions import Fraction
from math import ceil, log
from typing import ClassVar

import numpy as np
from pydantic import Field

from wayveil.arrays import Ints
from wayveil.counting.counter import Counter
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.shared_fields import Longest, Share
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts, SparseCounts
from wayveil.synthesis.dpt_model import DptModel, StepTree
from wayveil.synthesis.model import Model
from wayveil.world.reference_systems import ReferenceSystems
from wayveil.world.walk_blocks import Block, Walks

ONE_TRIP = Contribution(per_trip=1)


class DPT(Mechanism):
    """Trees of steps, one per reference system, and walks that keep their direction.

    >>> wv.DPT(metres=250).metres
    250.0
    """

    name: ClassVar[str] = "dpt"
    makes: ClassVar[type[Model]] = DptModel
    summary: ClassVar[str] = "steps on grids of several sizes, and walks that keep their direction"
    # Cells are left and entered anywhere: what the network allows is not asked.
    steps: ClassVar[bool] = False

    metres: float = Field(
        250.0, gt=0, description="Side of the cells of the finest system, in metres (public)."
    )
    systems: int = Field(
        6, ge=1, le=16, description="Reference systems: cells of `metres` x 1, 2, 4, ... (public)."
    )
    height: int = Field(3, ge=2, le=8, description="Levels of the trees: a cell and what follows (public).")
    longest: Longest = 200
    window: int = Field(
        3, ge=0, le=50, description="Steps whose direction a walk tends to keep; 0: none (public)."
    )
    trips_share: Share = Field(Fraction(1, 20), description="Share of epsilon that buys the number of trips.")
    choice_share: Share = Field(Fraction(1, 20), description="Share of epsilon that buys the finest system.")
    starts_share: Share = Field(Fraction(1, 5), description="Share of epsilon that buys where trips begin.")
    parts: int = Field(
        1 << 20, ge=1, le=1 << 30, description="Whole numbers in which a trip spreads its weight of one."
    )
    false_children: float = Field(
        0.1, gt=0, description="Sets the thresholds: false children that noise may add to a node, on average."
    )

    def measure(self, counter: Counter, gate: Gate) -> DptModel:
        """Choose the finest system, find where trips begin, and grow the trees level by level."""
        systems = ReferenceSystems(counter.world, self.metres, self.systems)
        total = gate.budget.remaining
        number = gate.histogram(
            "number of trips", counter.trips(), ONE_TRIP, total * self.trips_share
        ).counts[0]
        finest = self._choose(counter, gate, systems, total * self.choice_share)
        first = int(systems.first[finest])
        starts = self._starts(counter, gate, systems, finest, total * self.starts_share)
        tree = StepTree((), ())
        for price in gate.budget.split([1] * self.height):
            tree = self._grow(counter, gate, systems, finest, tree, price)
        return DptModel(
            counter.world,
            self.metres,
            self.systems,
            finest,
            starts.keys + first,
            starts.counts,
            tree,
            max(float(number), 1.0),
            self.longest,
            self.window,
        )

    @property
    def _spread(self) -> Contribution:
        return Contribution(per_trip=self.parts, per_cell=self.parts)

    def _choose(self, counter: Counter, gate: Gate, systems: ReferenceSystems, price: Fraction) -> int:
        """The finest system that pays: moves that are no finer than it, less what thresholds take from its cells."""

        def of(walks: Walks) -> Ints:
            return systems.moves(walks, 0)[0]

        def parts(walks: Walks) -> Ints:
            return walks.lengths - 1

        moves = counter.block(Block("natural systems", systems.systems, of, parts), self.parts)
        scores = self._scores(moves, gate, systems, price)
        return gate.select("finest system", scores, self._spread, price, parts=moves.parts)

    def _scores(self, moves: SparseCounts, gate: Gate, systems: ReferenceSystems, price: Fraction) -> Ints:
        """Weight of the moves that each system and the coarser ones hold, less what thresholds may take from it.

        A step out of a cell is seen where it stands above the threshold of its level, so every cell of the system may
        lose as much as that. Systems in which hardly any step would be seen are thus not chosen.
        """
        held = np.zeros(systems.systems, np.int64)
        held[moves.keys] = moves.counts
        level = (gate.budget.total - price) / (self.height + 1)
        lost = self._threshold(gate, self._spread, level, systems.symbols)
        lost = int(lost * (moves.parts or 1) / gate.factor)
        cells = np.array([len(np.unique(place)) for place in systems.place], np.int64)
        return np.cumsum(held[::-1])[::-1] - lost * cells

    def _starts(
        self, counter: Counter, gate: Gate, systems: ReferenceSystems, finest: int, price: Fraction
    ) -> NoisyCounts:
        first = int(systems.first[finest])

        def of(walks: Walks) -> Ints:
            events = systems.events(walks, finest)
            opens = np.ones(len(events.walk), bool)
            opens[1:] = events.walk[1:] != events.walk[:-1]
            return events.cell[opens] - first

        cells = systems.cells - first
        exact = counter.block(Block("starts", cells, of), 1)
        threshold = self._threshold(gate, ONE_TRIP, price, cells)
        return gate.histogram("where trips begin", exact, ONE_TRIP, price, threshold=threshold)

    def _grow(
        self,
        counter: Counter,
        gate: Gate,
        systems: ReferenceSystems,
        finest: int,
        tree: StepTree,
        price: Fraction,
    ) -> StepTree:
        """One more level: the public children of all kept nodes, as one histogram over all systems."""
        depth, first = tree.height, int(systems.first[finest])
        universe = systems.cells - first if depth == 0 else len(tree.keys[-1]) * systems.symbols
        # A level without candidates is asked too, over one cell that nobody is in: what is spent is public.
        nobody = universe == 0
        universe = max(universe, 1)

        def of(walks: Walks) -> Ints:
            node, symbol, _ = tree.nodes(walks, systems, finest, depth)
            if depth == 0:
                return node - first
            if nobody:
                return np.full(len(node), -1, np.int64)
            return np.where((node >= 0) & (symbol >= 0), node * systems.symbols + symbol, -1)

        def parts(walks: Walks) -> Ints:
            return np.bincount(systems.events(walks, finest).walk, minlength=len(walks))

        exact = counter.block(Block(f"level {depth + 1}", universe, of, parts), self.parts)
        candidates = universe if depth == 0 else systems.symbols
        threshold = self._threshold(gate, self._spread, price, candidates)
        label = f"level {depth + 1} of the trees"
        answer = gate.histogram(label, exact, self._spread, price, threshold=threshold)
        kept = np.zeros(len(answer.keys), bool) if nobody else np.ones(len(answer.keys), bool)
        keys = answer.keys[kept] + (first if depth == 0 else 0)
        return StepTree((*tree.keys, keys), (*tree.noisy, answer.counts[kept]))

    def _threshold(self, gate: Gate, contribution: Contribution, price: Fraction, candidates: int) -> int:
        """So high that noise lifts `false_children` of the candidates over it, on average (1 % of a whole level)."""
        allowed = max(self.false_children, 0.01 * candidates if candidates > 1_000 else 0.0)
        scale = float(gate.scale(contribution, price))
        return max(1, ceil(scale * log(max(candidates / (2 * allowed), 1.0))))
