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


def visited(visit: Noisy, move: Noisy | None, ends: list[Noisy], places: int) -> Floats:
    """The share of each place among all visits: from the block of visits by class of lengths; from moves to and from
    each place, if asked for, which say nearly the same with other noise; and from how many trips begin and end there,
    which says something else, but often with far less noise. Each counts as its noise deserves.
    """
    table = visit.value.reshape(-1, places)
    views = [Noisy(table.sum(axis=0), visit.deviation * sqrt(len(table)))]
    if move is not None:
        square, marks = (part.reshape(-1, places) for part in np.split(move.value, [places**2]))
        both = (square.sum(axis=0) + square.sum(axis=1) + marks.sum(axis=0)) / 2
        views.append(Noisy(both, move.deviation * sqrt(places)))
    direct, near = _mean_share(views), _mean_share(ends)
    first = _mean_share([direct, near]).value
    precise = direct.deviation**-2
    other = 1 / (near.deviation**2 + (BUSY_OFF * np.maximum(first, 0.0)) ** 2)
    mean = (precise * direct.value + other * near.value) / (precise + other)
    # The scale of the noise at places that hardly anybody visits: with others there is no question that they are.
    share = surely(mean, sqrt(0.5 / (precise + near.deviation**-2)), 1.0)
    # A little everywhere, so that nowhere is out of reach for the fit.
    return (share + 1e-6 / places) / (1 + 1e-6)


def _mean_share(views: list[Noisy]) -> Noisy:
    """Shares from several views with different totals, weighted by their precision."""
    wholes = [max(float(view.value.sum()), view.deviation) for view in views]
    precision = [(whole / view.deviation) ** 2 for view, whole in zip(views, wholes, strict=True)]
    mean = sum(
        weight * view.value / whole for view, whole, weight in zip(views, wholes, precision, strict=True)
    ) / sum(precision)
    return Noisy(np.asarray(mean), sum(precision) ** -0.5)


def _counted(noisy: Noisy, mark: Noisy | None, total: float) -> Noisy:
    """Trips that begin (or end) at each place, from two views: as counted, and from the marks in the table of moves, if
    there is one, where long trips weigh less, so that it is off by some share beside its noise.
    """
    if mark is None:
        return noisy
    scale = total / max(float(mark.value.sum()), mark.deviation, 1.0)
    own = noisy.deviation**-2
    other = 1 / ((mark.deviation * scale) ** 2 + (MARKS_OFF * total / len(mark.value)) ** 2)
    return Noisy((own * noisy.value + other * mark.value * scale) / (own + other), (own + other) ** -0.5)


def _ends(counted: Noisy, share: Floats, total: float) -> Floats:
    """Trips that begin (or end) at each place, as counted, and from how busy it is, which is off by some share."""
    busy, precise = share * total, counted.deviation**-2
    sure = surely(counted.value, counted.deviation / sqrt(2), total, strata(share))
    expected = 1 / ((BUSY_OFF * busy) ** 2 + 1e-9)
    mass = (precise * sure + expected * busy) / (precise + expected)
    mass = np.where(sure > 0, mass, 0.0) + 1e-9 * busy
    return np.asarray(mass * (total / mass.sum()))


class Demand:
    """Draws ends and time bins of trips."""

    def __init__(
        self, geography: Geography, blocks: WalkBlocks, noisy: dict[str, Noisy], total: float
    ) -> None:
        self.geography, self.blocks, self.noisy, self.total = geography, blocks, noisy, total
        if geography.network is None:
            size, move = geography.world.size, noisy.get("move")
            marks: list[Noisy | None] = [None, None]
            if move is not None:
                marks = [Noisy(mark, move.deviation) for mark in move.value[size**2 :].reshape(2, size)]
            ends = [
                _counted(noisy[name], mark, total)
                for name, mark in zip(("origin", "destination"), marks, strict=True)
            ]
            self.share = visited(noisy["visit"], move, ends, size)
            self.origin, self.destination = (_ends(counted, self.share, total) for counted in ends)
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
