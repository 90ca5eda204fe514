"""Who drives on a grid: ends as fine as the partition of pairs tells, which on a grid is bought dearest."""

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.cell_estimates import CellEstimates
from wayveil.mechanisms.weave.network_demand import NetworkDemand
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.shrinkage import group_alike, shrink_counts
from wayveil.synthesis.projection import onto_total
from wayveil.world.walk_blocks import WalkBlocks
from wayveil.world.zones import take_apart


class GridDemand(NetworkDemand):
    """Draws pairs of ends; where a busy pair was looked at finely, ends of other pairs are drawn as finely."""

    @classmethod
    def estimate(
        cls, blocks: WalkBlocks, noisy: dict[str, CellEstimates], total: float, settings: Generation
    ) -> "GridDemand":
        """Trips at places from their noisy blocks, sharpened by the leaves of the partition of pairs."""
        first = super().estimate(blocks, noisy, total, settings)
        if blocks.leaves is None or "pair" not in noisy:
            return cls(blocks, noisy, total, settings, first.origin, first.destination)
        mass = onto_total(noisy["pair"].value, total)
        ends = [
            _estimate_ends(noisy.get(name), guess, blocks, slots, mass, settings)
            for name, guess, slots in zip(
                ("origin", "destination"),
                (first.origin, first.destination),
                _find_slots(blocks),
                strict=True,
            )
        ]
        return cls(blocks, noisy, total, settings, *ends)


def _estimate_ends(
    noisy: CellEstimates | None,
    guess: Floats,
    blocks: WalkBlocks,
    slots: tuple[Ints, Ints],
    mass: Floats,
    settings: Generation,
) -> Floats:
    """Trips that begin or end at each place: what pairs of zones say, and single places among their likes."""
    order, rounds, total = blocks.geography.places.order, settings.drives.sharpenings, float(guess.sum())
    if noisy is None:
        return _sharpen(guess, order, *slots, mass, rounds)
    # A cell in an empty part of the city is like others there, not like the mean of all.
    expected = _sharpen(np.full(len(guess), total / len(guess)), order, *slots, mass, rounds)
    group = group_alike(expected, settings.shrinkage)
    found = shrink_counts(noisy.value, noisy.scale, settings.shrinkage, group)
    everywhere = settings.ends.everywhere
    found = (1 - everywhere) * found / max(float(found.sum()), 1e-12) + everywhere / len(found)
    return _sharpen(total * found, order, *slots, mass, rounds)


def _find_slots(blocks: WalkBlocks) -> list[tuple[Ints, Ints]]:
    """The range of places, in the order of their zones, of both ends of each leaf of the partition."""
    zones, starts = blocks.geography.places, np.asarray(blocks.leaves)
    sizes = np.diff(np.append(starts, 1 << 2 * zones.depth))
    side = np.int64(1) << (np.round(np.log2(sizes)).astype(np.int64) // 2)
    return [zones.slots(low, low + side) for low in take_apart(starts, zones.depth)]


def _sharpen(ends: Floats, order: Ints, first: Ints, last: Ints, mass: Floats, rounds: int) -> Floats:
    """Trips at places that also explain how many are in each range of places: expectation maximisation."""
    total, found = ends.sum(), ends[order].astype(np.float64)
    filled = last > first
    first, last, mass = first[filled], last[filled], mass[filled]
    for _ in range(rounds):
        running = np.concatenate([[0.0], np.cumsum(found)])
        per_trip = mass / np.maximum(running[last] - running[first], 1e-12)
        steps = np.zeros(len(found) + 1)
        np.add.at(steps, first, per_trip)
        np.add.at(steps, last, -per_trip)
        found = found * np.maximum(np.cumsum(steps)[:-1], 0.0)
    out = np.empty_like(found)
    out[order] = found * (total / max(float(found.sum()), 1e-12))
    return out
