"""Plausible trips on a plain list: their lengths, ends and walks."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.demand import Demand
from wayveil.mechanisms.weave.estimates import CellEstimates, group_alike, keep_likely_counts
from wayveil.mechanisms.weave.lengths import LengthLaw
from wayveil.mechanisms.weave.moves import MoveChain
from wayveil.mechanisms.weave.repeating_walks import RepeatFactors, WalkPlan
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.support_fit import Support
from wayveil.mechanisms.weave.weight_fit import select_walks
from wayveil.world.walk_blocks import WalkBlocks, Walks
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class ListDemand(Demand):
    """Also knows the share of each place among all visits."""

    visits: Floats

    @classmethod
    def estimate(
        cls, blocks: WalkBlocks, noisy: dict[str, CellEstimates], total: float, settings: Generation
    ) -> "ListDemand":
        """Visits, and trips that begin and end at each place, from the noisy blocks."""
        size, move = blocks.geography.world.size, noisy.get("move")
        marks: list[CellEstimates | None] = [None, None]
        if move is not None:
            marks = [CellEstimates(mark, move.deviation) for mark in move.value[size**2 :].reshape(2, size)]
        ends = [
            _join_marks(noisy[name], mark, total, settings.on_list.marks_off)
            for name, mark in zip(("origin", "destination"), marks, strict=True)
        ]
        visits = estimate_visits(noisy["visit"], move, ends, size, settings)
        origin, destination = (_estimate_ends(counted, visits, total, settings) for counted in ends)
        return cls(blocks, noisy, total, settings, origin, destination, visits)


def estimate_visits(
    visit: CellEstimates,
    move: CellEstimates | None,
    ends: list[CellEstimates],
    places: int,
    settings: Generation,
) -> Floats:
    """The share of each place among all visits, from three views.

    The block of visits by class of lengths; moves to and from each place, if asked for, which say nearly the same with
    other noise; and how many trips begin and end there, which says something else, but often with far less noise. Each
    view counts as its noise deserves.
    """
    table = visit.value.reshape(-1, places)
    views = [CellEstimates(table.sum(axis=0), visit.deviation * sqrt(len(table)))]
    if move is not None:
        square, marks = (part.reshape(-1, places) for part in np.split(move.value, [places**2]))
        both = (square.sum(axis=0) + square.sum(axis=1) + marks.sum(axis=0)) / 2
        views.append(CellEstimates(both, move.deviation * sqrt(places)))
    direct, near = _average_shares(views), _average_shares(ends)
    first = _average_shares([direct, near]).value
    precise = direct.deviation**-2
    other = 1 / (near.deviation**2 + (settings.on_list.visits_off * np.maximum(first, 0.0)) ** 2)
    mean = (precise * direct.value + other * near.value) / (precise + other)
    # The scale of the noise at places that hardly anybody visits: of other places it is clear that somebody does.
    quiet = sqrt(0.5 / (precise + near.deviation**-2))
    share = keep_likely_counts(mean, quiet, 1.0, settings.shrinkage)
    everywhere = settings.on_list.everywhere
    return (share + everywhere / places) / (1 + everywhere)


def _average_shares(views: list[CellEstimates]) -> CellEstimates:
    """Shares from several views with different totals, weighted by their precision."""
    wholes = [max(float(view.value.sum()), view.deviation) for view in views]
    precision = [(whole / view.deviation) ** 2 for view, whole in zip(views, wholes, strict=True)]
    mean = sum(
        weight * view.value / whole for view, whole, weight in zip(views, wholes, precision, strict=True)
    ) / sum(precision)
    return CellEstimates(np.asarray(mean), sum(precision) ** -0.5)


def _join_marks(
    noisy: CellEstimates, mark: CellEstimates | None, total: float, marks_off: float
) -> CellEstimates:
    """Trips that begin (or end) at each place, from two views: as counted, and from the marks in the table of moves, if
    that was asked for; long trips weigh less in the marks, which are therefore off by some share beside their noise.
    """
    if mark is None:
        return noisy
    scale = total / max(float(mark.value.sum()), mark.deviation, 1.0)
    own = noisy.deviation**-2
    other = 1 / ((mark.deviation * scale) ** 2 + (marks_off * total / len(mark.value)) ** 2)
    mean = (own * noisy.value + other * mark.value * scale) / (own + other)
    return CellEstimates(mean, (own + other) ** -0.5)


def _estimate_ends(counted: CellEstimates, visits: Floats, total: float, settings: Generation) -> Floats:
    """Trips that begin (or end) at each place, as counted, and from its visits, which are off by some share."""
    busy, precise = visits * total, counted.deviation**-2
    shrinkage = settings.shrinkage
    sure = keep_likely_counts(counted.value, counted.scale, total, shrinkage, group_alike(visits, shrinkage))
    expected = 1 / ((settings.on_list.visits_off * busy) ** 2 + 1e-9)
    mass = (precise * sure + expected * busy) / (precise + expected)
    mass = np.where(sure > 0, mass, 0.0) + 1e-9 * busy
    return np.asarray(mass * (total / mass.sum()))


# Kinds of walks, in the order of `ListSettings.first_kinds`.
REPEATING, BY_LENGTH, BETWEEN_ENDS = range(3)


def draw_walks(
    demand: ListDemand,
    chain: MoveChain,
    factors: RepeatFactors,
    lengths: LengthLaw,
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
    destination = np.where((far == 0) & (len(lengths.mass) > 1), origin, -1)
    parts.append(_draw_short(chain, origin, destination, drawn, on_list.longest_bridge, rng))
    origin, destination = demand.draw_pairs(int(wanted[BETWEEN_ENDS]), rng)
    far = np.minimum(origin != destination, len(lengths.mass) - 1).astype(np.int64)
    drawn = lengths.draw_given(far, 1 + far, rng)
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


def plan_walks(demand: ListDemand, lengths: LengthLaw, count: int, rng: np.random.Generator) -> WalkPlan:
    """Origins and lengths of walks, and whether they return."""
    far, drawn = lengths.draw(count, rng)
    returns = np.where(far == 0, 1, 0) if len(lengths.mass) > 1 else np.full(count, -1)
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
