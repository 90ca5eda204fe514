"""The map of an invented city: places, metro lines through its centre, and bus lines along its streets."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.random import Generator

from wayveil.arrays import Floats, Ints

_PLACES_OF_REFERENCE = 360
_RADIUS_OF_REFERENCE = 6_500.0  # metres, of a city with that many places
_METRO_SPACING = 900.0
_SAME_STATION = 450.0  # metro lines that come this near to each other share a station
_LEAST_METRO_STATIONS = 4
# So many places are compared one by one before a tree is made of them.
_LOOKED_THROUGH = 2_000

Points = Floats


@dataclass(frozen=True)
class CityLine:
    """The places that a line serves, in order; vehicles run it in both directions."""

    places: list[int]
    metro: bool


@dataclass(frozen=True)
class CityLayout:
    """Places in metres east and north of the centre; the first `stations` of them are metro stations."""

    points: Points
    stations: int
    lines: list[CityLine]


def lay_out(rng: Generator, *, places: int, metro_lines: int, bus_lines: int) -> CityLayout:
    """A city of about so many places. Every line meets another one, so that all places are connected."""
    radius = _RADIUS_OF_REFERENCE * float(np.sqrt(places / _PLACES_OF_REFERENCE))
    points, metro = _metro(rng, radius, metro_lines)
    stations = len(points)
    points = _scatter(rng, points, radius, max(places, stations + bus_lines))
    buses = _buses(rng, points, stations, bus_lines)
    used = np.zeros(len(points), bool)
    for line in metro + buses:
        used[line] = True
    number = np.cumsum(used) - 1
    lines = [CityLine([int(number[p]) for p in line], True) for line in metro]
    lines += [CityLine([int(number[p]) for p in line], False) for line in buses]
    return CityLayout(points[used], stations, lines)


def _metro(rng: Generator, radius: float, lines: int) -> tuple[Points, list[list[int]]]:
    """Curved lines across the centre and, from four lines on, one that goes three quarters around it."""
    points = np.empty((0, 2))
    routes: list[list[int]] = []
    across = lines - 1 if lines >= 4 else lines
    for k in range(lines):
        if k < across:
            drawn = _across(rng, radius, np.pi * k / across + rng.uniform(-0.15, 0.15))
        else:
            drawn = _around(0.5 * radius, rng.uniform(0, 2 * np.pi))
        points, route = _join(points, drawn)
        routes.append(route)
    return points, routes


def _across(rng: Generator, radius: float, angle: float) -> Points:
    reach = radius * rng.uniform(0.85, 1.0, 2)
    count = max(_LEAST_METRO_STATIONS, round(reach.sum() / _METRO_SPACING) + 1)
    along = np.linspace(-reach[0], reach[1], count)
    along[1:-1] += rng.normal(0, 80, count - 2)
    bend = rng.uniform(-0.22, 0.22) * radius
    aside = (
        rng.normal(0, 300)
        + bend * (np.sin(1.6 * along / radius) + (along / radius) ** 2)
        + rng.normal(0, 60, count)
    )
    return np.column_stack(
        [along * np.cos(angle) - aside * np.sin(angle), along * np.sin(angle) + aside * np.cos(angle)]
    )


def _around(radius: float, start: float) -> Points:
    arc = 1.5 * np.pi
    count = max(_LEAST_METRO_STATIONS, round(arc * radius / (1.2 * _METRO_SPACING)))
    angle = start + np.linspace(0, arc, count)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def _join(points: Points, drawn: Points) -> tuple[Points, list[int]]:
    """Add a line's stations to those there are, sharing stations that are near; at least one is always shared."""
    if len(points) == 0:
        return drawn, list(range(len(drawn)))
    gap = np.linalg.norm(drawn[:, None] - points[None], axis=2)
    nearest = gap.argmin(axis=1)
    shared = gap.min(axis=1) < _SAME_STATION
    shared[gap.min(axis=1).argmin()] = True
    route: list[int] = []
    added = []
    for i in range(len(drawn)):
        if not shared[i]:
            added.append(drawn[i])
            route.append(len(points) + len(added) - 1)
        elif int(nearest[i]) not in route:
            route.append(int(nearest[i]))
    return np.vstack([points, *added]) if added else points, route


def _scatter(rng: Generator, points: Points, radius: float, count: int) -> Points:
    """Add places, dense in the middle and sparse outside, each as far from the others as a few tries allow."""
    tree, known = None, 0
    while len(points) < count:
        if len(points) - known > _LOOKED_THROUGH:
            tree, known = scipy.spatial.cKDTree(points), len(points)
        distance = radius * 1.05 * rng.random(16) ** 0.6
        angle = rng.uniform(0, 2 * np.pi, 16)
        tries = np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])
        nearest = np.full(16, np.inf) if tree is None else tree.query(tries)[0]
        if len(points) > known:
            recent = np.linalg.norm(tries[:, None] - points[None, known:], axis=2).min(axis=1)
            nearest = np.minimum(nearest, recent)
        room = nearest / (1 + distance / radius)
        points = np.vstack([points, tries[room.argmax()]])
    return points


def _streets(points: Points) -> tuple[Ints, Points]:
    """Pairs of places joined by a street (the Gabriel graph: nothing in between) and its length."""
    triangles = scipy.spatial.Delaunay(points).simplices
    pairs = np.unique(
        np.sort(np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])), axis=0
    )
    start, end = points[pairs[:, 0]], points[pairs[:, 1]]
    middle, length = (start + end) / 2, np.linalg.norm(start - end, axis=1)
    nearest, _ = scipy.spatial.cKDTree(points).query(middle)
    street = nearest >= length / 2 - 1e-6
    return pairs[street], length[street]


def _buses(rng: Generator, points: Points, stations: int, lines: int) -> list[list[int]]:
    """Lines from the edge to a metro station near the centre and on, preferring streets without a bus so far."""
    pairs, length = _streets(points)
    size = len(points)
    centrality = np.linalg.norm(points, axis=1)
    hubs = np.argsort(centrality[:stations])[: max(3, stations // 4)]
    served = np.arange(size) < stations
    routes: list[list[int]] = []
    for _ in range(lines):
        waiting = np.flatnonzero(~served)
        if len(waiting) < 2:
            waiting = np.arange(stations, size)
        start = int(waiting[centrality[waiting].argmax()]) if not served.all() else int(rng.choice(waiting))
        hub = int(rng.choice(hubs))
        far = np.linalg.norm(points[waiting] - points[start], axis=1)
        end = int(waiting[far.argmax()])
        worth = np.where(served[pairs[:, 0]] & served[pairs[:, 1]], 1.0, 0.55)
        route = _way(pairs, length * worth, size, start, hub, set())
        onward = _way(pairs, length * worth, size, hub, end, set(route) - {hub})
        route += onward[1:]
        served[route] = True
        routes.append(route)
    return routes


def _way(pairs: Ints, cost: Points, size: int, start: int, end: int, closed: set[int]) -> list[int]:
    """The cheapest way along streets that avoids closed places; just the start if there is none."""
    shut = np.isin(pairs, list(closed)).any(axis=1)
    kept, price = pairs[~shut], cost[~shut]
    graph = scipy.sparse.csr_array((price, (kept[:, 0], kept[:, 1])), shape=(size, size))
    distance, previous = scipy.sparse.csgraph.dijkstra(
        graph, directed=False, indices=start, return_predecessors=True
    )
    if not np.isfinite(distance[end]):
        return [start]
    way = [end]
    while way[-1] != start:
        way.append(int(previous[way[-1]]))
    return way[::-1]
