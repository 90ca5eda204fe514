"""Small worlds and trips for tests of utility figures."""

import numpy as np
from hypothesis import strategies as st

from wayveil.trips.trips import Trips
from wayveil.world.network import Edges, Network, Places, Platforms, Routes
from wayveil.world.world import World

ABCD = World.of_symbols(list("abcd"))
trip_lists = st.lists(st.lists(st.integers(0, 3), max_size=7), max_size=12)
some_trip_lists = trip_lists.filter(lambda lists: any(lists))


def values(question, trips):
    return {measure.key: measure.value for measure in question.measure(trips)}


def square_city(side: int = 4, *, routes: bool = True, jitter: int | None = None) -> Network:
    """A grid of stops, 1/100 degree apart, with edges both ways; every row of streets is a route of its own.

    With `jitter`, a seed, stops stand a little beside their crossings.
    """
    size = side * side
    stop = np.arange(size)
    rows = []
    for here in stop:
        y, x = divmod(int(here), side)
        for dy, dx in ((-1, 0), (0, -1), (0, 1), (1, 0)):
            if 0 <= y + dy < side and 0 <= x + dx < side:
                rows.append((here, (y + dy) * side + x + dx, y if dy == 0 else side + x))
    source, target, line = np.array(sorted(rows)).T
    count = len(source)
    ids = np.array([f"s{i:04d}" for i in stop])
    names = np.array([f"line{i:02d}" for i in range(2 * side)])
    lines = (
        Routes(names, names, np.full(2 * side, 3, np.int32)) if routes else Routes(ids[:0], ids[:0], stop[:0])
    )
    edges = Edges(
        np.concatenate([[0], np.cumsum(np.bincount(source, minlength=size))]),
        target.astype(np.int32),
        np.full(count, 60, np.int32),
        np.full(count, 1000.0),
        np.zeros(count, bool),
        np.ones(count, np.int64),
        np.arange(count + 1) if routes else np.zeros(count + 1, np.int64),
        line.astype(np.int32) if routes else np.empty(0, np.int32),
    )
    off = (
        np.zeros((2, size)) if jitter is None else np.random.default_rng(jitter).uniform(0, 0.004, (2, size))
    )
    places = Places(ids, ids, 50 + 0.01 * (stop // side) + off[0], 10 + 0.01 * (stop % side) + off[1])
    return Network(places, edges, lines, Platforms(ids, stop.astype(np.int32)), name="Square")


def walks(city: Network, count: int, seed: int, *, timed: bool = True, longest: int = 9) -> Trips:
    """Random legal walks, one move a minute, that begin at any time of the day."""
    rng = np.random.default_rng(seed)
    lists, times = [], []
    for _ in range(count):
        here = int(min(rng.geometric(0.2), city.size) - 1)
        trip = [here]
        for _ in range(int(rng.integers(1, longest))):
            here = int(rng.choice(city.indices[city.indptr[here] : city.indptr[here + 1]]))
            trip.append(here)
        lists.append(trip)
        times.append(int(rng.integers(5, 9)) * 3600 + 60 * np.arange(len(trip)))
    trips = Trips.of_lists(lists, city)
    return Trips(trips.location, trips.offsets, city, np.concatenate(times)) if timed else trips
