"""Plausible trips on a network: routes between drawn ends, chosen in several ways that riders might have."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.network_demand import NetworkDemand
from wayveil.mechanisms.weave.routes import LINES, METRES, SECONDS, Costs, find_routes
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.support import Support, select_walks
from wayveil.world.walk_blocks import LONGEST, Walks


@dataclass(frozen=True)
class RouteChoice:
    """A way to choose a route: what is short, whether everybody agrees on it, and whether one goes via somewhere."""

    way: int
    perturbed: bool
    via: bool = False


ROUTE_CHOICES = (
    *(RouteChoice(way, perturbed) for way in (METRES, SECONDS, LINES) for perturbed in (False, True)),
    *(RouteChoice(way, True, via=True) for way in (METRES, LINES)),
)
# The way that counts metres, under costs that differ from rider to rider.
METRES_PERTURBED = ROUTE_CHOICES.index(RouteChoice(METRES, True))
_PERTURBED = np.array([kind.perturbed for kind in ROUTE_CHOICES])
_VIA = np.array([kind.via for kind in ROUTE_CHOICES])


def guess_choices(detours: float) -> Floats:
    """The shares of the ways to choose a route before any fit: all alike, and so many detours."""
    return np.where(_VIA, detours / _VIA.sum(), (1 - detours) / (~_VIA).sum())


def draw_routes(
    demand: NetworkDemand,
    costs: Costs,
    count: int,
    choices: Floats,
    learnt: Floats,
    rng: np.random.Generator,
) -> Support:
    """About `count` trips over a network; `choices` are the shares of the ways to choose a route."""
    origin, destination = demand.draw_ends(count, rng)
    bins = demand.draw_time_bins(origin, destination, rng)
    kind = _draw_choices(destination, costs.network.size, choices, costs.settings, rng)
    via = np.flatnonzero(_VIA[kind] & (origin != destination))
    between = _draw_near_the_way(demand, origin[via], destination[via], rng)
    # Legs: one per trip, and a second one for those that go via somewhere.
    trip = np.concatenate([np.arange(len(origin)), via])
    start = np.concatenate([origin, between])
    end = np.concatenate([destination, destination[via]])
    end[via] = between
    legs = Legs(kind[trip], trip, start, end)
    location, offsets = join_legs(legs, route_legs(costs, legs, learnt, rng), len(via))
    found = np.flatnonzero((np.diff(offsets) > 0) & (np.diff(offsets) <= LONGEST))
    if len(found) < len(origin):
        location, offsets = select_walks(location, offsets, found)
        bins = None if bins is None else bins[found]
        kind = kind[found]
    return Support(Walks(location, offsets, bins), kind)


def _draw_choices(
    destination: Ints, places: int, shares: Floats, settings: Generation, rng: np.random.Generator
) -> Ints:
    """A way to choose a route for each trip; trips to one destination share a few draws, so that few trees grow."""
    slots = max(settings.least_kinds, len(destination) // (settings.routes.trips_per_tree * places))
    table = rng.choice(len(ROUTE_CHOICES), (places, slots), p=shares)
    return table[destination, rng.integers(0, slots, len(destination))]


def _draw_near_the_way(
    demand: NetworkDemand, origin: Ints, destination: Ints, rng: np.random.Generator
) -> Ints:
    """A place near the straight line between two others."""
    if len(origin) == 0:
        return origin
    settings = demand.settings.routes
    points = np.column_stack(demand.blocks.geography.xy)
    way = points[destination] - points[origin]
    at = points[origin] + rng.uniform(*settings.via_along, (len(origin), 1)) * way
    at += settings.via_aside * np.hypot(*way.T)[:, None] * rng.standard_normal(at.shape)
    return scipy.spatial.cKDTree(points).query(at)[1].astype(np.int64)


class Legs(NamedTuple):
    """Parts of trips to route: the way to choose the route, the trip, and both ends of each leg."""

    kind: Ints
    trip: Ints
    start: Ints
    end: Ints


class RoutedLegs(NamedTuple):
    """Legs that were routed over one graph: their stops end to end, their lengths, and which legs they are."""

    stops: NDArray[np.int32]
    lengths: Ints
    legs: Ints


def route_legs(costs: Costs, legs: Legs, learnt: Floats, rng: np.random.Generator) -> list[RoutedLegs]:
    """Route all legs, graph by graph."""
    settings, (kind, trip, start, end) = costs.settings, legs
    # Each destination tries few of the graphs, so that few trees have to grow; other destinations try others.
    number = (end * 31 + trip % settings.trees) % settings.graphs
    number = np.where(_PERTURBED[kind], number, 0)
    order = np.lexsort((end, number, kind))
    cuts = np.flatnonzero(np.diff(kind[order] * settings.graphs + number[order])) + 1
    tasks = []
    for some in np.split(order, cuts):
        how = ROUTE_CHOICES[kind[some[0]]] if len(some) else ROUTE_CHOICES[0]
        cost = costs.draw(how.way, learnt, rng, perturbed=how.perturbed)
        tasks.append((costs.graph(how.way), cost, start[some], end[some], some))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda task: RoutedLegs(*find_routes(*task[:4]), task[4]), tasks))


def join_legs(legs: Legs, parts: list[RoutedLegs], second: int) -> tuple[NDArray[np.int32], Ints]:
    """Trips from their legs; the last `second` legs continue their trips. A trip with a missing leg is empty."""
    trip, lengths = legs.trip, np.zeros(len(legs.trip), np.int64)
    for part in parts:
        lengths[part.legs] = part.lengths
    trips = len(trip) - second
    first, whole = lengths[:trips], lengths[:trips].copy()
    on = trip[trips:]
    whole[on] = np.where((first[on] > 0) & (lengths[trips:] > 0), first[on] + lengths[trips:] - 1, 0)
    offsets = np.concatenate([[0], np.cumsum(whole)]).astype(np.int64)
    place = offsets[trip].copy()
    place[trips:] += first[on] - 1
    place[whole[trip] == 0] = -1
    location = np.empty(offsets[-1], np.int32)
    for part in parts:
        _put(part.stops, part.lengths, place[part.legs], location)
    return location, offsets


@njit(cache=True, nogil=True)
def _put(stops, lengths, place, location):  # type: ignore[no-untyped-def]
    start = 0
    for i in range(len(lengths)):
        if place[i] >= 0:
            for step in range(lengths[i]):
                location[place[i] + step] = stops[start + step]
        start += lengths[i]
