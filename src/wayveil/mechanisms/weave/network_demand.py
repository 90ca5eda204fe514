"""Who travels on a network: ends estimated from places and zones, and pairs of ends as far apart as was measured."""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.cell_estimates import CellEstimates
from wayveil.mechanisms.weave.demand import Demand
from wayveil.mechanisms.weave.settings import EndSettings, Generation
from wayveil.synthesis.projection import onto_total
from wayveil.world.walk_blocks import WalkBlocks, Walks


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
