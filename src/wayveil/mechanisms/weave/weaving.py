"""Weave, once measured: draw plausible trips, weight them to explain the noisy blocks, and sample those."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.demand import GridDemand, NetworkDemand
from wayveil.mechanisms.weave.driven_support import DrivenWays
from wayveil.mechanisms.weave.drives import estimate_flows
from wayveil.mechanisms.weave.estimates import CellEstimates, group_alike, keep_likely_counts, shrink_counts
from wayveil.mechanisms.weave.lengths import LengthLaw, read_lengths, read_lengths_on_list
from wayveil.mechanisms.weave.list_support import ListDemand, draw_walks, plan_walks
from wayveil.mechanisms.weave.moves import MoveChain, MoveTable, clean_moves, guess_moves
from wayveil.mechanisms.weave.noisy_blocks import NoisyBlocks
from wayveil.mechanisms.weave.repeating_walks import RepeatFactors
from wayveil.mechanisms.weave.routes import Costs, draw_routes, guess_choices
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.support_fit import (
    Diagnostics,
    FittedSupport,
    Support,
    Target,
    count_support,
    read_blocks,
)
from wayveil.progress import step
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.paths import along_paths
from wayveil.world.timebins import DAY, HOUR, TimeBins
from wayveil.world.world import World
from wayveil.world.zones import Geography

# The first Monday of the timeline: where weeks without a date are put.
FIRST_MONDAY = 4 * DAY
HOURS_OF_A_DAY, HOURS_OF_A_WEEK = 24, 168


def make_time_bins(times: int) -> TimeBins:
    """The hours of a day, or those of a week."""
    return TimeBins.hour_of_week() if times == HOURS_OF_A_WEEK else TimeBins.hour_of_day()


def add_times(
    trips: Trips, bin_: NDArray[np.integer], times: int, seconds_per_move: int, rng: np.random.Generator
) -> Trips:
    """The trips with a time for every visit, in seconds on the timeline of undated trips.

    Without a timetable, visits follow each other every `seconds_per_move`.
    """
    start = make_time_bins(times).start[bin_] + rng.integers(0, HOUR, len(bin_))
    if times == HOURS_OF_A_WEEK:
        start = start + FIRST_MONDAY
    world = trips.world
    if isinstance(world, Network):
        passed = along_paths(world, trips.location, trips.offsets, world.seconds).astype(np.int64)
    else:
        place = np.arange(trips.visits) - np.repeat(trips.offsets[:-1], trips.lengths)
        passed = place * seconds_per_move
    return Trips(trips.location, trips.offsets, world, np.repeat(start, trips.lengths) + passed)


def weave_on_list(measured: NoisyBlocks, rng: np.random.Generator) -> tuple[Target, FittedSupport]:
    """Fit a support of walks over the noisy table of moves."""
    settings, total = measured.settings, float(measured.trips)
    blocks, asked, noisy = read_blocks(measured)
    demand = ListDemand.estimate(blocks, noisy, total, settings)
    noisy["length"] = read_lengths_on_list(noisy["length"], blocks.length_edges, total, settings.lengths)
    lengths = LengthLaw(blocks.length_edges, noisy["length"].value)
    table = _estimate_moves(demand, lengths)
    clean = _clean_blocks(demand)
    if "move" in noisy:
        asked["move"], clean["move"] = table.join_unknown(asked["move"], settings.on_list.small_table)
    demand = replace(demand, noisy=clean)
    target = Target(asked, clean, total, settings, partial(allow_on_list, total=total, settings=settings))
    with step("weaving"):
        look, on_list = blocks.resolution, settings.on_list
        chain = MoveChain.of_table(measured.world, table, on_list)
        plan = plan_walks(demand, lengths, on_list.learners, rng)
        factors = RepeatFactors.learn(
            clean["memory"], look.memory, look.memories, chain.go_on(), plan, on_list, rng
        )
        kinds = np.array(on_list.first_kinds)
        support = draw_walks(demand, chain, factors, lengths, count_support(total, settings), rng)
        quick = settings.iterations // settings.solver.early
        return target, target.fit_support(
            support, kinds, None, sweeps=settings.sweeps, between=quick, iterations=settings.iterations
        )


def allow_on_list(
    name: str, noisy: CellEstimates, guess: Floats, *, total: float, settings: Generation
) -> Floats:
    """Return how far the cells of a block may stay from their estimates, as a variance.

    All estimates were used to draw the support: a guess that is off by a share r of m trips deserves 1 / (r^2 m) of
    the noise's variance.
    """
    trust = settings.trust[name]
    drawn = min(1.0, max(trust, len(guess) / total / settings.ends_off**2))
    return drawn * noisy.variance + trust * settings.model_error * np.maximum(noisy.value, 0)


def _estimate_moves(demand: ListDemand, lengths: LengthLaw) -> MoveTable:
    """The table of moves, as far as it was asked for."""
    ends, move = lengths.weigh_ends(), demand.noisy.get("move")
    if move is None:
        return guess_moves(demand.visits, demand.total, ends, demand.origin, demand.destination)
    return clean_moves(move, demand.visits, demand.total, ends, demand.settings)


def _clean_blocks(demand: ListDemand) -> dict[str, CellEstimates]:
    """The blocks without most of their noise: walks can only be fitted to what is left."""
    noisy, shrinkage = demand.noisy, demand.settings.shrinkage
    visit, memory, pair = noisy["visit"], noisy["memory"], noisy["pair"]
    busy = group_alike(np.tile(demand.visits, 1 << demand.blocks.resolution.visits), shrinkage)
    values = {
        "origin": demand.origin,
        "destination": demand.destination,
        "visit": keep_likely_counts(visit.value, visit.scale, demand.total, shrinkage, busy),
        "memory": shrink_counts(memory.value, memory.scale, shrinkage),
        "pair": shrink_counts(pair.value, pair.scale, shrinkage),
    }
    return noisy | {name: CellEstimates(value, noisy[name].deviation) for name, value in values.items()}


# Blocks that trips of the support were drawn from cell by cell.
DRAWN_FROM = ("origin", "destination")


class Ways(Protocol):
    """Draws supports over a network, and learns from their fits how people choose ways."""

    @property
    def first_choices(self) -> Floats: ...

    @property
    def rare(self) -> float: ...

    def draw(self, count: int, choices: Floats, learnt: Floats, rng: np.random.Generator) -> Support: ...

    def learn(self, found: FittedSupport) -> None: ...


class RoutedWays:
    """Riders of a network, who choose between lines and roads."""

    def __init__(self, demand: NetworkDemand, network: Network, settings: Generation) -> None:
        self.demand, self.costs = demand, Costs(network, settings)
        self.first_choices, self.rare = guess_choices(network, settings.detours), settings.rare

    def draw(self, count: int, choices: Floats, learnt: Floats, rng: np.random.Generator) -> Support:
        return draw_routes(self.demand, self.costs, count, choices, learnt, rng)

    def learn(self, found: FittedSupport) -> None:
        """Return what riders choose is in the shares of the ways, and in what edges cost."""


def weave_on_network(
    measured: NoisyBlocks, network: Network, rng: np.random.Generator
) -> tuple[Target, FittedSupport]:
    """Fit a support of routes; each round learns from its fit how riders choose, and what edges really cost."""
    settings, total = measured.settings, float(measured.trips)
    blocks, asked, noisy = read_blocks(measured)
    if isinstance(network, Grid):
        noisy["length"] = read_lengths(
            noisy["length"], noisy.get("distance"), blocks.length_edges, total, settings.lengths
        )
        if "edge" in noisy:
            # A trip spreads one over its edges, or more where only the squares of what it adds are bounded.
            most = np.inf if measured.gaussian else total
            noisy["edge"] = estimate_flows(network, noisy["edge"], most, settings.streets)
    target = Target(asked, noisy, total, settings, partial(allow_on_network, settings=settings))
    kind = GridDemand if isinstance(network, Grid) else NetworkDemand
    demand = kind.estimate(blocks, noisy, total, settings)
    count = count_support(total, settings)
    ways: Ways = (
        DrivenWays(demand, network, settings)
        if isinstance(network, Grid)
        else RoutedWays(demand, network, settings)
    )
    # Single edges of a grid are asked for only where they show.
    shown = "edge" in noisy and isinstance(network, Grid)
    strong = shown or measured.signal >= settings.strong_from * network.edges
    rounds = settings.rounds if strong else max(1, settings.rounds - 1)
    learnt, choices = np.ones(network.edges), ways.first_choices
    dual: Floats | None = None
    quick = settings.iterations // settings.solver.early
    # Shares of routes follow from a rough fit; those of drives on a grid were set with whole ones.
    between = quick if isinstance(network, Grid) else min(quick, settings.solver.between)
    for turn in range(1, rounds):
        with step(f"weaving, round {turn} of {rounds}"):
            support = ways.draw(min(count, settings.early), choices, learnt, rng)
            found = target.fit_support(
                support, choices, dual, sweeps=settings.sweeps, between=between, iterations=quick
            )
            dual, choices = found.fit.dual, np.maximum(found.kinds, settings.least_share * (choices > 0))
            choices = choices / choices.sum()
            ways.learn(found)
            if "edge" in noisy:
                learnt = _learn_costs(learnt, found, noisy["edge"], settings, strong=strong)
    with step(f"weaving, round {rounds} of {rounds}"):
        choices = _drop_rare(choices, ways.rare)
        support = ways.draw(count, choices, learnt, rng)
        sweeps = min(settings.sweeps, 1)
        return target, target.fit_support(
            support, choices, dual, sweeps=sweeps, between=between, iterations=settings.iterations
        )


def allow_on_network(name: str, noisy: CellEstimates, guess: Floats, *, settings: Generation) -> Floats:
    """Return how far the cells of a block may stay from their noisy values, as a variance.

    Staying near even weights is as good a guess as if the cell were Poisson: of variance g. But the support may be
    off by a share r, and by more where the noisy value stands out of the noise, so that the real variance of the guess
    is g + (r g)^2 + what stands out. To weigh guess and noisy value rightly, the noise counts as much less.
    """
    off = settings.ends_off if name in DRAWN_FROM else settings.off
    apart = np.maximum((noisy.value - guess) ** 2 - noisy.reach(settings.ends.false_cells) ** 2, 0.0)
    real = guess + (off * guess) ** 2 + apart
    trust = np.maximum(guess / np.maximum(real, 1e-12), settings.least_trust)
    return trust * (noisy.variance + settings.model_error * np.maximum(noisy.value, 0))


def _learn_costs(
    learnt: Floats, found: FittedSupport, flow: CellEstimates, settings: Generation, *, strong: bool
) -> Floats:
    """Factors of the costs of edges: an edge that carries more than was drawn must be cheaper than was thought."""
    floor, edge = flow.deviation * settings.flow_floor, found.features.place["edge"]
    busier = (found.fit.fitted[edge] + floor) / (found.fit.even[edge] + floor)
    factors = learnt * busier ** -(settings.feedback if strong else settings.feedback_weak)
    return np.clip(factors, 1 / settings.cost_range, settings.cost_range)


def _drop_rare(shares: Floats, rare: float) -> Floats:
    """Ways to choose a route that hardly explain anything are given up."""
    kept = np.where(shares >= min(rare, float(shares.max())), shares, 0.0)
    return kept / kept.sum()


@dataclass(frozen=True, eq=False)
class Woven:
    """A weighted support, ready to be sampled as often as one likes."""

    world: World
    found: FittedSupport
    times: int
    settings: Generation
    diagnostics: Diagnostics

    @cached_property
    def order(self) -> Ints:
        """The trips of the support sorted by origin, destination and time: whole trips are drawn at equal steps along
        this order, so that likes stand in for each other and their numbers come out as the weights say.
        """
        walks, code = self.found.support.walks, Geography(self.world).places.code
        bins = np.zeros(len(walks)) if walks.bins is None else walks.bins
        return np.lexsort((walks.lengths, bins, code[walks.destination], code[walks.origin]))

    def sample(self, trips: int, rng: np.random.Generator) -> Trips:
        """Exactly so many trips in random order, which add to the cells of all blocks about what the weights say.

        Drawn several times at equal steps along `order`; at each step that trip is taken which brings the sums nearest.
        """
        weight, walks = self.found.fit.weight, self.found.support.walks
        running = np.cumsum(weight[self.order]) * (trips / weight.sum())

        def draw() -> Ints:
            at = np.searchsorted(running, np.arange(trips) + rng.random(), side="right")
            return self.order[np.minimum(at, len(running) - 1)]

        wanted = self.found.fit.fitted * (trips / weight.sum())
        again = (draw() for _ in range(self.settings.exchanges))
        chosen = rng.permutation(self.found.features.exchange(draw(), again, wanted))
        plain = Trips(walks.location, walks.offsets, self.world).take(chosen)
        if walks.bins is None:
            return plain
        return add_times(plain, walks.bins[chosen], self.times, self.settings.on_list.seconds_per_move, rng)


def weave(measured: NoisyBlocks, rng: np.random.Generator) -> Woven:
    """Fit a support to measurements. Reads nothing but noisy numbers and public facts."""
    world = measured.world
    if isinstance(world, Network):
        target, found = weave_on_network(measured, world, rng)
    else:
        target, found = weave_on_list(measured, rng)
    return Woven(world, found, measured.resolution.times, measured.settings, target.diagnose(found))
