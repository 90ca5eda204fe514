"""Who drives on a grid: ends as fine as the partition of pairs tells, which on a grid is bought dearest."""

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.weave.cell_estimates import CellEstimates
from wayveil.synthesis.weave.network_demand import NetworkDemand
from wayveil.synthesis.weave.settings import Generation
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
        origin, destination = first.origin, first.destination
        starts = blocks.leaves
        if starts is not None and "pair" in noisy:
            zones = blocks.geography.places
            mass = onto_total(noisy["pair"].value, total)
            sizes = np.diff(np.append(starts, 1 << 2 * zones.depth))
            side = np.int64(1) << (np.round(np.log2(sizes)).astype(np.int64) // 2)
            low = take_apart(starts, zones.depth)
            ranges = [zones.slots(low[end], low[end] + side) for end in (0, 1)]
            origin, destination = (
                _sharpen(ends, zones.order, *ranges[end], mass, settings.drives.sharpenings)
                for end, ends in ((0, origin), (1, destination))
            )
        return cls(blocks, noisy, total, settings, origin, destination)


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
