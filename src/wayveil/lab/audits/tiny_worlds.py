"""Tiny worlds, the canaries that sing in them, and small datasets with their neighbours.

Small datasets and their neighbours, made from choices that somebody else takes.

The choices come from a function: audits take them from a seeded stream, property-based tests from a library that looks
for the choices that break something.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from wayveil.arrays import Mask
from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits
from wayveil.privacy.units import DAY, Points, Rider, RiderDay, Trip, Unit, Window
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout
from wayveil.world.network import Edges, Network, Places, Platforms, Routes
from wayveil.world.world import World

Choose = Callable[[int, int], int]  # a whole number from low to high, both included

# Most trips are short and most riders make few; every now and then one is far beyond any bound.
SHORT, LONG = 6, 40
FEW, MANY = 5, 20


def chooser(bits: Bits) -> Choose:
    """Choices from a stream of words (not quite even, which does not matter for test data)."""
    return lambda low, high: low + int(bits.words(1)[0] % np.uint64(high - low + 1))


def some_trips(choose: Choose, world: World, *, most: int = 8, longest: int = 6) -> Trips:
    """A few trips with times and riders; some riders have many trips, some trips have no rider or no visit."""
    trips = [_some_trip(choose, world, longest) for _ in range(choose(0, most))]
    rider = np.array([choose(-1, 3) for _ in trips], np.int64)
    time = [_some_times(choose, len(trip), day=choose(0, 1)) for trip in trips]
    return Trips.of_lists(trips, world, time=_flat(time), rider=rider)


def some_neighbour(choose: Choose, trips: Trips, unit: Unit) -> Trips:
    """Add one unit, or let a unit do more, as the unit's relation of neighbours allows.

    What is new stands at the end (see `grey_box.examine`).
    """
    if isinstance(unit, Window):
        return _with_window(choose, trips, unit)
    if isinstance(unit, Points):
        return _with_points(choose, trips, unit.length)
    world = trips.world
    if isinstance(unit, Rider):
        rider = choose(-1, 0)
        count = 1 if rider < 0 else choose(1, FEW if choose(0, 3) else MANY)
        new = [_some_trip(choose, world, _longest(choose)) for _ in range(count)]
        riders = [-1 if rider < 0 else _new_rider(trips)] * len(new)
        day = 2
        if isinstance(unit, RiderDay) and rider == 0 and len(trips) and choose(0, 1):
            riders = [int(_riders(trips)[-1])] * len(new) if _riders(trips)[-1] >= 0 else riders
            day = 3  # a day on which nobody travelled yet
        return with_trips(trips, new, riders, day=day, choose=choose)
    if isinstance(unit, Trip):
        new_trip = _some_trip(choose, world, _longest(choose))
        return with_trips(trips, [new_trip], [choose(-1, 3)], day=0, choose=choose)
    raise ParameterError(f"no neighbours can be made for the unit `{unit.name}`")


def with_trips(
    trips: Trips, new: list[list[int]], riders: list[int], *, day: int = 0, choose: Choose | None = None
) -> Trips:
    """The trips, and new ones at the end, five minutes between visits."""
    step = choose or (lambda low, high: 300)
    times = [_some_times(step, len(trip), day) for trip in new]
    added = Trips.of_lists(new, trips.world, time=_flat(times), rider=np.array(riders, np.int64))
    times_known = trips.time is not None and added.time is not None
    return replace(
        trips,
        location=np.concatenate([trips.location, added.location]),
        offsets=np.concatenate([trips.offsets, trips.offsets[-1] + added.offsets[1:]]),
        time=np.concatenate([trips.time, added.time]) if times_known else None,
        rider=np.concatenate([_riders(trips), _riders(added)]) if trips.rider is not None else None,
    )


def _with_points(choose: Choose, trips: Trips, most: int) -> Trips:
    """Up to `most` consecutive visits more in the last trip."""
    if len(trips) == 0:
        return trips
    trip = len(trips) - 1
    start, end = int(trips.offsets[trip]), int(trips.offsets[trip + 1])
    at, count = choose(start, end), choose(1, most)
    offsets = trips.offsets.copy()
    offsets[trip + 1 :] += count
    new = [choose(0, trips.world.size - 1) for _ in range(count)]
    time = None
    if trips.time is not None:
        now = trips.time[at - 1] if at > start else trips.time[at] if at < end else 8 * 3600
        time = np.insert(trips.time, at, [now] * count)
    return replace(trips, location=np.insert(trips.location, at, new), offsets=offsets, time=time)


def _with_window(choose: Choose, trips: Trips, unit: Window) -> Trips:
    """More visits of the last trip's rider inside one window: at the end of that trip, and in new trips."""
    if len(trips) == 0 or trips.time is None or trips.lengths[-1] == 0:
        return trips
    begin = int(trips.time[-1])
    rider = int(_riders(trips)[-1])
    longer = choose(0, 3)
    moments = sorted(begin + choose(0, unit.seconds - 1) for _ in range(longer))
    extended = replace(
        trips,
        location=np.append(trips.location, [choose(0, trips.world.size - 1) for _ in moments]),
        offsets=np.append(trips.offsets[:-1], trips.offsets[-1] + longer),
        time=np.append(trips.time, np.array(moments, np.int64)),
    )
    if rider < 0:
        return extended
    new = [_some_trip(choose, trips.world, 3) for _ in range(choose(0, 2))]
    times = [sorted(begin + choose(0, unit.seconds - 1) for _ in trip) for trip in new]
    more = with_trips(extended, new, [rider] * len(new))
    if extended.time is None:
        return more
    return replace(more, time=np.concatenate([extended.time, _flat(times)]))


def _longest(choose: Choose) -> int:
    return SHORT if choose(0, 3) else LONG


def _some_trip(choose: Choose, world: World, longest: int) -> list[int]:
    """Most steps follow the network, so that trees grow deeper than one level; some are illegal."""
    trip: list[int] = []
    for _ in range(choose(0, longest)):
        degree = int(world.successors.degree(np.array([trip[-1]]))[0]) if trip else 0
        if degree and choose(0, 3):
            trip.append(int(world.successors.nth(np.array([trip[-1]]), np.array([choose(0, degree - 1)]))[0]))
        else:
            trip.append(choose(0, world.size - 1))
    return trip


def _some_times(choose: Choose, visits: int, day: int) -> list[int]:
    now, times = day * DAY + 8 * 3600, []
    for _ in range(visits):
        now += choose(0, 1800)
        times.append(now)
    return times


def _flat(times: list[list[int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([moment for trip in times for moment in trip], np.int64)


def _riders(trips: Trips) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.full(len(trips), -1, np.int64) if trips.rider is None else trips.rider


def _new_rider(trips: Trips) -> int:
    return int(_riders(trips).max(initial=-1)) + 1


QUARTER = 6  # stops


@dataclass(frozen=True, eq=False)
class CanaryPair:
    """Two neighbouring datasets; `within` has the canary, at its end: one unit that stands out as far as it can."""

    name: str
    without: Trips
    within: Trips
    unit: Unit


def plain_world(size: int = 6) -> World:
    """A list of symbols, each of which may follow each."""
    return World([f"s{place:04d}" for place in range(size)])


def small_grid() -> Grid:
    """Two rows of three cells: as many places as the other tiny worlds have."""
    return Grid(Layout.of_counts("0,0,0.02,0.03", 2, 3))


def small_network(quarters: int = 1) -> Network:
    """Quarters that nothing connects: rings of six stops with short cuts to the next but one, ten minutes per step."""
    inside = np.array(sorted((stop, (stop + by) % QUARTER) for stop in range(QUARTER) for by in (1, 2)))
    steps = (QUARTER * np.arange(quarters)[:, None, None] + inside).reshape(-1, 2)
    size, edges = QUARTER * quarters, len(steps)
    ids = np.array([f"s{place:06d}" for place in range(size)])
    return Network(
        Places(ids, ids, 48 + np.arange(size) / 1e6, 11 + np.cos(np.arange(size)) / 100),
        Edges(
            indptr=np.searchsorted(steps[:, 0], np.arange(size + 1)).astype(np.int64),
            indices=steps[:, 1].astype(np.int32),
            seconds=np.full(edges, 600, np.int32),
            metres=np.full(edges, 1000.0),
            walk=np.zeros(edges, bool),
            runs=np.ones(edges, np.int64),
            route_indptr=np.arange(edges + 1, dtype=np.int64),
            route=np.zeros(edges, np.int32),
        ),
        Routes(np.array(["r1"]), np.array(["ring"]), np.array([3], np.int32)),
        Platforms(ids, np.arange(size, dtype=np.int32)),
        name="ring",
    )


@dataclass(frozen=True, eq=False)
class Town:
    """Many equal quarters: `busy` riders on one path in each, and perhaps a canary, who is at the end of the data."""

    world: Network
    quarters: int
    busy: int
    path: tuple[int, ...] = (0, 1, 2)

    def trips(self, is_in: Mask) -> Trips:
        """The town with the canaries of some quarters."""
        quarter = np.concatenate([np.repeat(np.arange(self.quarters), self.busy), np.flatnonzero(is_in)])
        location = QUARTER * quarter[:, None] + np.array(self.path)
        time = np.broadcast_to(8 * 3600 + 600 * np.arange(len(self.path)), location.shape)
        offsets = len(self.path) * np.arange(len(quarter) + 1)
        return Trips(location.ravel(), offsets, self.world, time.ravel(), np.arange(len(quarter)), AS_READ)


def town(quarters: int, busy: int) -> Town:
    """A town on a network of its own."""
    return Town(small_network(quarters), quarters, busy)


def crowd(world: World, busy: int = 12) -> Trips:
    """Everybody else: a busy path of three stops, a shorter one, a quiet one. The last two stops have no visit."""
    lists = [[0, 1, 2]] * busy + [[0, 1]] * (busy // 2) + [[2, 3]] * 2
    empty = Trips.of_lists([], world, time=np.zeros(0, np.int64), rider=np.zeros(0, np.int64))
    return with_trips(empty, lists, list(range(len(lists))))


def canary_pairs(
    world: World, busy: int = 12, more: tuple[tuple[str, tuple[int, ...]], ...] = ()
) -> tuple[CanaryPair, ...]:
    """The pairs that every mechanism meets, and `more` by name and trip, for what one mechanism could get wrong."""
    others = crowd(world, busy)
    first_free = len(others)

    def pair(name: str, trips: list[list[int]], unit: Unit | None = None) -> CanaryPair:
        riders = [first_free] * len(trips)
        return CanaryPair(name, others, with_trips(others, trips, riders), unit or Trip())

    illegal = [0, world.size - 2, 0] if world.restricts_moves else [0, 0, 0]
    return (
        pair("one more on the busy path", [[0, 1, 2]]),
        pair("a stop nobody visits", [[world.size - 1, 0, 1]]),
        pair("a path nobody takes", [[1, 3, 4]]),
        pair("the longest trip", [[0, 1, 2, 3, 4, 5][: world.size]]),
        pair("a trip of forty visits", [[visit % min(QUARTER, world.size) for visit in range(40)]]),
        pair("a move outside the network", [illegal]),
        pair("a rider with twenty trips", [[0, 1, 2]] * 20, Rider(max_trips=2, without_id="own")),
        *(pair(name, [list(trip)]) for name, trip in more),
    )


def pair_named(pairs: tuple[CanaryPair, ...], name: str) -> CanaryPair:
    """A pair by its name."""
    return next(pair for pair in pairs if pair.name == name)


def tiny_grid() -> Grid:
    """Two rows of three cells."""
    return Grid(Layout.of_counts("48,11,48.02,11.03", 2, 3))
