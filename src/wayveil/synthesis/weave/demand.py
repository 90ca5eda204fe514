"""Who travels from where to where, and when: a first guess from the noisy blocks, to draw a support from."""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.weave.belief import strata, surely
from wayveil.world.walk_blocks import WalkBlocks, Walks
from wayveil.world.zones import Geography, take_apart

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Cells of a block that noise alone may lift above what is called outstanding.
FALSE_CELLS = 0.5
# By which share the number of ends at a place is off when read off the marks of moves, and off the visits of the place.
MARKS_OFF, BUSY_OFF = 0.1, 0.7


@dataclass(frozen=True, eq=False)
class Noisy:
    """A noisy block in trips: one value per cell, all with this standard deviation."""

    value: Floats
    deviation: float

    @property
    def highest(self) -> float:
        """What noise alone hardly reaches in any cell: the more cells, the farther its largest value lies out."""
        return self.deviation / sqrt(2) * max(log(len(self.value) / (2 * FALSE_CELLS)), 1.0)


def masses(fine: Noisy | None, coarse: Noisy | None, zone: Ints, total: float) -> Floats:
    """Masses of places from one or two noisy views: totals of zones, and differences inside a zone as far as they show.

    Zone totals are the mean of both views, weighted by their precision. Places that stand out of their zone by more
    than noise reaches are believed. The others share what is left of the zone, and differ from its mean by what remains
    of their noisy difference after shrinking (empirical Bayes).
    """
    zones = int(zone.max(initial=0)) + 1
    places = np.maximum(np.bincount(zone, minlength=zones), 1)
    whole = onto_total(_zone_totals(fine, coarse, zone, places, total), total)
    mass: Floats = (whole / places)[zone]
    if fine is not None:
        stands = fine.value - mass > fine.highest
        mass = np.where(stands, fine.value, 0.0).astype(np.float64)
        others = np.maximum(np.bincount(zone, ~stands, zones), 1)
        left = np.maximum(whole - np.bincount(zone, mass, zones), 0.0) / others
        rest = np.flatnonzero(~stands)
        apart = fine.value[rest] - (np.bincount(zone[rest], fine.value[rest], zones) / others)[zone[rest]]
        mass[rest] = np.maximum(left[zone[rest]] + apart * _believed(apart, fine.deviation), 0.0)
    inside = np.bincount(zone, mass, zones)
    mass *= (whole / np.maximum(inside, 1e-12))[zone]
    # A little everywhere, so that nowhere is out of reach for the fit.
    return np.asarray(0.98 * mass + 0.02 * total / len(mass), np.float64)


def _zone_totals(fine: Noisy | None, coarse: Noisy | None, zone: Ints, places: Ints, total: float) -> Floats:
    if coarse is None or len(coarse.value) != len(places):
        flat = total * places / places.sum()
        return flat if fine is None else np.bincount(zone, fine.value, len(places)).astype(np.float64)
    if fine is None:
        return coarse.value
    precise, rough = 1 / coarse.deviation**2, 1 / (places * fine.deviation**2)
    sums = np.bincount(zone, fine.value, len(places))
    return (precise * coarse.value + rough * sums) / (precise + rough)


def _believed(apart: Floats, deviation: float) -> float:
    """The share of noisy differences that is not noise.

    The mean square of Laplace noise has a standard deviation of sqrt(5 / cells) of itself: less than two of those is no
    sign that places differ at all.
    """
    if len(apart) == 0:
        return 0.0
    surplus = float(np.mean(apart**2)) - deviation**2 * (1 + 2 * sqrt(5 / len(apart)))
    return max(surplus, 0.0) / (max(surplus, 0.0) + deviation**2)


def visited(visit: Noisy, move: Noisy, places: int) -> Floats:
    """The share of each place among all visits: from the block of visits by class of lengths, and from moves to and
    from each place, which say nearly the same with other noise; each counts as its noise deserves.
    """
    table = visit.value.reshape(-1, places)
    square, ends = move.value[: places**2].reshape(places, places), move.value[places**2 :].reshape(2, places)
    views = [
        (table.sum(axis=0), visit.deviation * sqrt(len(table))),
        ((square.sum(axis=0) + square.sum(axis=1) + ends.sum(axis=0)) / 2, move.deviation * sqrt(places)),
    ]
    scaled = [(value / value.sum(), deviation / value.sum()) for value, deviation in views if value.sum() > 0]
    precision = [deviation**-2 for _, deviation in scaled]
    mean = sum(weight * value for weight, (value, _) in zip(precision, scaled, strict=True)) / sum(precision)
    share = surely(mean, sqrt(0.5 / sum(precision)), 1.0)
    # A little everywhere, so that nowhere is out of reach for the fit.
    return (share + 1e-6 / places) / (1 + 1e-6)


def _ends(noisy: Noisy, mark: Noisy, share: Floats, total: float) -> Floats:
    """Trips that begin (or end) at each place, from three views: as counted; from the marks in the table of moves,
    where long trips weigh less; and from how busy the place is. The last two are off by some share beside their noise.
    """
    scale = total / max(float(mark.value.sum()), mark.deviation, 1.0)
    busy = share * total
    own = noisy.deviation**-2
    other = 1 / ((mark.deviation * scale) ** 2 + (MARKS_OFF * total / len(share)) ** 2)
    seen = (own * noisy.value + other * mark.value * scale) / (own + other)
    sure = surely(seen, sqrt(0.5 / (own + other)), total, strata(share))
    expected = 1 / ((BUSY_OFF * busy) ** 2 + 1e-9)
    mass = ((own + other) * sure + expected * busy) / (own + other + expected)
    mass = np.where(sure > 0, mass, 0.0) + 1e-9 * busy
    return np.asarray(mass * (total / mass.sum()))


class Demand:
    """Draws ends and time bins of trips."""

    def __init__(
        self, geography: Geography, blocks: WalkBlocks, noisy: dict[str, Noisy], total: float
    ) -> None:
        self.geography, self.blocks, self.noisy, self.total = geography, blocks, noisy, total
        if geography.network is None:
            self.share = visited(noisy["visit"], noisy["move"], geography.world.size)
            marks = noisy["move"].value[geography.world.size**2 :].reshape(2, -1)
            self.origin, self.destination = (
                _ends(noisy[name], Noisy(mark, noisy["move"].deviation), self.share, total)
                for name, mark in zip(("origin", "destination"), marks, strict=True)
            )
            return
        zone = geography.places.zone(np.arange(geography.world.size), blocks.resolution.ends)
        self.origin, self.destination = (
            masses(noisy.get(end), noisy.get(f"{end} zone"), zone, total) for end in ("origin", "destination")
        )

    def ends(self, count: int, anywhere: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """About `count` origins and destinations, thinned so that their distances are as measured."""
        drawn = 2 * count
        free = rng.random(drawn) < anywhere
        place = np.arange(len(self.origin))
        origin = rng.choice(place, drawn, p=self.origin / self.origin.sum())
        destination = rng.choice(place, drawn, p=self.destination / self.destination.sum())
        bound = np.flatnonzero(~free)
        if self.blocks.leaves is not None and len(bound):
            origin[bound], destination[bound] = self.in_leaves(len(bound), rng)
        kept = np.flatnonzero(rng.random(drawn) < self._likely_distance(origin, destination))
        return origin[kept], destination[kept]

    def in_leaves(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """A leaf by its mass, then an origin and a destination inside by theirs."""
        zones, starts = self.geography.places, self.blocks.leaves
        if starts is None:
            raise ValueError("there are no leaves")
        mass = onto_total(self.noisy["pair"].value, self.total)
        leaf = rng.choice(len(starts), count, p=mass / mass.sum())
        sizes = np.diff(np.append(starts, 1 << 2 * zones.depth))
        side = np.int64(1) << (np.round(np.log2(sizes)).astype(np.int64) // 2)
        low = take_apart(starts, zones.depth)
        return (
            self._inside(self.origin, low[0][leaf], side[leaf], rng),
            self._inside(self.destination, low[1][leaf], side[leaf], rng),
        )

    def _inside(self, mass: Floats, low: Ints, side: Ints, rng: np.random.Generator) -> Ints:
        """A place by mass among those with codes from `low` on; codes without a place give the next one."""
        zones = self.geography.places
        running = np.concatenate([[0.0], np.cumsum(mass[zones.order])])
        first, last = zones.slots(low, low + side)
        drawn = running[first] + rng.random(len(low)) * (running[last] - running[first])
        slot = np.searchsorted(running, drawn, side="right") - 1
        return zones.order[np.clip(slot, 0, len(mass) - 1)]

    def _likely_distance(self, origin: Ints, destination: Ints) -> Floats:
        """The probability to keep a pair, so that about half stay and distances are as the noisy histogram says."""
        ends = np.stack([origin, destination], axis=1).astype(np.int32)
        distance = self.blocks.distance(Walks(ends.ravel(), 2 * np.arange(len(ends) + 1)))
        if "distance" not in self.noisy:
            return np.full(len(origin), 0.5)
        wanted = onto_total(self.noisy["distance"].value, self.total) / self.total
        found = np.bincount(distance, minlength=len(wanted)) / len(distance)
        ratio = np.clip((wanted + 0.002) / (found + 0.002), 0.1, 10.0)
        keep = ratio[distance]
        return np.minimum(keep * (0.5 / keep.mean()), 1.0)

    def bins(self, origin: Ints, destination: Ints, rng: np.random.Generator) -> Ints | None:
        """A time bin for each trip, from how busy its two zones are: as if the two said so independently."""
        look = self.blocks.resolution
        if look.times == 0:
            return None
        everywhere = self._all_day()
        zones = self.geography.places
        chance = np.broadcast_to(everywhere, (len(origin), look.times))
        for name, end in (("hour at origin", origin), ("hour at destination", destination)):
            if name in self.noisy:
                chance = chance * (self._profiles(name, everywhere) / everywhere)[zones.zone(end, look.hours)]
        running = np.cumsum(chance, axis=1)
        drawn = rng.random(len(origin)) * running[:, -1]
        return np.minimum((running <= drawn[:, None]).sum(axis=1), look.times - 1)

    def _all_day(self) -> Floats:
        """Shares of the time bins over all zones: the mean of the views of them, weighted by their precision."""
        look = self.blocks.resolution
        views = [
            (
                table.reshape(look.times, -1).sum(axis=1),
                table.size / look.times * self.noisy[name].deviation ** 2,
            )
            for name in ("hour", "hour at origin", "hour at destination")
            if name in self.noisy
            for table in [self.noisy[name].value]
        ]
        precise = np.array([1 / variance for _, variance in views])
        mean = precise @ np.stack([view for view, _ in views]) / precise.sum()
        mass = onto_total(mean, self.total) + 0.001 * self.total / look.times
        return mass / mass.sum()

    def _profiles(self, name: str, everywhere: Floats) -> Floats:
        """Shares of the time bins in each zone, drawn towards those of all zones."""
        table = self.noisy[name].value.reshape(self.blocks.resolution.times, -1).T
        mass = onto_total(table, self.total)
        mass += 0.05 * self.total / len(table) * everywhere
        return mass / mass.sum(axis=1, keepdims=True)
