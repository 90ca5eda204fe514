"""`Demand`: who travels from where to where, and when: a first guess from the noisy blocks, to draw a support from.

What is the same with and without a network: pairs of ends from the partition of pairs, and time bins. How many trips
begin and end at each place is estimated in `network_demand` and `list_demand`.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.cell_estimates import CellEstimates
from wayveil.mechanisms.weave.settings import Generation
from wayveil.synthesis.projection import onto_total
from wayveil.world.walk_blocks import WalkBlocks
from wayveil.world.zones import take_apart


@dataclass(frozen=True, eq=False)
class Demand:
    """Draws ends and time bins of trips; `origin` and `destination` are the trips that begin and end at each place."""

    blocks: WalkBlocks
    noisy: dict[str, CellEstimates]
    total: float
    settings: Generation
    origin: Floats
    destination: Floats

    def draw_pairs(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """A leaf of the partition by its mass, then an origin and a destination inside by theirs."""
        zones, starts = self.blocks.geography.places, self.blocks.leaves
        if starts is None:
            raise ValueError("there are no leaves")
        mass = onto_total(self.noisy["pair"].value, self.total)
        leaf = rng.choice(len(starts), count, p=mass / mass.sum())
        sizes = np.diff(np.append(starts, 1 << 2 * zones.depth))
        side = np.int64(1) << (np.round(np.log2(sizes)).astype(np.int64) // 2)
        low = take_apart(starts, zones.depth)
        return (
            self._draw_inside(self.origin, low[0][leaf], side[leaf], rng),
            self._draw_inside(self.destination, low[1][leaf], side[leaf], rng),
        )

    def _draw_inside(self, mass: Floats, low: Ints, side: Ints, rng: np.random.Generator) -> Ints:
        """A place by mass among those with codes from `low` on; codes without a place give the next one."""
        zones = self.blocks.geography.places
        running = np.concatenate([[0.0], np.cumsum(mass[zones.order])])
        first, last = zones.slots(low, low + side)
        drawn = running[first] + rng.random(len(low)) * (running[last] - running[first])
        slot = np.searchsorted(running, drawn, side="right") - 1
        return zones.order[np.clip(slot, 0, len(mass) - 1)]

    def draw_time_bins(self, origin: Ints, destination: Ints, rng: np.random.Generator) -> Ints | None:
        """A time bin for each trip, from how busy its two zones are: as if the two said so independently."""
        look = self.blocks.resolution
        if look.times == 0:
            return None
        everywhere = self._estimate_hours()
        likely, zone = [], []
        for name, end in (("hour at origin", origin), ("hour at destination", destination)):
            if name in self.noisy:
                likely.append(self._estimate_hours_by_zone(name, everywhere) / everywhere)
                zone.append(self.blocks.geography.places.zone(end, look.hours))
            else:
                likely.append(np.ones((1, look.times)))
                zone.append(np.zeros(len(end), np.int64))
        drawn = rng.random(len(origin))
        return _draw_bins(everywhere, likely[0], likely[1], zone[0], zone[1], drawn)

    def _estimate_hours(self) -> Floats:
        """Shares of the time bins over all zones: the mean of the views of them, weighted by their precision."""
        times = self.blocks.resolution.times
        views = [
            (table.value.reshape(times, -1).sum(axis=1), len(table.value) / times * table.deviation**2)
            for name in ("hour", "hour at origin", "hour at destination")
            if (table := self.noisy.get(name)) is not None
        ]
        precise = np.array([1 / variance for _, variance in views])
        mean = precise @ np.stack([view for view, _ in views]) / precise.sum()
        mass = onto_total(mean, self.total) + self.settings.ends.any_hour * self.total / times
        return mass / mass.sum()

    def _estimate_hours_by_zone(self, name: str, everywhere: Floats) -> Floats:
        """Shares of the time bins in each zone, drawn towards those of all zones."""
        table = self.noisy[name].value.reshape(self.blocks.resolution.times, -1).T
        mass = onto_total(table, self.total)
        mass += self.settings.ends.usual_hours * self.total / len(table) * everywhere
        return mass / mass.sum(axis=1, keepdims=True)


@njit(cache=True, nogil=True)
def _draw_bins(everywhere, one, two, at_one, at_two, drawn):  # type: ignore[no-untyped-def]
    """The time bin at which the running sum of three factors passes a share `drawn` of all of it."""
    out, running = np.empty(len(drawn), np.int64), np.empty(len(everywhere))
    for trip in range(len(drawn)):
        so_far = 0.0
        for time in range(len(everywhere)):
            so_far += everywhere[time] * one[at_one[trip], time] * two[at_two[trip], time]
            running[time] = so_far
        time = 0
        while time < len(everywhere) - 1 and running[time] <= drawn[trip] * so_far:
            time += 1
        out[trip] = time
    return out
