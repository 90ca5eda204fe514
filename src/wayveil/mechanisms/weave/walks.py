"""Walks that repeat earlier visits as often as was measured, and otherwise follow a chain of moves.

In each context (how the last visits repeated others, in walks of this class of lengths) every kind of visit has a
factor that makes it more or less likely than the chain alone would; factors are learnt by walking and comparing.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.lengths import LengthLaw
from wayveil.mechanisms.weave.moves import ListDemand, MoveRows, MoveTable, chain_moves
from wayveil.mechanisms.weave.weight_fit import FittedSupport, Support, select_walks
from wayveil.world.repeats import (
    AGAIN,
    BACK,
    BEGIN,
    HOME,
    NEW,
    REMEMBERED,
    STAY,
    VISIT_KINDS,
    classify_lengths,
    count_contexts,
)
from wayveil.world.walk_blocks import Walks
from wayveil.world.world import World


class WalkedWays:
    """Walks over a list that repeat earlier visits as people do."""

    rare, family, rounds, first_shares = 0.0, np.zeros(1, np.int64), 1, np.ones(1)

    def __init__(self, demand: ListDemand, world: World, table: MoveTable) -> None:
        self.demand, self.world = demand, world
        self.lengths = LengthLaw(demand.blocks.length_edges, demand.noisy["length"].value)
        self.rows = chain_moves(world, table, demand.settings.unsure_moves)

    def draw(self, count: int, _shares: Floats, rng: np.random.Generator) -> Support:
        """Draw about `count` walks, after learning on some of them how often to repeat visits."""
        look = self.demand.blocks.resolution
        factors = RepeatFactors.learn(
            self.demand.noisy["memory"], look.memory, look.memories, self.rows, self._plan(20_000, rng), rng
        )
        location, offsets, _ = factors.walk(self.rows, self._plan(count, rng), rng)
        location, offsets = select_walks(location, offsets, self._find_legal(Walks(location, offsets)))
        ends = Walks(location, offsets)
        origin, destination = ends.origin.astype(np.int64), ends.destination.astype(np.int64)
        bins = self.demand.draw_time_bins(origin, destination, rng)
        return Support(Walks(location, offsets, bins), np.zeros(len(ends), np.int64))

    def learn(self, found: FittedSupport) -> None:
        """Learn nothing: all that is known of walks went into drawing them."""

    def _plan(self, count: int, rng: np.random.Generator) -> "WalkPlan":
        """Draw origins and lengths of walks, and whether they return."""
        far, drawn = self.lengths.draw(count, rng)
        returns = np.where(far == 0, 1, 0) if len(self.lengths.mass) > 1 else np.full(count, -1)
        mass = self.demand.origin
        origin = rng.choice(len(mass), count, p=mass / mass.sum()).astype(np.int64)
        return WalkPlan(origin, drawn, returns.astype(np.int64))

    def _find_legal(self, walks: Walks) -> Ints:
        """Return the walks that only make moves that the world allows: one that has to return may not be able to."""
        if not self.world.restricts_moves:
            return np.arange(len(walks))
        step, wrong = walks.moves, np.zeros(len(walks.location) + 1, np.int64)
        legal = self.world.successors.contains(
            walks.location[step].astype(np.int64), walks.location[step + 1]
        )
        wrong[1:][step[~legal]] = 1
        return np.flatnonzero(np.diff(np.cumsum(wrong)[walks.offsets]) == 0)


@dataclass(frozen=True, eq=False)
class WalkPlan:
    """Knowledge of walks before they are drawn: first place, length, and whether they end where they began.

    `returns`: 1 if so, 0 if not, -1 if nothing is known.
    """

    origin: Ints
    lengths: Ints
    returns: Ints


class _RunningRows(NamedTuple):
    """`MoveRows` as sums that run over all places, so that a place can be found by halving."""

    first: Ints
    target: Ints
    running_chance: Floats
    loose: Floats
    running_share: Floats
    end: Floats


class _Planned(NamedTuple):
    """A `WalkPlan` with the class of lengths of each walk and the place of its first visit among all."""

    origin: Ints
    returns: Ints
    length_class: Ints
    offsets: Ints


class _Memory(NamedTuple):
    """Where walks were: the walk that was last at each place, and at which of its visits; the places of this walk, in
    order, and their weights as its next visit.
    """

    seen_by: Ints
    last: Ints
    seen: Ints
    weight: Floats


@dataclass(frozen=True, eq=False)
class RepeatFactors:
    """Factors by class of lengths, context and kind of visit; `memory` visits are remembered, of 2^`bits` classes."""

    memory: int
    bits: int
    factor: Floats

    @classmethod
    def learn(
        cls,
        noisy: CellEstimates,
        memory: int,
        bits: int,
        rows: MoveRows,
        plan: WalkPlan,
        rng: np.random.Generator,
    ) -> "RepeatFactors":
        """Learn factors with which walks as planned repeat visits as the block says, out of which noise was taken."""
        shape = (1 << bits, count_contexts(memory), VISIT_KINDS)
        wanted = _share_kinds(noisy, shape)
        found = cls(memory, bits, np.ones(wanted.shape))
        for _ in range(8):
            mass = found.walk(rows, plan, rng)[2]
            weight = mass.sum(axis=2, keepdims=True)
            share = mass / np.maximum(weight, 1e-12)
            # A kind that is impossible in a context stays so, whatever noise says.
            ratio = np.where((share > 1e-9) & (weight > 0), (wanted + 1e-6) / (share + 1e-6), 1.0)
            found = replace(found, factor=np.clip(found.factor * ratio, 1 / 10_000, 10_000))
        return found

    def walk(
        self, rows: MoveRows, plan: WalkPlan, rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], Ints, Floats]:
        """Draw walks as planned, and how likely each kind of visit was in each context, every walk with weight one."""
        offsets = np.concatenate([[0], np.cumsum(plan.lengths)]).astype(np.int64)
        location, mass = np.empty(offsets[-1], np.int32), np.zeros(self.factor.shape)
        running = _RunningRows(
            rows.first,
            rows.target,
            np.cumsum(rows.chance),
            rows.loose,
            np.cumsum(rows.share),
            rows.end / max(float(rows.end.max()), 1e-300),
        )
        planned = _Planned(plan.origin, plan.returns, classify_lengths(plan.lengths, self.bits), offsets)
        _walk(running, self.factor, self.memory, planned, location, mass, rng)
        return location, offsets, mass


def _share_kinds(noisy: CellEstimates, shape: tuple[int, int, int]) -> Floats:
    """Share kinds in every context: as in all classes of lengths, as far as noise hides it, and these as anywhere."""
    table = noisy.value.reshape(shape)
    everywhere = table.sum(axis=(0, 1)) + 1e-9
    everywhere /= everywhere.sum()
    unsure = noisy.deviation
    contexts = table.sum(axis=0)
    contexts = (contexts + unsure * everywhere) / (contexts.sum(axis=1, keepdims=True) + unsure + 1e-300)
    return (table + unsure * contexts) / (table.sum(axis=2, keepdims=True) + unsure + 1e-300)


@njit(cache=True)
def _find_chance(rows, row, place):  # type: ignore[no-untyped-def]
    """Return the chance that a row gives a place."""
    target, running, share = rows.target, rows.running_chance, rows.running_share
    begin, stop = rows.first[row], rows.first[row + 1]
    found = rows.loose[row] * (share[place] - (share[place - 1] if place > 0 else 0.0))
    low, high = begin, stop
    while low < high:
        middle = (low + high) >> 1
        if target[middle] < place:
            low = middle + 1
        else:
            high = middle
    if low < stop and target[low] == place:
        found += running[low] - (running[low - 1] if low > 0 else 0.0)
    return found


@njit(cache=True)
def _draw_place(rows, row, rng):  # type: ignore[no-untyped-def]
    """Draw a place by the chances of a row."""
    running, share = rows.running_chance, rows.running_share
    begin, stop = rows.first[row], rows.first[row + 1]
    if begin == stop or rng.random() < rows.loose[row]:
        return min(np.searchsorted(share, rng.random() * share[-1], side="right"), len(share) - 1)
    base = running[begin - 1] if begin > 0 else 0.0
    drawn = base + rng.random() * (running[stop - 1] - base)
    low, high = begin, stop - 1
    while low < high:
        middle = (low + high) >> 1
        if running[middle] > drawn:
            high = middle
        else:
            low = middle + 1
    return rows.target[low]


@njit(cache=True)
def _name_repeat(lag, at_origin):  # type: ignore[no-untyped-def]
    """Return the kind of a visit to a place that was last visited `lag` visits ago."""
    return STAY if lag == 1 else BACK if lag == 2 else HOME if at_origin else AGAIN


@njit(cache=True)
def _draw_visit(rows, memory, known, at, new, total, rng):  # type: ignore[no-untyped-def]
    """Draw the next place of a walk by weight. `at` is the walk, where it is, and the place to take if none is left."""
    seen_by, _, seen, weight = memory
    walk, here, chosen = at
    drawn = rng.random() * total
    if drawn < new:
        # Of what the row offers only what is new, so that as many visits are new as should be.
        for _ in range(200):
            chosen = _draw_place(rows, here, rng)
            if seen_by[chosen] != walk:
                break
        return chosen
    drawn -= new
    for i in range(known):
        if weight[i] > 0.0:
            chosen = seen[i]
            drawn -= weight[i]
            if drawn < 0.0:
                break
    return chosen


@njit(cache=True)
def _walk(rows, factor, remembered, planned, location, mass, rng):  # type: ignore[no-untyped-def]
    """Draw all planned walks into `location`, and add to `mass` how likely each kind of visit was."""
    origin, returns, length_class, offsets = planned
    places = len(rows.end)
    seen_by, last, seen = (
        np.full(places, -1, np.int64),
        np.zeros(places, np.int64),
        np.empty(places, np.int64),
    )
    weight = np.empty(places)
    memory = _Memory(seen_by, last, seen, weight)
    by_kind = np.empty(VISIT_KINDS)
    for j in range(len(origin)):
        length = offsets[j + 1] - offsets[j]
        place = offsets[j]
        location[place] = origin[j]
        seen[0], known = origin[j], 1
        seen_by[origin[j]], last[origin[j]] = j, 0
        kinds = BEGIN
        for step in range(1, length):
            here = np.int64(location[place + step - 1])
            context = 0
            if remembered == 1:
                context = kinds % REMEMBERED
            elif remembered == 2:
                context = kinds
            tilt = factor[length_class[j], context]
            by_kind[:] = 0.0
            old = 0.0
            for i in range(known):
                chance = _find_chance(rows, here, seen[i])
                old += chance
                kind = _name_repeat(step - last[seen[i]], seen[i] == origin[j])
                weight[i] = chance * tilt[kind]
                by_kind[kind] += weight[i]
            if known < places:
                by_kind[NEW] = max(1.0 - old, 1e-9) * tilt[NEW]
            total = by_kind.sum()
            for k in range(VISIT_KINDS):
                mass[length_class[j], context, k] += by_kind[k] / (total * (length - 1))
            chosen, final = here, step == length - 1
            if final and returns[j] == 1:
                chosen = origin[j]
            else:
                # As often as it takes to end at a place where walks end, within reason.
                for _ in range(30):
                    at = (j, here, chosen)
                    chosen = _draw_visit(rows, memory, known, at, by_kind[NEW], total, rng)
                    if not final:
                        break
                    if (returns[j] < 0 or chosen != origin[j]) and rng.random() < rows.end[chosen]:
                        break
            if seen_by[chosen] != j:
                seen[known] = chosen
                known += 1
                how = NEW
            else:
                how = _name_repeat(step - last[chosen], chosen == origin[j])
            seen_by[chosen], last[chosen] = j, step
            location[place + step] = chosen
            kinds = how + REMEMBERED * (kinds % REMEMBERED)
