"""Weave on a plain list of places: noise is taken out of the blocks, then walks over the moves are fitted to them."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from wayveil.arrays import Floats
from wayveil.mechanisms.weave.cell_estimates import CellEstimates
from wayveil.mechanisms.weave.list_demand import ListDemand
from wayveil.mechanisms.weave.move_chain import MoveChain
from wayveil.mechanisms.weave.move_table import MoveTable, clean_moves, guess_moves
from wayveil.mechanisms.weave.repeating_walks import RepeatFactors
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.shrinkage import group_alike, keep_likely_counts, shrink_counts
from wayveil.mechanisms.weave.support_fit import FittedSupport, Target, count_support, read_blocks
from wayveil.mechanisms.weave.visit_lengths import Lengths
from wayveil.mechanisms.weave.walked_support import draw_walks, plan_walks
from wayveil.progress import step

if TYPE_CHECKING:
    from wayveil.mechanisms.weave.measurements import Measurements


def weave_on_list(measured: "Measurements", rng: np.random.Generator) -> tuple[Target, FittedSupport]:
    """Fit a support of walks over the noisy table of moves."""
    settings, total = measured.settings, float(measured.trips)
    blocks, asked, noisy = read_blocks(measured)
    demand = ListDemand.estimate(blocks, noisy, total, settings)
    lengths = Lengths(blocks.length_edges, blocks.resolution.distances, noisy["length"], total, settings)
    table = _estimate_moves(demand, lengths)
    clean = _clean_blocks(demand, lengths)
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
    """How far the cells of a block may stay from their estimates, as a variance.

    All estimates were used to draw the support: a guess that is off by a share r of m trips deserves 1 / (r^2 m) of
    the noise's variance.
    """
    trust = settings.trust[name]
    drawn = min(1.0, max(trust, len(guess) / total / settings.ends_off**2))
    return drawn * noisy.variance + trust * settings.model_error * np.maximum(noisy.value, 0)


def _estimate_moves(demand: ListDemand, lengths: Lengths) -> MoveTable:
    """The table of moves, as far as it was asked for."""
    ends, move = lengths.weigh_ends(), demand.noisy.get("move")
    if move is None:
        return guess_moves(demand.visits, demand.total, ends, demand.origin, demand.destination)
    return clean_moves(move, demand.visits, demand.total, ends, demand.settings)


def _clean_blocks(demand: ListDemand, lengths: Lengths) -> dict[str, CellEstimates]:
    """The blocks without most of their noise: walks can only be fitted to what is left."""
    noisy, shrinkage = demand.noisy, demand.settings.shrinkage
    visit, memory, pair = noisy["visit"], noisy["memory"], noisy["pair"]
    busy = group_alike(np.tile(demand.visits, 1 << demand.blocks.resolution.visits), shrinkage)
    values = {
        "length": lengths.mass.ravel(),
        "origin": demand.origin,
        "destination": demand.destination,
        "visit": keep_likely_counts(visit.value, visit.scale, demand.total, shrinkage, busy),
        "memory": shrink_counts(memory.value, memory.scale, shrinkage),
        "pair": shrink_counts(pair.value, pair.scale, shrinkage),
    }
    return noisy | {name: CellEstimates(value, noisy[name].deviation) for name, value in values.items()}
