"""The worlds on which numbers are measured as they are printed: five kinds of riders, and real journeys.

No constant was set on these worlds. `errands` is a kind of riders that nothing but this bench has ever seen.
"""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.coverage import MOST_TRIPS, hubs, town
from bench.worlds import WORLDS, tube
from wayveil.arrays import Ints
from wayveil.simulate.city import simulate_city
from wayveil.simulate.feed import write_city
from wayveil.simulate.habit import simulate_habit
from wayveil.simulate.riders import simulate_riders
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network
from wayveil.world.paths import along_paths, shortest_paths

SMALL, LARGE = 10_000, 60_000
STOPS = 500
# Trips of a rider in simulations that know no riders, and the most of one in those that do.
TRIPS_OF_RIDER = 5
# Groups of riders who judge ways alike; by how much one judges a stretch, as the deviation of its logarithm.
TASTES, TASTE = 12, 0.35
PEAKS = np.array([7.6, 13.0, 16.9, 21.0])
SPREADS = np.array([0.6, 2.5, 1.3, 1.2])


def errands(network: Network, count: int, seed: int) -> Trips:
    """People of quarters: homes and goals by quarter, near goals preferred, ways by their own taste, up to five trips.

    Whoever makes two trips or more returns from the first one, then goes somewhere else.
    """
    rng, size = np.random.default_rng(seed), network.size
    north, east = network.lat * 111.2, network.lon * 111.2 * np.cos(np.radians(network.lat.mean()))
    middle = rng.choice(size, max(4, size // 25), replace=False)
    quarter = np.hypot(north[:, None] - north[middle], east[:, None] - east[middle]).argmin(axis=1)
    people, goals = (rng.pareto(1.3, len(middle))[quarter] + 0.1 for _ in range(2))
    homes, liked = people * rng.gamma(1.2, size=size), goals * rng.gamma(0.8, size=size)
    trips_of = rng.choice(np.arange(1, TRIPS_OF_RIDER + 1), count, p=[0.4, 0.3, 0.1, 0.15, 0.05])
    riders = int(np.searchsorted(np.cumsum(trips_of), 1.3 * count)) + 1
    home = rng.choice(size, riders, p=homes / homes.sum())
    away = np.hypot(north[home][:, None] - north, east[home][:, None] - east)
    wish = liked * (1 + away) ** -1.5
    wish[np.arange(riders), home] = 0
    sums = wish.cumsum(axis=1)
    goal = np.stack(
        [(sums < sums[:, -1:] * rng.random((riders, 1))).sum(axis=1) for _ in range(TRIPS_OF_RIDER)]
    )
    rider = np.repeat(np.arange(riders), trips_of[:riders])
    turn = np.concatenate([np.arange(many) for many in trips_of[:riders]])
    there = goal[turn // 2 * 2, rider]
    back = turn % 2 == 1
    one, two = np.where(back, there, home[rider]), np.where(back, home[rider], there)
    return _ride(network, one, two, rider, turn, rng).take(np.arange(count))


def _ride(network: Network, one: Ints, two: Ints, rider: Ints, turn: Ints, rng: np.random.Generator) -> Trips:
    """Trips between these stops, each by the taste of its rider, at an hour that fits its turn."""
    places, edges, routes, platforms = network._parts
    parts, order = [], []
    for group in range(TASTES):
        felt = np.rint(network.seconds * np.exp(TASTE * rng.standard_normal(network.edges)))
        felt = np.maximum(felt, 1).astype(np.int32)
        seen = Network(places, replace(edges, seconds=felt), routes, platforms)
        mine = np.flatnonzero(rider % TASTES == group)
        paths = shortest_paths(seen, one[mine], two[mine], "seconds")
        kept = np.flatnonzero(paths.reachable)
        parts.append(Trips(paths.location, paths.offsets, network).take(kept))
        order.append(mine[kept])
    who = np.concatenate(order)
    lengths = np.concatenate([part.lengths for part in parts])
    location = np.concatenate([part.location for part in parts])
    peak = np.where(turn[who] == 0, rng.choice(2, len(who), p=[0.7, 0.3]), np.minimum(turn[who] + 1, 3))
    start = (np.clip(rng.normal(PEAKS[peak], SPREADS[peak]), 0.1, 22.9) * 3_600).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    riding = along_paths(network, location, offsets, network.seconds).astype(np.int64)
    made = Trips(location, offsets, network, np.repeat(start, lengths) + riding, rider[who])
    return made.take(np.argsort(rng.random(len(made))))


def lines(count: int, seed: int, stops: int) -> Trips:
    """Riders with habits who board lines, in a city whose world also offers walks of 200 metres."""
    with tempfile.TemporaryDirectory() as folder:
        feed = write_city(Path(folder) / "town.zip", seed, stops=stops, lines=2 + stops // 24)
        without, walks = read_gtfs(feed), read_gtfs(feed, walk_radius_metres=200)
    trips = simulate_habit(without, count, seed=seed)
    return Trips(walks.index_of(without.ids)[trips.location], trips.offsets, walks, trips.time)


def sample(trips: Trips) -> Trips:
    """Every n-th trip, so that a release takes seconds."""
    step = -(-len(trips) // MOST_TRIPS)
    return trips.take(np.arange(min(1, step - 1), len(trips), step))


KINDS: dict[str, Callable[[int, int, int], Trips]] = {
    "study": lambda count, seed, stops: simulate_city(town(stops, seed), count, seed=seed).trips,
    "default": lambda count, seed, stops: simulate_riders(town(stops, seed), count, seed=seed).trips,
    "lines": lambda count, seed, stops: lines(count, seed, stops),
    "habit": lambda count, seed, stops: simulate_habit(town(stops, seed), count, seed=seed),
    "errands": lambda count, seed, stops: errands(town(stops, seed), count, seed),
}


def rush(count: int, seed: int, stops: int) -> Trips:
    """Riders with habits of whom most set out around a few moments of the day, and not evenly within its hours."""
    trips, rng = simulate_habit(town(stops, seed), count, seed=seed), np.random.default_rng(seed)
    moments, pull = rng.uniform(5, 22, 5), rng.dirichlet(np.full(5, 2.0))
    which, spread = rng.choice(5, len(trips), p=pull), rng.uniform(0.2, 1.2, 5)
    start = (np.clip(rng.normal(moments[which], spread[which]), 0.1, 22.9) * 3_600).astype(np.int64)
    assert trips.time is not None
    riding = trips.time - np.repeat(trips.time[trips.offsets[:-1]], trips.lengths)
    return Trips(trips.location, trips.offsets, trips.world, np.repeat(start, trips.lengths) + riding)


# Never `errands`; other seeds, and demand that public knowledge has no idea of.
SETTING = {name: make for name, make in KINDS.items() if name != "errands"}
SETTING["hubs"] = lambda count, seed, stops: hubs(stops, seed, count)
SETTING["rush"] = lambda count, seed, stops: rush(count, seed, stops)
STOPS_OF = {"lines": 480, "hubs": 450}
REAL: dict[str, Callable[[], Trips]] = {
    "tube": lambda: tube(2 * MOST_TRIPS),
    "oyster": lambda: sample(WORLDS["oyster"]()),
    "buenos-aires": lambda: sample(WORLDS["buenos-aires"]()),
}


def judged_world(name: str) -> Trips:
    """Raw trips of a world: `tube`, `oyster`, `buenos-aires`, or a kind of riders with a size: `habit-10k`."""
    if name in REAL:
        return REAL[name]()
    kind, size = name.split("-")
    count = {"10k": SMALL, "60k": LARGE}[size]
    return KINDS[kind](count, 900 + 2 * list(KINDS).index(kind) + (count == LARGE), STOPS)


def setting_world(name: str) -> Trips:
    """Raw trips of a city that constants are set on, with its seed: `hubs-60k-304`. Nothing is judged on them."""
    kind, size, seed = name.split("-")
    return SETTING[kind]({"10k": SMALL, "60k": LARGE}[size], int(seed), STOPS_OF.get(kind, STOPS))
