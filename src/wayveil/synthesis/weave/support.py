"""The support: many plausible trips, from which the fit chooses by weight."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from wayveil.synthesis.weave.demand import Demand
from wayveil.synthesis.weave.routes import LINES, METRES, SECONDS, Costs, routes
from wayveil.synthesis.weave.settings import Generation
from wayveil.world.walk_blocks import LONGEST, Walks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Kind:
    """A way to choose a route: what is short, whether everybody agrees on it, and whether one goes via somewhere."""

    way: int
    perturbed: bool
    via: bool = False


KINDS = (
    *(Kind(way, perturbed) for way in (METRES, SECONDS, LINES) for perturbed in (False, True)),
    *(Kind(way, True, via=True) for way in (METRES, LINES)),
)
# A shortest-path tree should be worth growing.
TRIPS_PER_TREE = 16
_PERTURBED = np.array([kind.perturbed for kind in KINDS])
_VIA = np.array([kind.via for kind in KINDS])


def first_shares(detours: float) -> Floats:
    """What is thought of the kinds before any fit: all ways alike, and so many detours."""
    return np.where(_VIA, detours / _VIA.sum(), (1 - detours) / (~_VIA).sum())


@dataclass(frozen=True, eq=False)
class Support:
    """Walks, and the kind of route choice, or of walk where there is no network, that made each."""

    walks: Walks
    kind: Ints


def routed(
    demand: Demand,
    costs: Costs,
    count: int,
    kinds: Floats,
    learnt: Floats,
    settings: Generation,
    rng: np.random.Generator,
) -> Support:
    """About `count` trips over a network; `kinds` are the shares of the ways to choose a route."""
    origin, destination = demand.ends(count, settings.anywhere, rng)
    bins = demand.bins(origin, destination, rng)
    kind = _kinds(destination, costs.network.size, kinds, settings, rng)
    via = np.flatnonzero(_VIA[kind] & (origin != destination))
    between = _near_the_way(demand, origin[via], destination[via], rng)
    # Legs: one per trip, and a second one for those that go via somewhere.
    trip = np.concatenate([np.arange(len(origin)), via])
    start = np.concatenate([origin, between])
    end = np.concatenate([destination, destination[via]])
    end[via] = between
    location, offsets = _joined(*_legs(costs, kind[trip], trip, start, end, learnt, settings, rng), len(via))
    found = np.flatnonzero((np.diff(offsets) > 0) & (np.diff(offsets) <= LONGEST))
    if len(found) < len(origin):
        location, offsets = only(location, offsets, found)
        bins = None if bins is None else bins[found]
        kind = kind[found]
    return Support(Walks(location, offsets, bins), kind)


def _kinds(
    destination: Ints, places: int, shares: Floats, settings: Generation, rng: np.random.Generator
) -> Ints:
    """A kind for each trip. Trips to one destination have few of them between them, so that few trees have to grow."""
    slots = max(settings.least_kinds, len(destination) // (TRIPS_PER_TREE * places))
    table = rng.choice(len(KINDS), (places, slots), p=shares)
    return table[destination, rng.integers(0, slots, len(destination))]


def _near_the_way(demand: Demand, origin: Ints, destination: Ints, rng: np.random.Generator) -> Ints:
    """A place near the straight line between two others."""
    if len(origin) == 0:
        return origin
    points = np.column_stack(demand.geography.xy)
    way = points[destination] - points[origin]
    at = points[origin] + rng.uniform(0.15, 0.85, (len(origin), 1)) * way
    at += 0.2 * np.hypot(*way.T)[:, None] * rng.standard_normal(at.shape)
    return cKDTree(points).query(at)[1].astype(np.int64)


def _legs(
    costs: Costs,
    kind: Ints,
    trip: Ints,
    start: Ints,
    end: Ints,
    learnt: Floats,
    settings: Generation,
    rng: np.random.Generator,
) -> tuple[list[tuple[NDArray[np.int32], Ints, Ints]], Ints, Ints]:
    """Route all legs: per graph the stops, the lengths and which legs they are; then lengths and trips of all legs."""
    # Each destination tries few of the graphs, so that few trees have to grow; other destinations try others.
    number = (end * 31 + trip % settings.trees) % settings.graphs
    number = np.where(_PERTURBED[kind], number, 0)
    order = np.lexsort((end, number, kind))
    cuts = np.flatnonzero(np.diff(kind[order] * settings.graphs + number[order])) + 1
    tasks = []
    for legs in np.split(order, cuts):
        how = KINDS[kind[legs[0]]] if len(legs) else KINDS[0]
        cost = costs.draw(how.way, learnt, rng, perturbed=how.perturbed)
        tasks.append((costs.graph(how.way), cost, start[legs], end[legs], legs))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = list(pool.map(lambda task: (*routes(*task[:4]), task[4]), tasks))
    lengths = np.zeros(len(trip), np.int64)
    for _, found, legs in parts:
        lengths[legs] = found
    return parts, lengths, trip


def _joined(
    parts: list[tuple[NDArray[np.int32], Ints, Ints]], lengths: Ints, trip: Ints, second: int
) -> tuple[NDArray[np.int32], Ints]:
    """Trips from their legs; the last `second` legs continue their trips. A trip with a missing leg is empty."""
    trips = len(trip) - second
    first, whole = lengths[:trips], lengths[:trips].copy()
    on = trip[trips:]
    whole[on] = np.where((first[on] > 0) & (lengths[trips:] > 0), first[on] + lengths[trips:] - 1, 0)
    offsets = np.concatenate([[0], np.cumsum(whole)]).astype(np.int64)
    place = offsets[trip].copy()
    place[trips:] += first[on] - 1
    place[whole[trip] == 0] = -1
    location = np.empty(offsets[-1], np.int32)
    for stops, found, legs in parts:
        _put(stops, found, place[legs], location)
    return location, offsets


@njit(cache=True, nogil=True)
def _put(stops, lengths, place, location):  # type: ignore[no-untyped-def]
    start = 0
    for i in range(len(lengths)):
        if place[i] >= 0:
            for step in range(lengths[i]):
                location[place[i] + step] = stops[start + step]
        start += lengths[i]


def only(location: NDArray[np.int32], offsets: Ints, chosen: Ints) -> tuple[NDArray[np.int32], Ints]:
    """Some of the walks that lie end to end."""
    lengths = np.diff(offsets)[chosen]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return location[np.arange(ends[-1]) + np.repeat(offsets[chosen] - ends[:-1], lengths)], ends
