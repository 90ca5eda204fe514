"""Plausible trips on a plain list: their lengths, ends and walks."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.demand import Demand
from wayveil.mechanisms.weave.estimates import CellEstimates, group_alike, keep_likely_counts, shrink_counts
from wayveil.mechanisms.weave.moves import MoveChain
from wayveil.mechanisms.weave.repeating_walks import RepeatFactors, WalkPlan
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.support_fit import Support, select_walks
from wayveil.world.walk_blocks import WalkBlocks, Walks
from wayveil.world.world import World


class Lengths:
    """Draws lengths from the noisy block of lengths by distance; on a list, distance 0 means the same place."""

    def __init__(
        self, edges: Ints, distances: int, noisy: CellEstimates, total: float, settings: Generation
    ) -> None:
        self.low, self.high = edges, np.append(edges[1:], edges[-1] + 1)
        table = noisy.value.reshape(distances, len(edges))
        smooth = np.array(
            [smooth_bins(row, edges, noisy.deviation, settings, settings.on_list.steepness) for row in table]
        )
        self.bins = distances
        # Single visits are at the same place.
        smooth[1:, 0] = 0.0
        smooth[0, 0] += 1e-9
        self.share = smooth / smooth.sum()
        self.mass = total * self.share

    def weigh_ends(self) -> float:
        """The weight that all beginnings together have when every trip spreads one over its moves and marks."""
        middle = (self.low + self.high - 1) / 2
        return float((self.mass.sum(axis=0) / (middle + 1)).sum())

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Distances (0: the same place) and lengths."""
        cell = rng.choice(self.share.size, count, p=self.share.ravel())
        far, bin_ = np.divmod(cell, len(self.low))
        return far, self._draw_within(bin_, rng)

    def draw_given(self, far: Ints, rng: np.random.Generator) -> Ints:
        """Lengths of walks over these distances."""
        found = np.ones(len(far), np.int64)
        for distance in range(self.bins):
            here = np.flatnonzero(far == distance)
            share = self.share[distance] + 1e-12 * (self.low == self.low[min(distance, 1)])
            share = share / share.sum()
            found[here] = self._draw_within(rng.choice(len(share), len(here), p=share), rng)
        return found

    def _draw_within(self, bin_: Ints, rng: np.random.Generator) -> Ints:
        return rng.integers(self.low[bin_], self.high[bin_])


def smooth_bins(row: Floats, low: Ints, deviation: float, settings: Generation, steepness: int) -> Floats:
    """Masses of bins from halves, halves of halves, and so on: a sum is often clear where no bin is.

    A half of longer trips that does not stand out holds at most what a steep power law lets expect from the shorter
    ones: a bin of long trips that is nothing but noise would fill the release with visits.
    """
    on_list = settings.on_list
    worth = shrink_counts(row, deviation / sqrt(2), settings.shrinkage)
    steep = 1.0 / low.astype(np.float64) ** steepness
    mass = np.zeros(len(row))
    todo = [(0, len(row), max(float(row.sum()), 1e-9))]
    while todo:
        start, stop, whole = todo.pop()
        if stop - start == 1:
            mass[start] = whole
            continue
        middle = (start + stop) // 2
        # Of a few bins it matters which are empty, of many how much they are together.
        seen = worth if stop - start <= on_list.few_bins else row
        short, long = (max(float(part.sum()), 0.0) for part in (seen[start:middle], seen[middle:stop]))
        noise = deviation * sqrt(stop - middle)
        if stop - start > on_list.few_bins and long < on_list.dim * noise:
            long = 0.0
        elif long < on_list.clear * noise:
            long = min(long, short * float(steep[middle:stop].sum() / steep[start:middle].sum()))
        share = short / (short + long) if short + long > 0 else 1.0
        todo += [(start, middle, whole * share), (middle, stop, whole * (1 - share))]
    return mass


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
