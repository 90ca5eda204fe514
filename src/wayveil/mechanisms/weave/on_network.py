"""Weave on a network: routes drawn in rounds, each of which learns from its fit how riders choose."""

from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from wayveil.arrays import Floats
from wayveil.mechanisms.weave.cell_estimates import CellEstimates
from wayveil.mechanisms.weave.drive_lengths import clear_lengths, doubt_lengths
from wayveil.mechanisms.weave.driven_support import DrivenWays
from wayveil.mechanisms.weave.grid_demand import GridDemand
from wayveil.mechanisms.weave.network_demand import NetworkDemand
from wayveil.mechanisms.weave.routed_support import draw_routes, guess_choices
from wayveil.mechanisms.weave.routes import Costs
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.street_flows import estimate_flows
from wayveil.mechanisms.weave.support import Support
from wayveil.mechanisms.weave.support_fit import FittedSupport, Target, count_support, read_blocks
from wayveil.progress import step
from wayveil.world.grid import Grid
from wayveil.world.network import Network

if TYPE_CHECKING:
    from wayveil.mechanisms.weave.measurements import Measurements

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
        self.first_choices, self.rare = guess_choices(settings.detours), settings.rare

    def draw(self, count: int, choices: Floats, learnt: Floats, rng: np.random.Generator) -> Support:
        return draw_routes(self.demand, self.costs, count, choices, learnt, rng)

    def learn(self, found: FittedSupport) -> None:
        """What riders choose is in the shares of the ways, and in what edges cost."""


def weave_on_network(
    measured: "Measurements", network: Network, rng: np.random.Generator
) -> tuple[Target, FittedSupport]:
    """Fit a support of routes; each round learns from its fit how riders choose, and what edges really cost."""
    settings, total = measured.settings, float(measured.trips)
    blocks, asked, noisy = read_blocks(measured)
    if isinstance(network, Grid):
        clear = clear_lengths(noisy["length"], blocks.length_edges, settings)
        noisy["length"] = doubt_lengths(noisy["length"], clear, settings.drives.doubted_lengths)
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
            dual, choices = found.fit.dual, np.maximum(found.kinds, settings.least_share)
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
    """How far the cells of a block may stay from their noisy values, as a variance.

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
