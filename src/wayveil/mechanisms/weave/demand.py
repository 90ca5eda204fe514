"""Where trips begin and end, and when."""

from dataclasses import dataclass

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.estimates import CellEstimates, group_alike, judge_counts
from wayveil.mechanisms.weave.settings import Generation
from wayveil.synthesis.projection import onto_total
from wayveil.world.grid import Grid
from wayveil.world.walk_blocks import WalkBlocks, Walks
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

    @classmethod
    def estimate(
        cls, blocks: WalkBlocks, noisy: dict[str, CellEstimates], total: float, settings: Generation
    ) -> "Demand":
        """Read trips that begin and end at each place off noisy counts of places, of zones, and of pairs of zones.

        Who leaves comes back: at a stop about as many trips end as begin, until counts say otherwise. Single cells of a
        grid are too many for counts that would tell it.
        """
        size = blocks.geography.world.size
        evenly = np.full(size, total / size)
        origin = _estimate_ends("origin", evenly, blocks, noisy, total, settings)
        first = evenly if isinstance(blocks.geography.network, Grid) else origin
        destination = _estimate_ends("destination", first, blocks, noisy, total, settings)
        return cls(blocks, noisy, total, settings, origin, destination)

    def draw_ends(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Draw about `count` origins and destinations, of twice as many so that their distances are as measured."""
        drawn = 2 * count
        origin, destination = (
            rng.choice(len(mass), drawn, p=mass / mass.sum()) for mass in (self.origin, self.destination)
        )
        bound = np.flatnonzero(rng.random(drawn) >= self.settings.anywhere)
        if self.blocks.leaves is not None and len(bound):
            origin[bound], destination[bound] = self.draw_pairs(len(bound), rng)
        kept = np.flatnonzero(rng.random(drawn) < self._weigh_distances(origin, destination))
        return origin[kept], destination[kept]

    def draw_pairs(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Draw a leaf of the partition by its mass, then an origin and a destination inside by theirs."""
        mass = onto_total(self.noisy["pair"].value, self.total)
        leaf = rng.choice(len(mass), count, p=mass / mass.sum())
        order, found = self.blocks.geography.places.order, []
        for ends, (first, last) in zip((self.origin, self.destination), find_slots(self.blocks), strict=True):
            running = np.concatenate([[0.0], np.cumsum(ends[order])])
            low, high = running[first[leaf]], running[last[leaf]]
            slot = np.searchsorted(running, low + rng.random(count) * (high - low), side="right") - 1
            found.append(order[np.clip(slot, 0, len(ends) - 1)])
        return found[0], found[1]

    def _weigh_distances(self, origin: Ints, destination: Ints) -> Floats:
        """Return the probability to keep each pair, so that distances are as the noisy histogram says."""
        noisy = self.noisy.get("distance")
        if noisy is None:
            return np.full(len(origin), 1 / 2)
        pairs = np.stack([origin, destination], axis=1).astype(np.int32)
        distance = self.blocks.distance(Walks(pairs.ravel(), 2 * np.arange(len(pairs) + 1)))
        found = np.bincount(distance, minlength=len(noisy.value)) * (self.total / len(distance))
        wanted = onto_total(noisy.value, self.total)
        keep = np.clip((wanted + noisy.deviation) / (found + noisy.deviation), 1 / 10, 10)[distance]
        return np.minimum(keep / (2 * keep.mean()), 1.0)

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
        """Return shares of the time bins over all zones: the mean of the views of them, weighted by their precision."""
        times = self.blocks.resolution.times
        views = [
            (table.value.reshape(times, -1).sum(axis=1), len(table.value) / times * table.deviation**2)
            for name in ("hour", "hour at origin", "hour at destination")
            if (table := self.noisy.get(name)) is not None
        ]
        precise = np.array([1 / variance for _, variance in views])
        mean = precise @ np.stack([view for view, _ in views]) / precise.sum()
        # One trip more in every bin: none is impossible.
        mass = onto_total(mean, self.total) + 1
        return mass / mass.sum()

    def _estimate_hours_by_zone(self, name: str, everywhere: Floats) -> Floats:
        """Return shares of the time bins in each zone, drawn towards those of all zones as far as noise hides it."""
        noisy = self.noisy[name]
        mass = onto_total(noisy.value.reshape(len(everywhere), -1).T, self.total)
        mass += noisy.deviation * np.sqrt(len(everywhere)) * everywhere
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


def find_slots(blocks: WalkBlocks) -> list[tuple[Ints, Ints]]:
    """Return the range of places, in the order of their zones, of both ends of each leaf of the partition."""
    zones, starts = blocks.geography.places, np.asarray(blocks.leaves)
    sizes = np.diff(np.append(starts, 1 << 2 * zones.depth))
    side = np.int64(1) << (np.round(np.log2(sizes)).astype(np.int64) // 2)
    return [zones.slots(low, low + side) for low in take_apart(starts, zones.depth)]


def _estimate_ends(
    end: str,
    first: Floats,
    blocks: WalkBlocks,
    noisy: dict[str, CellEstimates],
    total: float,
    settings: Generation,
) -> Floats:
    """Return trips at each place: what zones and pairs of zones say, and single places among their likes.

    `first` is what to think of places before anything was counted. A place in an empty part of the city is like others
    there, not like the mean of all.
    """
    size, fine = blocks.geography.world.size, noisy.get(end)
    on_grid = isinstance(blocks.geography.network, Grid)
    views = _find_views(end, first, blocks, noisy, total)
    found = sharpen(first, blocks, views)
    if fine is not None:
        likely, _ = judge_counts(fine.value, fine.scale, group_alike(found, settings.alike))
        # Where noise is larger than anything that it might hide, places are what is expected of them.
        hidden = fine.deviation**2 / (fine.deviation**2 + float(np.mean(likely**2)) + 1e-12)
        likely *= total / max(float(likely.sum()), 1e-12)
        found = (1 - hidden) * likely + hidden * found
    elif on_grid:
        return found
    # One trip in fifty anywhere, so that every place can be reached.
    found = (49 * found + total / size) / 50
    # Cells of a grid are arbitrary, and most are empty: pairs of zones say more of them than of stops.
    return sharpen(found, blocks, views) if on_grid else found


View = tuple[Ints, Ints, Floats]


def _find_views(
    end: str, first: Floats, blocks: WalkBlocks, noisy: dict[str, CellEstimates], total: float
) -> list[View]:
    """Return ranges of places, in the order of their zones, and the trips in each, as zones and pairs of zones say.

    Zones differ from what `first` expects as far as their counts do so beyond noise (empirical Bayes).
    """
    views, side = [], ("origin", "destination").index(end)
    if blocks.leaves is not None and "pair" in noisy:
        views.append((*find_slots(blocks)[side], onto_total(noisy["pair"].value, total)))
    zone = noisy.get(f"{end} zone")
    if zone is not None:
        zones, bits = blocks.geography.places, blocks.resolution.ends
        code = np.arange(1 << bits, dtype=np.int64) << (zones.depth - bits)
        low, high = zones.slots(code, code + (1 << (zones.depth - bits)))
        running = np.concatenate([[0.0], np.cumsum(first[zones.order])])
        expected = running[high] - running[low]
        apart, noise = zone.value - expected, zone.deviation**2
        real = max(float(np.mean(apart**2)) - noise, 0.0)
        views.append((low, high, onto_total(expected + apart * real / (real + noise + 1e-12), total)))
    return views


def sharpen(ends: Floats, blocks: WalkBlocks, views: list[View]) -> Floats:
    """Return trips at places that also explain how many are in ranges of places: expectation maximisation."""
    order = blocks.geography.places.order
    total, found = ends.sum(), ends[order].astype(np.float64)
    for _ in range(3):
        for first, last, mass in views:
            running = np.concatenate([[0.0], np.cumsum(found)])
            inside = running[last] - running[first]
            filled = (last > first) & (inside > 0)
            per_trip = mass[filled] / inside[filled]
            steps = np.zeros(len(found) + 1)
            np.add.at(steps, first[filled], per_trip)
            np.add.at(steps, last[filled], -per_trip)
            found = found * np.maximum(np.cumsum(steps)[:-1], 0.0)
    out = np.empty_like(found)
    out[order] = found * (total / max(float(found.sum()), 1e-12))
    return out
