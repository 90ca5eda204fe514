"""Attack plan of Weave: every block on its own price, the partition of pairs, and the mistakes that could be made."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.counting.counter import Counter, walks_of
from wayveil.counting.local import LocalCounter
from wayveil.lab.audits.followers import trusting_raw_counts, with_made_up_prior
from wayveil.lab.audits.mutants import (
    BLOCKS,
    COMMON,
    DRAWN_AGAIN,
    GAME,
    GREY,
    LAW,
    LONG_TRIP,
    LONGEST,
    UNSEEN_STOP,
    Mutation,
    counting,
    only_in_audits,
    only_seen,
    parameter_from_data,
    whole_steps,
    with_counter,
    with_gate,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.recording import Subject
from wayveil.lab.audits.tiny_worlds import plain_world, small_grid, small_network
from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.measurements import Measurements
from wayveil.mechanisms.weave.settings import Generation, Shares
from wayveil.privacy.gate import Gate
from wayveil.privacy.noise import discrete_laplace
from wayveil.privacy.privtree import Leaves, decay, depth_of, partition
from wayveil.privacy.questions import Question, SparseCounts
from wayveil.synthesis.model import Model
from wayveil.world.timebins import TimeBins
from wayveil.world.walk_blocks import Block
from wayveil.world.world import World


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


def _root_weights(honest: Any, block: Block, *given: Any) -> SparseCounts:
    """Moves weigh what zCDP allows, under pure epsilon."""
    return honest(replace(block, euclidean=block.spread), *given)


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


class _InDistricts(Weave):
    """Weave with named districts, every so many places in turn, and no file that says so."""

    by: int = 2

    def _read_districts(self, world: World) -> Ints:
        return np.arange(world.size) % self.by

    def public_files(self) -> dict[str, Path]:
        return {}


def _districts_by_trips(subject: Subject) -> Subject:
    """Take as many districts as the exact number of trips allows."""
    look = parameter_from_data("by", lambda counter: 2 + int(counter.trips().counts.sum()) % 2)
    return look(replace(subject, mechanism=NEEDS))


# Trips are made of private measurements only, so that a sketch of them is enough here.
SKETCH = Generation(least=200, most=400, rounds=1, iterations=5)

# What a plan with needs makes of the shares, districts among them.
NEEDS = _InDistricts(weakest=0, faint=0, districts="in turn", generation=SKETCH).serving(
    {need: Fraction(1, 5) for need in ("boardings", "hours", "districts")}
)

PLANS = (
    AuditPlan(
        # Every question is asked, however little it would tell in so small a world.
        Weave(
            weakest=0,
            faint=0,
            faint_on_grid=0,
            fewest_inside=0,
            full_cells=0.1,
            shares=Shares(many_trips=200),
            generation=SKETCH,
        ),
        also=(
            Weave(weakest=0, triples_from=0, generation=SKETCH),
            Weave(weakest=0, period="week", generation=SKETCH),
            NEEDS,
            with_made_up_prior(Weave)(weakest=0, faint=0, fewest_inside=0, generation=SKETCH),
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
            *COMMON,
            DRAWN_AGAIN,
            Mutation("moves not normalised", counting("block", whole_steps), (GREY, BLOCKS), LONGEST),
            Mutation(
                "normalisation stops at 12 moves", with_counter(_StopsAtTwelve), (GREY, BLOCKS), LONG_TRIP
            ),
            Mutation(
                "root weights under pure epsilon", counting("block", _root_weights), (GREY, BLOCKS), LONGEST
            ),
            Mutation("moves not normalised in rho", counting("block", whole_steps, currency="rho"), (GREY,)),
            Mutation(
                "repeated moves forgotten in rho", with_counter(_RepeatsForgotten, currency="rho"), (GREY,)
            ),
            Mutation("cells from the data", counting("block", only_seen), (GREY, GAME), UNSEEN_STOP),
            trusting_raw_counts(Weave, _distrust),
            Mutation("resolution from the data", parameter_from_data("full_cells", _full_cells), (GREY,)),
            Mutation("districts from the data", _districts_by_trips, (GREY,)),
            Mutation("half the noise in the partition", with_gate(_HalfTreeNoise), (LAW,)),
            Mutation("no decay in the partition", with_gate(_NoDecay), (LAW,)),
            Mutation("empty nodes never split", with_gate(_EmptyNodesSilent), (LAW,)),
        ),
    ),
)
