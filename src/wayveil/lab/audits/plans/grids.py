"""Attack plans of mechanisms of hops on a grid: od-hops, and every step of dp-loc's training."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.counting.counter import Counter
from wayveil.counting.local import LocalCounter
from wayveil.lab.audits.mutants import (
    CHORUS,
    EVERYWHERE,
    GAME,
    GREY,
    LONGEST,
    TOTAL,
    UNSEEN_STOP,
    WITH_QUESTIONS,
    BrokenGate,
    Mutation,
    as_kind,
    counting,
    only_in_audits,
    with_counter,
    with_gate,
)
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.tiny_worlds import tiny_grid
from wayveil.mechanisms.dp_loc import DpLoc
from wayveil.mechanisms.od_hops import OdHops
from wayveil.privacy.gate import Gate
from wayveil.privacy.gradients import CLIP, Part, clipped_sum
from wayveil.privacy.questions import Question
from wayveil.privacy.training import Examples
from wayveil.privacy.units import Rider, RiderDay, Trip
from wayveil.synthesis.hops.hops_model import NetHopsModel
from wayveil.synthesis.model import Model
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid


def visited_cells(trips: Trips) -> Counter:
    """Counts over a grid that is masked to the cells that occur in the data."""
    grid = trips.world
    assert isinstance(grid, Grid)
    layout = grid.layout
    mask = np.zeros(layout.rows * layout.columns, bool)
    flat = np.flatnonzero(grid.numbers >= 0)
    mask[flat[trips.location]] = True
    mask[flat[:2]] = True
    seen = Grid(layout, mask=mask)
    location = seen.numbers[flat[trips.location]]
    return LocalCounter(Trips(location, trips.offsets, seen, trips.time, trips.rider))


UNIVERSE_FROM_DATA = Mutation("universe from the data", with_counter(visited_cells), (GREY,), UNSEEN_STOP)
# Every hop counts whole, so that a long trip counts many times.
NOT_SPREAD = Mutation(
    "hops not spread",
    counting("hop_weights", lambda honest, cells, universe, whole: honest(cells, universe, 4 * whole)),
    (GREY, GAME),
    LONGEST,
)


class _Broken(BrokenGate):
    taken = 0


class _NoClipping(_Broken):
    """Gradients are summed as they are."""

    def clip(self, parts: Sequence[Part], clip: float) -> list[Floats]:
        # A clip a thousand times as large on a grid a thousand times as coarse, put back on the grid.
        return [np.trunc(total * 1000) for total in clipped_sum(parts, 1000 * clip)]


class _BatchClipping(_Broken):
    """The mean of a batch is clipped instead of every example."""

    def clip(self, parts: Sequence[Part], clip: float) -> list[Floats]:
        sums = [np.trunc(total * 1000) for total in clipped_sum(parts, 1000 * clip)]
        batch = max(len(parts[0].errors), 1)
        norm = np.sqrt(sum(float((total**2).sum()) for total in sums)) / batch
        return [np.trunc(total * min(1.0, CLIP / max(norm, 1.0))) for total in sums]


class _HalfNoise(_Broken):
    """Half the noise that was booked."""

    def answer_step(self, question: Question, exact: Floats) -> Floats:
        return super().answer_step(replace(question, scale=question.scale / 2), exact)


class _NoiseOnce(_Broken):
    """Only the first step gets noise."""

    def answer_step(self, question: Question, exact: Floats) -> Floats:
        self.taken += 1
        return super().answer_step(question, exact) if self.taken == 1 else exact


class _NoiseWhereTouched(_Broken):
    """Only parameters that the batch touched get noise, such as the embedding rows in it."""

    def answer_step(self, question: Question, exact: Floats) -> Floats:
        return np.where(exact != 0, super().answer_step(question, exact), 0.0)


class _NoNoise(_Broken):
    """No noise at all."""

    def answer_step(self, question: Question, exact: Floats) -> Floats:
        return exact


class _FixedSize(_Broken):
    """A fixed number of units, with replacement: one may come twice."""

    def draw_units(self, examples: Examples, probability: Fraction) -> Ints:
        size = max(round(float(probability) * examples.units), 1)
        unit = (self.bits.words(size) % np.uint64(max(examples.units, 1))).astype(np.int64)
        return examples.one_each(unit, self.bits.words(2).copy())


class _TrueDenominator(DpLoc):
    """Sums are divided by the true number of trips."""

    def measure(self, counter: Counter, gate: Gate) -> Model:
        only_in_audits(gate)
        model, true = super().measure(counter, gate), float(counter.trips().counts.sum())
        assert isinstance(model, NetHopsModel)
        return replace(model, weights=tuple(weight / true for weight in model.weights))


PLANS = (
    AuditPlan(
        OdHops(weakest=0),
        also=(OdHops(weakest=0, hours_share=Fraction(1, 5), full_cells=0.1),),
        epsilon=Fraction(4),
        worlds=(tiny_grid,),
        currencies=("epsilon", "rho"),
        mutations=(*EVERYWHERE, *WITH_QUESTIONS, UNIVERSE_FROM_DATA, NOT_SPREAD),
        town=False,
    ),
    AuditPlan(
        DpLoc(weakest=0, training_steps=3, batch=1000, most_drawn=Fraction(1, 2), hidden=8, clip=0.05),
        also=(
            DpLoc.published(weakest=0, training_steps=2, batch=1000, most_drawn=Fraction(1, 2), clip=0.05),
        ),
        epsilon=Fraction(4),
        delta=Fraction(1, 1000),
        worlds=(tiny_grid,),
        units=(Trip(), Rider(max_trips=2, without_id="own"), RiderDay(max_trips=2, without_id="own")),
        unfit=tuple((unit, "draw whole trips of a unit") for unit in ("event", "points")),
        mutations=(
            Mutation("no clipping", with_gate(_NoClipping), (GREY,)),
            Mutation("the batch clipped, not its examples", with_gate(_BatchClipping), (GREY,)),
            Mutation("half the noise", with_gate(_HalfNoise), (GREY,)),
            Mutation("noise in the first step only", with_gate(_NoiseOnce), (GREY,)),
            Mutation("noise only where the batch is", with_gate(_NoiseWhereTouched), (GREY,)),
            Mutation("no noise", with_gate(_NoNoise), (CHORUS, GREY)),
            Mutation("fixed size with replacement", with_gate(_FixedSize), (GREY,)),
            Mutation("true number of trips as denominator", as_kind(_TrueDenominator), (GREY,)),
            UNIVERSE_FROM_DATA,
            TOTAL,
        ),
        town=False,
    ),
)
