"""How Weave is attacked: every block on its own price, the partition of pairs, and the mistakes that could be made."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.counting.counter import walks_of
from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Counter
from wayveil.lab.audits.followers import trusting_raw_counts, with_made_up_prior
from wayveil.lab.audits.mutants import (
    BLOCKS,
    DRAWN_AGAIN,
    EVERYWHERE,
    GAME,
    GREY,
    LAW,
    LONG_TRIP,
    OBSERVED_WORLD,
    WITH_QUESTIONS,
    Mutation,
    only_in_audits,
    parameter_from_data,
    with_counter,
    with_gate,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.tiny_worlds import plain_world, small_grid, small_network
from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.measurements import Measurements
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.shares import GridShares, Shares
from wayveil.privacy.gate import Gate
from wayveil.privacy.noise import discrete_laplace
from wayveil.privacy.privtree import Leaves, decay, depth_of, partition
from wayveil.privacy.questions import Question, SparseCounts
from wayveil.synthesis.model import Model
from wayveil.world.timebins import TimeBins
from wayveil.world.walk_blocks import Block


class _WholeMoves(LocalCounter):
    """Every move counts whole, so that a long trip counts many times."""

    def block(self, block: Block, whole: int, bins: TimeBins | None = None) -> SparseCounts:
        heavier = 4 if block.spread else 1
        return super().block(block, heavier * whole, bins)


class _StopsAtTwelve(LocalCounter):
    """Weights shrink with the number of moves, but only down to a twelfth."""

    def block(self, block: Block, whole: int, bins: TimeBins | None = None) -> SparseCounts:
        if block.parts is None or block.euclidean:
            return super().block(block, whole, bins)
        table = np.zeros(block.cells, np.int64)
        walks = walks_of(self._trips, bins)
        if len(walks):
            parts, cells = block.parts(walks), block.of(walks)
            weight = np.repeat(whole // np.clip(parts, 1, 12), parts)
            np.add.at(table, cells[cells >= 0], weight[cells >= 0])
        return SparseCounts.dense(table)


class _RootWeights(LocalCounter):
    """Moves weigh what zCDP allows, under pure epsilon."""

    def block(self, block: Block, whole: int, bins: TimeBins | None = None) -> SparseCounts:
        return super().block(replace(block, euclidean=block.spread), whole, bins)


class _RepeatsForgotten(LocalCounter):
    """In rho, moves weigh 1 / sqrt(moves) also where the same edge comes again, which then counts more than once."""

    def block(self, block: Block, whole: int, bins: TimeBins | None = None) -> SparseCounts:
        if block.parts is None or not block.euclidean:
            return super().block(block, whole, bins)
        table = np.zeros(block.cells, np.int64)
        walks = walks_of(self._trips, bins)
        parts, cells = block.parts(walks), block.of(walks)
        weight = np.repeat((whole / np.sqrt(np.maximum(parts, 1))).astype(np.int64), parts)
        np.add.at(table, cells[cells >= 0], weight[cells >= 0])
        return SparseCounts.dense(table)


class _ObservedCells(LocalCounter):
    """Only cells that somebody is in have a place in the histogram."""

    def block(self, block: Block, whole: int, bins: TimeBins | None = None) -> SparseCounts:
        seen = super().block(block, whole, bins)
        return SparseCounts(max(len(seen.keys), 1), np.arange(len(seen.keys)), seen.counts)


class _TreeGate(Gate):
    def answer_tree(self, question: Question, exact: SparseCounts) -> Leaves:
        only_in_audits(self)
        step = self.step(question)

        def split(level: int, nodes: Ints, values: Ints) -> NDArray[np.bool_]:
            return self.split(question, values, step)

        return replace(
            partition(exact.keys, exact.counts, depth_of(question.universe), step, split),
            step=decay(question.scale, 1),
        )

    def step(self, question: Question) -> int:
        return decay(question.scale, self.unit.sensitivity(question.contribution).l1)

    def split(self, question: Question, values: Ints, step: int) -> NDArray[np.bool_]:
        return values + discrete_laplace(len(values), question.scale, self.bits) > 0


class _HalfTreeNoise(_TreeGate):
    """Draws noise of half the scale for the nodes of the partition."""

    def split(self, question: Question, values: Ints, step: int) -> NDArray[np.bool_]:
        return values + discrete_laplace(len(values), question.scale / 2, self.bits) > 0


class _NoDecay(_TreeGate):
    """Deep nodes are split as readily as shallow ones."""

    def step(self, question: Question) -> int:
        return 1


class _EmptyNodesSilent(_TreeGate):
    """Nodes that nobody is in are never split, and draw no noise."""

    def split(self, question: Question, values: Ints, step: int) -> NDArray[np.bool_]:
        return super().split(question, values, step) & (values > -step)


def _full_cells(counter: Counter) -> float:
    """Choose how finely to look by the exact number of trips."""
    return 4.0 / max(int(counter.trips().counts.sum()), 1)


def _distrust(model: Model, trips: float) -> Model:
    """Earlier weeks count less, the farther their totals are from the exact number of trips."""
    assert isinstance(model, Measurements)
    weeks = (
        {
            name: replace(block, variance=block.variance + (block.counts.sum() / block.whole - trips) ** 2)
            for name, block in week.items()
        }
        for week in model.earlier
    )
    return replace(model, earlier=tuple(weeks))


# Trips are made of private measurements only, so that a sketch of them is enough here.
SKETCH = Generation(least=200, most=400, early=200, sweeps=1, rounds=1, iterations=5)

PLAN = AuditPlan(
    # Every question is asked, however little it would tell in so small a world.
    Weave(
        weakest=0,
        faint=0,
        faint_crossings=0,
        fewest_inside=0,
        full_cells=0.1,
        moves_from=0,
        shares=Shares(on_grid=GridShares(clear_crossings=200)),
        generation=SKETCH,
    ),
    also=(
        Weave(weakest=0, triples_from=0, generation=SKETCH),
        Weave(weakest=0, period="week", generation=SKETCH),
        with_made_up_prior(Weave)(weakest=0, faint=0, fewest_inside=0, moves_from=0, generation=SKETCH),
    ),
    # About one unit of epsilon for each of its blocks; so much cannot be shown of a whole release, nor be refuted.
    epsilon=Fraction(12),
    whole=Fraction(2),
    worlds=(plain_world, small_grid, small_network),
    currencies=("epsilon", "rho"),
    # Repeats edges, which the L2 norm has to notice: random trips on a tiny world often do not.
    canaries=(("the same way again", (0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0)),),
    busy_in_town=12,
    largest=1_500,
    mutations=(
        *EVERYWHERE,
        DRAWN_AGAIN,
        *WITH_QUESTIONS,
        OBSERVED_WORLD,
        Mutation("moves not normalised", with_counter(_WholeMoves), (GREY, BLOCKS), "the longest trip"),
        Mutation("normalisation stops at 12 moves", with_counter(_StopsAtTwelve), (GREY, BLOCKS), LONG_TRIP),
        Mutation(
            "root weights under pure epsilon", with_counter(_RootWeights), (GREY, BLOCKS), "the longest trip"
        ),
        Mutation("moves not normalised in rho", with_counter(_WholeMoves, currency="rho"), (GREY,)),
        Mutation("repeated moves forgotten in rho", with_counter(_RepeatsForgotten, currency="rho"), (GREY,)),
        Mutation("cells from the data", with_counter(_ObservedCells), (GREY, GAME), "a stop nobody visits"),
        trusting_raw_counts(Weave, _distrust),
        Mutation("resolution from the data", parameter_from_data("full_cells", _full_cells), (GREY,)),
        Mutation("half the noise in the partition", with_gate(_HalfTreeNoise), (LAW,)),
        Mutation("no decay in the partition", with_gate(_NoDecay), (LAW,)),
        Mutation("empty nodes never split", with_gate(_EmptyNodesSilent), (LAW,)),
    ),
)
