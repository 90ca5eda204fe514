"""A ring of stops that vehicles pass in one direction, and a line that they pass in both, built from arrays."""

import numpy as np

from wayveil.trips.trips import Trips
from wayveil.world.network import Edges, Network, Places, Platforms, Routes
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World


def ring_of_stops(size: int, *, seconds: int = 600, routes: int = 1, skip: int = 1) -> Network:
    """Stop i leads to the next `skip` stops, `seconds` per step; edges are dealt out to the routes arc by arc."""
    steps = sorted((a, (a + by) % size) for a in range(size) for by in range(1, skip + 1) if by < size)
    source, target = np.array(steps).reshape(-1, 2).T
    count = len(steps)
    ids = np.array([f"s{i:03d}" for i in range(size)])
    angle = 2 * np.pi * np.arange(size) / size
    return Network(
        Places(ids, np.char.upper(ids), 45 + 0.05 * np.sin(angle), -73 + 0.05 * np.cos(angle)),
        Edges(
            indptr=np.searchsorted(source, np.arange(size + 1)).astype(np.int64),
            indices=target.astype(np.int32),
            seconds=(seconds * ((target - source) % size)).astype(np.int32),
            metres=np.full(count, 1000.0),
            walk=np.zeros(count, bool),
            runs=np.ones(count, np.int64),
            route_indptr=np.arange(count + 1, dtype=np.int64),
            route=(source * routes // size).astype(np.int32),
        ),
        Routes(
            np.array([f"r{i}" for i in range(routes)]),
            np.array([f"line {i}" for i in range(routes)]),
            np.full(routes, 3, np.int32),
        ),
        Platforms(ids, np.arange(size, dtype=np.int32)),
        name="ring",
    )


def two_way_line(size: int) -> World:
    """Stops in a row, each of which leads to those before and after it."""
    rows = [[stop for stop in (at - 1, at + 1) if 0 <= stop < size] for at in range(size)]
    first = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    names = [f"s{i:03d}" for i in range(size)]
    return World(names, successors=SparseSuccessors(first, np.concatenate(rows).astype(np.int32)))


def straight_rides(line: World, count: int, longest: int, seed: int) -> Trips:
    """Trips along a line, up or down, of 2 to `longest` stops; nobody turns back."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, line.size, count)
    way = np.where(rng.random(count) < 0.5, 1, -1)
    rides = [
        [stop for stop in range(at, at + sign * stops, sign) if 0 <= stop < line.size]
        for at, sign, stops in zip(
            start.tolist(), way.tolist(), rng.integers(2, longest + 1, count).tolist(), strict=True
        )
    ]
    return Trips.of_lists(rides, line)
