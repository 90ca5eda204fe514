"""Trips from public knowledge alone, and no trips at all: what a release has to beat."""

import numpy as np

from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.paths import along_paths, shortest_paths
from wayveil.world.timebins import DAY, WEEK, TimeBins
from wayveil.world.world import World

PUBLIC_MEAN_LENGTH = 5
PUBLIC_MAX_LENGTH = 40
_FIRST_MONDAY = 4 * DAY
_SECONDS_PER_MOVE = 120


def empty(world: World, *, timed: bool = False) -> Trips:
    """The release of no trips."""
    return Trips(
        np.empty(0, np.int32), np.zeros(1, np.int64), world, np.empty(0, np.int64) if timed else None
    )


def floor(
    world: World, count: int, seed: int, *, bins: TimeBins | None = None, ends: int | None = None
) -> Trips:
    """`count` trips that know the world and nothing about its riders.

    On a network: shortest routes by distance between an origin and a destination that are both uniform over
    all stops, or over `ends` of them for destinations, as each of these takes a search of the whole network.
    Elsewhere: a uniform start and uniform legal moves, with geometric lengths of mean 5, at most 40. With time
    bins, start times are uniform over their period, a week if they repeat.
    """
    rng = np.random.default_rng(seed)
    trips = (
        random_routes(world, count, rng, ends)
        if isinstance(world, Network)
        else random_walks(world, count, rng)
    )
    return trips if bins is None else _with_times(trips, bins, rng)


def random_routes(network: Network, count: int, rng: np.random.Generator, ends: int | None = None) -> Trips:
    """Shortest routes between uniform pairs of stops; one that has a way stands in for a pair that has none."""
    origins, destinations = rng.integers(0, network.size, (2, count))
    if ends is not None and ends < network.size:
        destinations = rng.choice(network.size, ends, replace=False)[destinations % ends]
    paths = shortest_paths(network, origins, destinations)
    found = np.flatnonzero(paths.reachable)
    if len(found) == 0:
        return random_walks(network, count, rng)
    index = np.concatenate([found, rng.choice(found, count - len(found))])
    return Trips(paths.location, paths.offsets, network).take(index)


def random_walks(world: World, count: int, rng: np.random.Generator) -> Trips:
    """Walks with a uniform start and uniform legal moves; a dead end ends the walk."""
    wanted = np.minimum(rng.geometric(1 / PUBLIC_MEAN_LENGTH, count), PUBLIC_MAX_LENGTH)
    starts = np.concatenate([[0], np.cumsum(wanted)])
    location = np.full(starts[-1], -1, np.int32)
    walker = np.arange(count)
    here = rng.integers(0, world.size, count).astype(np.int32)
    for step in range(int(wanted.max(initial=0))):
        location[starts[walker] + step] = here
        degree = world.successors.degree(here)
        walking = (wanted[walker] > step + 1) & (degree > 0)
        walker, here, degree = walker[walking], here[walking], degree[walking]
        here = world.successors.nth(here, rng.integers(0, degree))
    visited = location >= 0
    offsets = np.concatenate([[0], np.cumsum(visited)])[starts]
    return Trips(location[visited], offsets, world)


def _with_times(trips: Trips, bins: TimeBins, rng: np.random.Generator) -> Trips:
    if bins.period is None:
        low, high = int(bins.edges[0]), int(bins.edges[-1])
    else:
        low, high = _FIRST_MONDAY, _FIRST_MONDAY + WEEK
    start = rng.integers(low, high, len(trips))
    if isinstance(trips.world, Network):
        passed = along_paths(trips.world, trips.location, trips.offsets, trips.world.seconds).astype(np.int64)
    else:
        place = np.arange(trips.visits) - np.repeat(trips.offsets[:-1], trips.lengths)
        passed = place * _SECONDS_PER_MOVE
    time = np.repeat(start, trips.lengths) + passed
    return Trips(trips.location, trips.offsets, trips.world, time)
