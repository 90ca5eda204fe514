"""Where trips begin and end, and when: on networks, and on grids."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.estimates import CellEstimates, group_alike, shrink_counts
from wayveil.mechanisms.weave.settings import EndSettings, Generation
from wayveil.synthesis.projection import onto_total
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


class NetworkDemand(Demand):
    """Draws pairs of ends whose distances are as measured."""

    @classmethod
    def estimate(
        cls, blocks: WalkBlocks, noisy: dict[str, CellEstimates], total: float, settings: Generation
    ) -> "NetworkDemand":
        """Trips that begin and end at each place, from the noisy blocks of places and of their zones."""
        geography = blocks.geography
        zone = geography.places.zone(np.arange(geography.world.size), blocks.resolution.ends)
        origin, destination = (
            estimate_places(noisy.get(end), noisy.get(f"{end} zone"), zone, total, settings.ends)
            for end in ("origin", "destination")
        )
        return cls(blocks, noisy, total, settings, origin, destination)

    def draw_ends(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """About `count` origins and destinations, thinned so that their distances are as measured."""
        drawn = self.settings.ends.drawn_per_kept * count
        free = rng.random(drawn) < self.settings.anywhere
        place = np.arange(len(self.origin))
        origin = rng.choice(place, drawn, p=self.origin / self.origin.sum())
        destination = rng.choice(place, drawn, p=self.destination / self.destination.sum())
        bound = np.flatnonzero(~free)
        if self.blocks.leaves is not None and len(bound):
            origin[bound], destination[bound] = self.draw_pairs(len(bound), rng)
        kept = np.flatnonzero(rng.random(drawn) < self._weigh_distances(origin, destination))
        return origin[kept], destination[kept]

    def _weigh_distances(self, origin: Ints, destination: Ints) -> Floats:
        """The probability to keep each pair, so that distances are as the noisy histogram says."""
        ends, part = self.settings.ends, 1 / self.settings.ends.drawn_per_kept
        pairs = np.stack([origin, destination], axis=1).astype(np.int32)
        distance = self.blocks.distance(Walks(pairs.ravel(), 2 * np.arange(len(pairs) + 1)))
        if "distance" not in self.noisy:
            return np.full(len(origin), part)
        wanted = onto_total(self.noisy["distance"].value, self.total) / self.total
        found = np.bincount(distance, minlength=len(wanted)) / len(distance)
        ratio = (wanted + ends.distance_floor) / (found + ends.distance_floor)
        keep = np.clip(ratio, 1 / ends.most_thinning, ends.most_thinning)[distance]
        return np.minimum(keep * (part / keep.mean()), 1.0)


def estimate_places(
    fine: CellEstimates | None, coarse: CellEstimates | None, zone: Ints, total: float, settings: EndSettings
) -> Floats:
    """Trips at places from one or two noisy views: totals of zones, and differences inside a zone as far as they show.

    Zone totals are the mean of both views, weighted by their precision. Places that stand out of their zone by more
    than noise reaches are believed. The others share what is left of the zone, and differ from its mean by what remains
    of their noisy difference after shrinking (empirical Bayes).
    """
    zones = int(zone.max(initial=0)) + 1
    places = np.maximum(np.bincount(zone, minlength=zones), 1)
    whole = onto_total(_estimate_zones(fine, coarse, zone, places, total), total)
    mass: Floats = (whole / places)[zone]
    if fine is not None:
        stands = fine.value - mass > fine.reach(settings.false_cells)
        mass = np.where(stands, fine.value, 0.0).astype(np.float64)
        others = np.maximum(np.bincount(zone, ~stands, zones), 1)
        left = np.maximum(whole - np.bincount(zone, mass, zones), 0.0) / others
        rest = np.flatnonzero(~stands)
        apart = fine.value[rest] - (np.bincount(zone[rest], fine.value[rest], zones) / others)[zone[rest]]
        real = _estimate_signal(apart, fine.deviation, settings.differing_from)
        mass[rest] = np.maximum(left[zone[rest]] + apart * real, 0.0)
    inside = np.bincount(zone, mass, zones)
    mass *= (whole / np.maximum(inside, 1e-12))[zone]
    everywhere = settings.everywhere
    return np.asarray((1 - everywhere) * mass + everywhere * total / len(mass), np.float64)


def _estimate_zones(
    fine: CellEstimates | None,
    coarse: CellEstimates | None,
    zone: Ints,
    places: NDArray[np.integer],
    total: float,
) -> Floats:
    """Trips in each zone from its noisy total and the noisy counts of its places."""
    if coarse is None or len(coarse.value) != len(places):
        flat = total * places / places.sum()
        return flat if fine is None else np.bincount(zone, fine.value, len(places)).astype(np.float64)
    if fine is None:
        return coarse.value
    precise, rough = 1 / coarse.deviation**2, 1 / (places * fine.deviation**2)
    sums = np.bincount(zone, fine.value, len(places))
    return (precise * coarse.value + rough * sums) / (precise + rough)


def _estimate_signal(apart: Floats, deviation: float, differing_from: float) -> float:
    """The share of noisy differences that is not noise.

    The mean square of Laplace noise has a standard deviation of sqrt(5 / cells) of itself: fewer than `differing_from`
    of those are no sign that places differ at all.
    """
    if len(apart) == 0:
        return 0.0
    surplus = float(np.mean(apart**2)) - deviation**2 * (1 + differing_from * sqrt(5 / len(apart)))
    return max(surplus, 0.0) / (max(surplus, 0.0) + deviation**2)


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
