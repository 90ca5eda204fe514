"""The cells that needs ask about: which one each trip falls into."""

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.plan.needs import Need
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.world import World
from wayveil.world.zones import Geography

HOURS = 24
# Zones that stand for districts where nobody names any: binary digits of their number.
ZONE_BITS = 3


def count_cells(
    need: Need, trips: Trips, districts: Ints | None = None, weight: Floats | None = None
) -> Floats:
    """Trips (moves, for loads) in each cell that a need asks about, each trip with its weight."""
    cell, size = _edges_of(trips) if need.question == "edges" else _find_cells(need, trips, districts)
    inside = cell >= 0
    return np.bincount(cell[inside], None if weight is None else weight[inside], size).astype(np.float64)


def _find_cells(need: Need, trips: Trips, districts: Ints | None) -> tuple[Ints, int]:
    """The cell of every trip, -1 for one at another hour than asked for, and how many cells there are."""
    first, last, places = trips.offsets[:-1], trips.offsets[1:] - 1, trips.world.size
    origin, destination = (trips.location[at].astype(np.int64) for at in (first, last))
    hour = np.zeros(len(first), np.int64) if trips.time is None else trips.time[first] // 3600 % HOURS
    route, routes = route_of_each(trips) if "route" in need.question else (origin, places)
    cell, size = {
        "total": lambda: (np.zeros(len(first), np.int64), 1),
        "boardings": lambda: (origin, places),
        "alightings": lambda: (destination, places),
        "hours": lambda: (hour, HOURS),
        "stop-hours": lambda: (origin * HOURS + hour, places * HOURS),
        "routes": lambda: (route, routes),
        "route-hours": lambda: (route * HOURS + hour, routes * HOURS),
        "journeys": lambda: (origin * places + destination, places * places),
        "districts": lambda: _between(trips.world, origin, destination, districts),
    }[need.question]()
    if need.hours is not None:
        cell = np.where((hour >= need.hours[0]) & (hour < need.hours[1]), cell, -1)
    return cell, size


def _between(world: World, origin: Ints, destination: Ints, districts: Ints | None) -> tuple[Ints, int]:
    of = districts
    if of is None:
        zones = Geography(world).places
        of = zones.zone(np.arange(world.size), min(ZONE_BITS, zones.depth))
    many = int(of.max()) + 1
    return of[origin] * many + of[destination], many * many


def _edges_of(trips: Trips) -> tuple[Ints, int]:
    assert isinstance(trips.world, Network)
    inner = np.ones(trips.visits, bool)
    inner[trips.offsets[:-1]] = False
    at = np.flatnonzero(inner)
    edge = trips.world.edge_index(trips.location[at - 1], trips.location[at])
    return edge, trips.world.edges


def route_of_each(trips: Trips) -> tuple[Ints, int]:
    """A route that runs where each trip begins."""
    network = trips.world
    assert isinstance(network, Network)
    first = trips.offsets[:-1]
    edge = network.edge_index(trips.location[first], trips.location[np.minimum(first + 1, trips.visits - 1)])
    some = network.route_indptr[np.maximum(edge, 0)]
    known = (edge >= 0) & (network.route_indptr[np.maximum(edge, 0) + 1] > some)
    routes = len(network.route_ids)
    return np.where(known, network.route[np.minimum(some, len(network.route) - 1)], routes), routes + 1
