"""Tiny worlds and the canaries that sing in them: pairs of datasets, each chosen to show one kind of mistake."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayveil.lab.audits.neighbours import with_trips
from wayveil.privacy.units import Rider, Trip, Unit
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout
from wayveil.world.network import Edges, Network, Places, Platforms, Routes
from wayveil.world.world import World

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

    def trips(self, is_in: NDArray[np.bool_]) -> Trips:
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
    world: World, busy: int = 12, max_trips: int = 2, more: tuple[tuple[str, tuple[int, ...]], ...] = ()
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
        pair("a rider with twenty trips", [[0, 1, 2]] * 20, Rider(max_trips=max_trips, without_id="own")),
        *(pair(name, [list(trip)]) for name, trip in more),
    )


def pair_named(pairs: tuple[CanaryPair, ...], name: str) -> CanaryPair:
    """A pair by its name."""
    return next(pair for pair in pairs if pair.name == name)


def tiny_grid() -> Grid:
    """Two rows of three cells."""
    return Grid(Layout.of_counts("48,11,48.02,11.03", 2, 3))
