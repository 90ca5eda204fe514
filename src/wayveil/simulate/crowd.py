"""`Crowd`: riders who stand for those of an agency before a release, as many as somebody says there are."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.stats import norm

from wayveil.arrays import Floats, Ints
from wayveil.progress import step
from wayveil.simulate.city import draw_departures
from wayveil.simulate.riders import Attraction, departures, simulate_riders
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.world import World

MOST_TRIPS = 30
# How much places differ: spread of the logarithm of their trips, per logarithm of the number of places. Set on lists of
# airports, bike stations and web pages.
UNEVEN = 0.25
LEAST_SPREAD = 0.5
# How much more or less typical cells stand out than here: spread of the logarithm of their share of all rides. Set on
# other feeds and lists than those that promises are held against.
UNSURE = 0.2


@dataclass(frozen=True, eq=False)
class Crowd:
    """Trips of riders who stand for a stated number of rides; `unsure` by how much where they are simulated."""

    trips: Trips
    rides: int
    unsure: float = 0.0

    @classmethod
    def simulate(cls, world: World, rides: int, riders: int) -> "Crowd":
        """Simulate riders as `simulate_riders` does; most make few rides, some up to 30, at any hour of a day.

        Demand differs more between places than service does: as much as it does in lists of as many places.
        """
        rng, mean = np.random.default_rng(0), max(rides / riders, 1.0)
        per_rider = np.minimum(rng.geometric(1 / mean, riders), MOST_TRIPS)
        with step("simulating riders"):
            if isinstance(world, Network):
                most, demand = int(per_rider.max()), _demand(world)
                made = simulate_riders(world, riders, seed=0, trips_per_rider=most, demand=demand).trips
                trips = made.take(np.tile(np.arange(most), riders) < np.repeat(per_rider, most))
                trips = _at_any_hour(trips, rng) if most > 1 else trips
            else:
                trips = _on_list(world, per_rider, rng)
        return cls(trips, rides, UNSURE)

    @property
    def scale(self) -> float:
        """Rides that each simulated one stands for."""
        return self.rides / max(len(self.trips), 1)

    @cached_property
    def _of_rider(self) -> Ints:
        """Trips that the rider of each trip has."""
        rider = self.trips.rider
        if rider is None:
            return np.ones(len(self.trips), np.int64)
        _, place, many = np.unique(rider, return_inverse=True, return_counts=True)
        return np.where(rider < 0, 1, many[place])

    @property
    def most(self) -> int:
        """Count the trips of the rider who has most of them."""
        return int(self._of_rider.max(initial=1))

    def weigh(self, bound: int | None) -> Floats:
        """Return what each trip counts on average where a rider has a bound: min(1, bound / trips of the rider)."""
        many = self._of_rider
        return np.ones(len(many)) if bound is None else np.minimum(1.0, bound / many)


def _demand(network: Network) -> Attraction:
    """Homes and goals that differ as much as `UNEVEN` says, of which service explains a part."""
    usual, served = Attraction(), float(np.log(departures(network).sum(axis=1) + 1.0).std())
    explained = np.array([usual.home, usual.away]) * served
    rest = (UNEVEN * np.log(network.size)) ** 2 - explained**2
    home, away = np.sqrt(np.maximum(rest, LEAST_SPREAD**2))
    return replace(usual, spread=(float(home), float(away)))


def _at_any_hour(trips: Trips, rng: np.random.Generator) -> Trips:
    """Return the trips, each at an hour of its own: somebody with thirty of them made them on several days."""
    assert trips.time is not None
    first = trips.time[trips.offsets[:-1]]
    moved = np.repeat(draw_departures(rng, len(trips)) - first, trips.lengths)
    return replace(trips, time=trips.time + moved)


def _on_list(world: World, per_rider: Ints, rng: np.random.Generator) -> Trips:
    """Rides between two places of a list, whose sizes are lognormal."""
    rank = (np.arange(world.size) + 0.5) / world.size
    pull = np.exp(UNEVEN * np.log(world.size) * norm.isf(rank))
    ends = rng.choice(world.size, (int(per_rider.sum()), 2), p=pull / pull.sum()).astype(np.int32)
    time = np.repeat(draw_departures(rng, len(ends)), 2)
    rider = np.repeat(np.arange(len(per_rider)), per_rider)
    return Trips(ends.ravel(), 2 * np.arange(len(ends) + 1), world, time, rider)
