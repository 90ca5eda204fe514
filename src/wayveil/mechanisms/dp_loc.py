"""dp-loc: the clean-slate generator of the DP-Loc study, with a guarantee that holds.

Guarantee
    (epsilon, delta)-differential privacy for units that own whole trips: trip, rider, rider-day.
    Reason: the number of trips, and in the default preset ends and moves by cell, are bought as in od-hops, in pure
    epsilon. The networks are trained through the gate (privacy/training.py): units drawn by Poisson, one hop of one
    trip of each, clipped sums in whole numbers, rounded Gaussian noise on every parameter, and sigma from the privacy
    loss distribution of all steps of all trainings together, at the release's delta. Prices add up to epsilon. Batch,
    steps, rates, clips and architecture are public constants, or follow from the noisy number of trips. Walking, or
    searching the likeliest way, is post-processing.
    Attacked by tests/mechanisms/test_dp_loc.py and the plan in risk/plans/dp_loc.py.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal

from pydantic import Field

from wayveil.counting.counter import Counter
from wayveil.errors import RefusedError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.od_hops import buy_ends, buy_flows, buy_trips, grid_of, zone_bits
from wayveil.privacy.accounting import SampledSteps
from wayveil.privacy.gate import Gate
from wayveil.privacy.training import check_trainable
from wayveil.synthesis.hops.hop_net import HopNet
from wayveil.synthesis.hops.hops_model import NetHopsModel
from wayveil.synthesis.hops.published import PublishedModel, SourceNet, StudyHopNet
from wayveil.synthesis.model import Model
from wayveil.trips.legality import LegalityRule
from wayveil.world.grid_moves import MOVES, GridMoves
from wayveil.world.world import World

# Of the default preset; set with the shares on a simulated city of another seed than every judged one.
RATE, HOP_CLIP = 0.006, 4.0
# The study's, for batches of 200: the first steps of the networks of ends and of hops, below epsilon 2 and from there.
STUDY_BATCH, STUDY_RATES = 200, ((0.2, 0.1), (0.5, 0.15))
# A delta is far below one over the number of trips if all trips together make at most this much of it.
LARGEST_DELTA = 0.25


class DpLoc(Mechanism):
    """Ends of trips, a network for the next hop, and walks that arrive; or all as published (`preset="published"`).

    >>> wv.DpLoc().name
    'dp-loc'
    """

    name: ClassVar[str] = "dp-loc"
    summary: ClassVar[str] = (
        "ends of trips, a trained network for the next hop towards a destination, and walks"
    )
    makes: ClassVar[type[Model]] = NetHopsModel
    trained: ClassVar[bool] = True
    # A step learns from one trip of a unit, whatever the others weigh.
    weighs: ClassVar[bool] = False

    preset: Literal["default", "published"] = Field(
        "default",
        description="`default`: ends from a private tree and a small network; `published`: both networks of the study.",
    )
    trips_share: Fraction = Field(
        Fraction(1, 50), gt=0, lt=1, description="Share of epsilon that buys the number of trips."
    )
    tree_share: Fraction = Field(
        Fraction(3, 20),
        gt=0,
        lt=1,
        description="Default preset: share that buys the partition of pairs of ends.",
    )
    ends_share: Fraction = Field(
        Fraction(1, 4),
        gt=0,
        lt=1,
        description="Default preset: share that buys trips per leaf of that partition.",
    )
    hours_share: Fraction = Field(
        Fraction(2, 25), gt=0, lt=1, description="Default preset: share that buys starts by zone and hour."
    )
    flows_share: Fraction = Field(
        Fraction(7, 20),
        gt=0,
        lt=1,
        description="Default preset: share that buys moves by single cell: the streets. Training gets what is left.",
    )
    training_steps: int = Field(
        1500, ge=1, description="Steps of each training (public; the study took 9,120 of each)."
    )
    batch: int = Field(1000, ge=1, description="Examples that a step draws on average (the study took 200).")
    most_drawn: Fraction = Field(
        Fraction(1, 20),
        gt=0,
        le=1,
        description="A step draws at most this share of all units, on average: few trips have smaller batches.",
    )
    rate: float | None = Field(
        None,
        gt=0,
        description="Size of the first step; none: 0.006, of Adam, shrinking to nothing, or for `published` as in the "
        "study, in proportion to the batch.",
    )
    clip: float | None = Field(None, gt=0, description="Clip of a gradient; none: 4, or as in the study.")
    hidden: int = Field(32, ge=1, le=4096, description="Default preset: width of the hidden layer.")
    full_cells: float = Field(
        60.0,
        gt=0,
        description="Default preset: trips per zone and move that the network should see, on average.",
    )
    way: Literal["walk", "shortest"] = Field(
        "walk", description="Default preset: how hops become trips: sampled walks, or the likeliest way."
    )
    weakest: float = Field(
        500.0,
        ge=0,
        description="Below this number of trips x epsilon a release is refused after buying the number of trips.",
    )

    @classmethod
    def published(cls, **parameters: Any) -> "DpLoc":
        """Both networks of the study over the full public grid."""
        return cls(**({"preset": "published"} | parameters))

    @classmethod
    def model_kinds(cls, described: Mapping[str, Any]) -> tuple[type[Model], ...]:
        """Either preset's."""
        return NetHopsModel, PublishedModel

    def rule(self, world: World) -> LegalityRule:
        """The study keeps jumps of up to five cells; the default fills them in."""
        return LegalityRule(impossible="keep") if self.preset == "published" else super().rule(world)

    def measure(self, counter: Counter, gate: Gate) -> Model:
        """Buy the number of trips and the ends, then train."""
        check_trainable(gate.unit)
        moves = GridMoves(grid_of(counter.world, self.name))
        total = gate.budget.total
        number = buy_trips(self.name, counter, gate, total * self.trips_share, self.weakest)
        self._refuse_delta(gate, number)
        return (
            self._published(counter, gate, moves, number)
            if self.preset == "published"
            else self._default(counter, gate, moves, number)
        )

    def _default(self, counter: Counter, gate: Gate, moves: GridMoves, number: float) -> NetHopsModel:
        total = gate.budget.total
        ends = buy_ends(
            counter,
            gate,
            moves,
            number,
            tree=total * self.tree_share,
            leaves=total * self.ends_share,
            hours=total * self.hours_share,
            full=4.0,
        )
        flows = buy_flows(counter, gate, moves, total * self.flows_share)
        price = gate.budget.remaining
        bits = min(zone_bits(moves, number, gate, price, self.full_cells, per_zone=MOVES), 8)
        plan, rate = self._plan(gate, number), RATE if self.rate is None else self.rate
        net = HopNet(moves, flows.shares(moves), bits, self.hidden, rate, plan.steps)
        gate.training("training of hops", [plan], price).run(
            counter.hop_examples(gate.unit),
            net,
            clip=HOP_CLIP if self.clip is None else self.clip,
            expected=float(plan.probability * Fraction(_units(gate, number))),
            name="learning hops",
        )
        return NetHopsModel(moves.grid, number, ends, flows, self.way, bits, self.hidden, tuple(net.weights))

    def _published(self, counter: Counter, gate: Gate, moves: GridMoves, number: float) -> PublishedModel:
        plan = self._plan(gate, number)
        bought = gate.training("training of ends and hops", [plan, plan], gate.budget.remaining)
        expected = float(plan.probability * Fraction(_units(gate, number)))
        source_rate, hop_rate = self._study_rates(gate, expected)
        source = SourceNet(moves.grid, rate=source_rate)
        bought.run(
            counter.end_examples(gate.unit),
            source,
            clip=1.0 if self.clip is None else self.clip,
            expected=expected,
            name="learning ends",
        )
        hops = StudyHopNet(moves.grid, rate=hop_rate)
        bought.run(
            counter.hop_examples(gate.unit),
            hops,
            clip=3.0 if self.clip is None else self.clip,
            expected=expected,
            name="learning hops",
        )
        return PublishedModel(moves.grid, number, tuple(source.weights), tuple(hops.weights), counter.timed)

    def _plan(self, gate: Gate, number: float) -> SampledSteps:
        """Public: the batch over the noisy number of units, or less of them."""
        return SampledSteps(
            min(Fraction(self.batch, _units(gate, number)), self.most_drawn), self.training_steps
        )

    def _study_rates(self, gate: Gate, expected: float) -> tuple[float, float]:
        """A step over so many examples goes as far as the study's steps over as many: there are fewer of them."""
        if self.rate is not None:
            return self.rate, self.rate
        source, hops = STUDY_RATES[gate.budget.total >= 2]
        return source * expected / STUDY_BATCH, hops * expected / STUDY_BATCH

    def _refuse_delta(self, gate: Gate, number: float) -> None:
        if float(gate.budget.delta) * number > LARGEST_DELTA:
            raise RefusedError(
                f"dp-loc: delta {float(gate.budget.delta):g} is not far below one over the number of trips (about "
                f"{number:,.0f}): it would allow giving somebody away whole. Use a delta of at most "
                f"{LARGEST_DELTA / number:.1g}. Counting the trips has cost its share."
            )


def _units(gate: Gate, number: float) -> int:
    """About how many units there are, from the noisy number of trips: at least one per bounded unit."""
    return max(round(number / getattr(gate.unit, "max_trips", 1)), 1)
