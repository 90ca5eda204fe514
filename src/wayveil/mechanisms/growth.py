"""Growing a noisy tree level by level: the engine that all tree mechanisms share.

At every level the candidates are the public children of the nodes kept so far, the gate answers with the candidates
whose noisy count reaches the threshold, and those are the nodes of the next level. One trip is in at most one
candidate per level, so a level costs its price once, whatever is kept; the prices add up along the levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, exp

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.counting.counter import Counter
from wayveil.counting.protocol import Frontier, LevelCounter
from wayveil.errors import ParameterError, RefusedError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.shared_fields import (
    FalseChildren,
    FalseRoots,
    Filling,
    Height,
    SizeShare,
    Smoothing,
    buy_size,
    noise_aware_threshold,
    visit_contribution,
)
from wayveil.mechanisms.time_axis import public_successors
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.progress import track
from wayveil.synthesis.consistency import scale_down
from wayveil.synthesis.model import Margins, PaidSize
from wayveil.synthesis.tree import TreeLevel
from wayveil.world.successors import CompleteSuccessors, Successors
from wayveil.world.timebins import TimeBins
from wayveil.world.timed import VisitBin, VisitStop
from wayveil.world.world import World

ONE_NODE_PER_LEVEL = Contribution(per_trip=1)
# A written visit: place and time, and the same again while trips are put together.
BYTES_PER_VISIT = 24
# Share of a known number of trips that false roots may stand for, and rounds that settle the threshold for it.
FALSE_TRIPS, ROUNDS = 0.1, 8
# Of what buys visits per stop and per time bin, the part for time bins, as there are fewer of them, and that for the
# number of repeats; and how many visits of a trip count there at least, as a week is not like its first few.
TIMES_PART, REPEATS_PART, FEWEST_VISITS = Fraction(1, 4), Fraction(1, 20), 8


@dataclass(frozen=True)
class Threshold:
    """Which noisy counts a level keeps.

    Noise lifts an empty candidate over a threshold t with probability about exp(-t / scale) / 2. With A candidates per
    node that makes A exp(-t / scale) / 2 false children, and if that is more than one, false nodes breed false nodes
    and the tree explodes. By default t is the smallest integer that keeps this number at `false_children`. A fixed
    multiple of the scale can be asked for instead (`scales`, as the published mechanisms do); when it would explode,
    it is refused, or raised to the noise-aware one if `when_explosive` says so.

    The root has children once, so the first level cannot explode: there noise may keep a share `false_roots` of all
    candidates, which loses far fewer true ones than a fixed number would in a large world. But where the number of
    trips is known, false roots may stand for a tenth of it at most: in a universe of stops and hours a share of the
    candidates alone would be more trips than there are. So the threshold falls with epsilon, in noise scales too.
    """

    false_children: float = 0.1
    false_roots: float = 0.01
    scales: float | None = None
    when_explosive: str = "refuse"

    def check(self, successors: Successors) -> None:
        """Refuse a fixed threshold under which false nodes would multiply, before anything is paid for."""
        expected = successors.mean_degree * exp(-(self.scales or 0.0)) / 2
        if self.scales is not None and expected > 1 and self.when_explosive == "refuse":
            raise ParameterError(
                f"a threshold of {self.scales:.2f} noise scales would let noise alone keep {expected:.1f} false "
                f"children for each node, and they would multiply from level to level. Use the noise-aware "
                f"threshold, restrict the children to a network's moves, or let the threshold be raised "
                f"(when_explosive='raise')."
            )

    def of(
        self, frontier: Frontier, scale: Fraction, *, first: bool = False, trips: float | None = None
    ) -> int:
        """The threshold for one level; a function of public things and earlier noisy answers only."""
        candidates = frontier.universe / max(len(frontier.states), 1)
        allowed = max(self.false_children, self.false_roots * candidates) if first else self.false_children
        noise_aware = noise_aware_threshold(candidates, allowed, scale)
        if first and trips is not None:
            # A false root stands for the threshold and, on average, one scale more; a few rounds settle it.
            for _ in range(ROUNDS):
                allowed = FALSE_TRIPS * trips / (noise_aware + float(scale))
                noise_aware = max(noise_aware, noise_aware_threshold(candidates, allowed, scale))
        if self.scales is None:
            return noise_aware
        fixed = max(1, ceil(self.scales * float(scale)))
        explosive = candidates * exp(-fixed / float(scale)) / 2 > 1
        return max(fixed, noise_aware) if explosive and self.when_explosive == "raise" else fixed


@dataclass(frozen=True)
class LevelPlan:
    """One level: its label in the ledger, its price, what may come next, and its own threshold if it has one."""

    label: str
    price: Fraction
    successors: Successors
    threshold: Threshold | None = None


def grow(
    counter: LevelCounter,
    plans: Sequence[LevelPlan],
    threshold: Threshold,
    gate: Gate,
    *,
    trips: float | None = None,
    prune_early: bool = False,
) -> tuple[TreeLevel, ...]:
    """The noisy tree. All levels are paid for, also those below the last kept node.

    Before each level the gate bounds from above how many candidates noise may keep, among the children of all kept
    nodes. A tree that would pass the memory limit is refused there, and only the levels above it are booked.

    `trips` is how many there are, where that was bought. With `prune_early`, children are cut down to their parent's
    count as the tree grows (in proportion, on noisy counts only), and those that fall under the threshold by it are
    not expanded.
    """
    levels: list[TreeLevel] = []
    states: Ints = np.zeros(1, np.int64)
    settled: Floats | None = None
    for plan in track(plans, "growing the tree", len(plans)):
        frontier = Frontier(states, plan.successors)
        scale = gate.scale(ONE_NODE_PER_LEVEL, plan.price)
        limit = (plan.threshold or threshold).of(frontier, scale, first=not levels, trips=trips)
        exact = counter.count(frontier)
        noisy = gate.histogram(plan.label, exact, ONE_NODE_PER_LEVEL, plan.price, threshold=limit)
        keys, counts = noisy.keys, noisy.counts
        if prune_early:
            keys, counts, settled = _prune(frontier, keys, counts, settled, limit)
        counter.descend(keys)
        parent, symbol, states = frontier.children(keys)
        levels.append(TreeLevel(parent, symbol, counts, scale, limit))
    return tuple(levels)


class TreeMechanism(Mechanism):
    """Common part of all trees: how high they are, what noise may add to them, and what their size costs."""

    height: Height = 12
    false_children: FalseChildren = 0.5
    false_roots: FalseRoots = 0.01
    smoothing: Smoothing = False
    size_share: SizeShare = Fraction(1, 25)
    filling: Filling = Fraction(0)

    @property
    def set_aside(self) -> Fraction:
        """Share of epsilon that no level of the tree gets."""
        return self.size_share + self.filling

    def threshold(self, scales: float | None = None, when_explosive: str = "raise") -> Threshold:
        """The noise-aware one, or a fixed one with it for where it would explode."""
        return Threshold(self.false_children, self.false_roots, scales, when_explosive)

    def require_fillable(self, world: World) -> None:
        """Refuse to fill up what stops by themselves cannot: moves of a network, or an unknown number of trips."""
        if not self.filling:
            return
        if self.size_share == 0 or self.set_aside >= 1:
            raise ParameterError("filling needs a size_share above 0, and both together must stay below 1")
        moves = public_successors(world, getattr(self, "successors", "all"))
        if not isinstance(moves, CompleteSuccessors):
            raise ParameterError(
                "filling draws stops by themselves, which the moves of a network do not allow; set successors=all "
                "(taps), or omit filling"
            )

    def grown(
        self,
        counter: Counter,
        gate: Gate,
        prefixes: LevelCounter,
        plans: Sequence[LevelPlan],
        threshold: Threshold,
        *,
        prune_early: bool = False,
        bins: TimeBins | None = None,
    ) -> tuple[tuple[TreeLevel, ...], PaidSize | None]:
        """All levels, and the size that was bought before them, with margins where what is lost shall be filled up."""
        self.require_fillable(counter.world)
        require_room_for_trips(plans, threshold, gate)
        price = gate.budget.remaining * self.filling
        size = buy_size(counter, gate, self.size_share, self.height)
        if size is not None and price > 0:
            size = replace(size, margins=self._margins(counter, gate, price, bins))
        trips = None if size is None else size.trips
        return grow(prefixes, plans, threshold, gate, trips=trips, prune_early=prune_early), size

    def _margins(self, counter: Counter, gate: Gate, price: Fraction, bins: TimeBins | None) -> Margins:
        """Visits per stop and per time bin, of those that the tree uses and some more, and how many are repeats."""
        most = max(self.height, FEWEST_VISITS)
        contribution = visit_contribution(self.name, gate.unit, most)

        def ask(label: str, exact: SparseCounts, part: Fraction) -> Ints:
            return gate.histogram(label, exact, contribution, price * part).counts

        times = Fraction(0) if bins is None else TIMES_PART
        repeats = ask("visits to a stop again", counter.repeats(most), REPEATS_PART)
        exact = counter.visits(VisitStop(), counter.world.size, most)
        stops = ask("visits per stop", exact, 1 - times - REPEATS_PART)
        again = float(np.clip(repeats[0] / max(stops.sum(), 1), 0, 1))
        if bins is None:
            return Margins(stops, again=again)
        return Margins(
            stops, ask("visits per time bin", counter.visits(VisitBin(bins), bins.count, most), times), again
        )


def require_room_for_trips(plans: Sequence[LevelPlan], threshold: Threshold, gate: Gate) -> None:
    """Refuse a tree of which noise alone would be written out as more trips than fit into memory; public, and free.

    A false root stands for the threshold and, on average, one scale more of trips.
    """
    first, height = plans[0], len(plans)
    frontier = Frontier(np.zeros(1, np.int64), first.successors)
    scale = gate.scale(ONE_NODE_PER_LEVEL, first.price)
    limit = (first.threshold or threshold).of(frontier, scale, first=True)
    trips = gate.most_kept(frontier.universe, scale, limit) * (limit + float(scale))
    needed = trips * height * BYTES_PER_VISIT
    if needed > gate.memory:
        raise RefusedError(
            f"noise alone would be written out as up to {trips:.2g} trips, which take {needed / 2**30:,.1f} GiB, over "
            f"the limit of {gate.memory / 2**30:,.1f} GiB. Use a larger epsilon, fewer levels or a smaller world, or "
            "raise the limit (memory)"
        )


def _prune(
    frontier: Frontier, keys: Ints, counts: Ints, above: Floats | None, limit: int
) -> tuple[Ints, Ints, Floats]:
    settled = counts.astype(np.float64)
    if above is not None:
        settled = scale_down(frontier.children(keys)[0], settled, above)
    stay = settled >= limit
    return keys[stay], counts[stay], settled[stay]


def least_false_nodes(first: int, degree: float, height: int, threshold: Threshold) -> float:
    """Return the least mean number of false nodes: a branching process with `degree` x p false children per node.

    This counts the descendants of false roots only. False children of true nodes come on top, and how many true nodes
    there are is not public: whether the tree fits into memory is decided level by level, by the gate. Before the first
    spend this number says that a tree is hopeless; it never says that one is safe.
    """
    fixed = None if threshold.scales is None else exp(-threshold.scales) / 2
    if fixed is not None and threshold.when_explosive == "raise" and degree * fixed > 1:
        fixed = None
    rate = threshold.false_children / degree if fixed is None else fixed
    level = threshold.false_children if fixed is None else first * fixed
    total = 0.0
    for _ in range(height):
        total += level
        level *= degree * rate
    return total
