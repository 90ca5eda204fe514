"""Plausible trips where there is no network: walks over the noisy table of moves, of drawn lengths.

Three kinds: walks that repeat their visits as was measured; walks that come back to where they began or do not, as
measured; and walks between two drawn ends. The fit tells how much of each explains the measurements.
"""

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.list_demand import ListDemand
from wayveil.mechanisms.weave.move_chain import MoveChain
from wayveil.mechanisms.weave.repeating_walks import RepeatFactors, WalkPlan
from wayveil.mechanisms.weave.support import Support, select_walks
from wayveil.mechanisms.weave.visit_lengths import Lengths
from wayveil.world.walk_blocks import Walks
from wayveil.world.world import World

# Kinds of walks, in the order of `ListSettings.first_kinds`.
REPEATING, BY_LENGTH, BETWEEN_ENDS = range(3)


def draw_walks(
    demand: ListDemand,
    chain: MoveChain,
    factors: RepeatFactors,
    lengths: Lengths,
    count: int,
    rng: np.random.Generator,
) -> Support:
    """About `count` walks of the three kinds."""
    on_list = demand.settings.on_list
    wanted = np.round(np.array(on_list.first_kinds) * count).astype(np.int64)
    plan = plan_walks(demand, lengths, int(wanted[REPEATING]), rng)
    parts = [factors.walk(chain.go_on(), plan, on_list, rng)[:2]]
    far, drawn = lengths.draw(int(wanted[BY_LENGTH]), rng)
    origin = _draw_places(demand.origin, len(far), rng)
    destination = np.where((far == 0) & (lengths.bins > 1), origin, -1)
    parts.append(_draw_short(chain, origin, destination, drawn, on_list.longest_bridge, rng))
    origin, destination = demand.draw_pairs(int(wanted[BETWEEN_ENDS]), rng)
    far = np.minimum(origin != destination, lengths.bins - 1).astype(np.int64)
    drawn = lengths.draw_given(far, rng)
    parts.append(_draw_short(chain, origin, destination, drawn, on_list.longest_bridge, rng))
    location = np.concatenate([part[0] for part in parts])
    sizes = [np.diff(part[1]) for part in parts]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    kind = np.repeat(np.arange(3), [len(part) for part in sizes])
    full = np.flatnonzero((np.diff(offsets) > 0) & _check_moves(chain.world, Walks(location, offsets)))
    location, offsets = select_walks(location, offsets, full)
    walks = Walks(location, offsets)
    bins = demand.draw_time_bins(walks.origin.astype(np.int64), walks.destination.astype(np.int64), rng)
    return Support(Walks(location, offsets, bins), kind[full])


def plan_walks(demand: ListDemand, lengths: Lengths, count: int, rng: np.random.Generator) -> WalkPlan:
    """Origins and lengths of walks, and whether they return."""
    far, drawn = lengths.draw(count, rng)
    returns = np.where(far == 0, 1, 0) if lengths.bins > 1 else np.full(count, -1)
    return WalkPlan(_draw_places(demand.origin, count, rng), drawn, returns.astype(np.int64))


def _check_moves(world: World, walks: Walks) -> NDArray[np.bool_]:
    """Which walks only make moves that the world allows: one that has to return may not be able to."""
    allowed = np.ones(len(walks), bool)
    if world.restricts_moves:
        at = np.flatnonzero(np.diff(walks.offsets) > 1)
        step = walks.moves
        legal = world.successors.contains(walks.location[step].astype(np.int64), walks.location[step + 1])
        bounds = np.concatenate([[0], np.cumsum(np.diff(walks.offsets)[at] - 1)])[:-1]
        allowed[at] = np.logical_and.reduceat(legal, bounds) if len(at) else True
    return allowed


def _draw_short(
    chain: MoveChain, origin: Ints, destination: Ints, lengths: Ints, longest: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], Ints]:
    """Walks between ends, without those of more than `longest` visits."""
    short = np.flatnonzero(lengths <= longest)
    return chain.draw_bridges(origin[short], destination[short], lengths[short], rng)


def _draw_places(mass: Floats, count: int, rng: np.random.Generator) -> Ints:
    return rng.choice(len(mass), count, p=mass / mass.sum()).astype(np.int64)
