"""Riders of another kind: they board whichever good line comes first, share errors about costs, and have habits.

`simulate_city` sends everybody along the shortest way. Here a rider follows an optimal strategy (Spiess and Florian
1989): at each stop a set of attractive lines, of which the first to arrive is boarded, so that people with the same
plan ride different ways. How costly a line or a quarter seems is perceived with errors that vary slowly over the map
and differ between classes of riders. Some riders are creatures of habit and always take the likeliest way. Demand
follows populations, attractions and distance; in the afternoon people return.

It shares nothing with the mechanisms that route trips themselves, and is there to test them: what they assume about
riders is not true here. Nobody's data is involved, so the generator is an ordinary seeded one.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Int32s, Ints, Mask, Ragged
from wayveil.errors import ParameterError
from wayveil.simulate.city import draw_departures, eligible_stops
from wayveil.trips.history import MADE_UP
from wayveil.trips.trips import Trips
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.paths import along_paths
from wayveil.world.trees import Heap, sift_down, sift_up

NOON = 12 * 3_600
_SERVICE_SECONDS = 18 * 3_600.0


@dataclass(frozen=True)
class Habits:
    """Habits of simulated riders.

    classes   groups of riders who perceive costs alike
    errors    spread of the logarithm of perceived costs over the map, reach: metres over which it changes
    taste     spread of the logarithm of how a class likes each line
    change    seconds that a change feels like, walk: how much longer a minute on foot feels
    habit     share of riders who always take the likeliest way
    decay     metres after which a destination attracts e times less
    """

    classes: int = 8
    errors: float = 0.25
    reach: float = 3_000.0
    taste: float = 0.3
    change: float = 240.0
    walk: float = 1.8
    habit: float = 0.5
    decay: float = 5_000.0


def simulate_habit(
    network: Network, riders: int, *, seed: int, habits: Habits | None = None, times: bool = True
) -> Trips:
    """One trip each of so many riders on one weekday; the same arguments give the same trips."""
    if riders < 1:
        raise ParameterError(f"a simulation needs at least one rider, not {riders}")
    rng = np.random.default_rng(seed)
    how = Habits() if habits is None else habits
    departure = draw_departures(rng, riders)
    origin, destination = _demand(network, departure, how, rng)
    group = rng.integers(0, how.classes, riders)
    habitual = rng.random(riders) < how.habit
    strategy = _StrategyGraph(network)
    location: list[Int32s] = []
    lengths = np.zeros(riders, np.int64)
    done: list[Ints] = []
    for one in range(how.classes):
        cost, frequency = strategy.perceived(how, rng)
        members = np.flatnonzero(group == one)
        members = members[np.argsort(destination[members], kind="stable")]
        stops, length = strategy.ride(
            cost, frequency, origin[members], destination[members], habitual[members], rng
        )
        location.append(stops)
        lengths[members] = length
        done.append(members)
    made = Trips(np.concatenate(location), _offsets(lengths[np.concatenate(done)]), network)
    place = np.empty(riders, np.int64)
    place[np.concatenate(done)] = np.arange(riders)
    trips = made.take(place)
    time = None
    if times:
        passed = along_paths(network, trips.location, trips.offsets, network.seconds).astype(np.int64)
        time = np.repeat(departure, trips.lengths) + passed
    return Trips(trips.location, trips.offsets, network, time, np.arange(riders), MADE_UP)


def _offsets(lengths: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _demand(network: Network, departure: Ints, how: Habits, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Homes by population, work by attraction and distance; in the afternoon the other way round."""
    stops = eligible_stops(network).astype(np.int64)
    x, y = (axis[stops] for axis in project(network.lat, network.lon))
    people = np.exp(_field(x, y, how.reach, rng) + 0.5 * rng.standard_normal(len(stops)))
    attraction = np.exp(1.5 * rng.standard_normal(len(stops)) + _field(x, y, how.reach, rng))
    home = rng.choice(len(stops), len(departure), p=people / people.sum())
    away = np.empty(len(departure), np.int64)
    order = np.argsort(home, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(home[order])) + 1):
        here = home[part[0]]
        weight = attraction * np.exp(-np.hypot(x - x[here], y - y[here]) / how.decay)
        weight[here] = 0
        away[part] = rng.choice(len(stops), len(part), p=weight / weight.sum())
    back = (departure > NOON) & (rng.random(len(departure)) < 0.8)
    return stops[np.where(back, away, home)], stops[np.where(back, home, away)]


def _field(x: Floats, y: Floats, reach: float, rng: np.random.Generator) -> Floats:
    """A random function of place with variance one that changes over `reach` metres."""
    waves = 24
    across = rng.standard_normal((2, waves)) / reach
    phase = rng.uniform(0, 2 * np.pi, waves)
    return np.sqrt(2 / waves) * np.cos(np.outer(x, across[0]) + np.outer(y, across[1]) + phase).sum(axis=1)


class _StrategyGraph:
    """Arcs turned round: boarding costs nothing but the wait, which follows from frequencies; the rest costs time."""

    def __init__(self, network: Network) -> None:
        self.network = network
        size, per_edge = network.size, np.diff(network.route_indptr)
        ride = np.repeat(np.arange(network.edges), per_edge)
        line = network.route.astype(np.int64)
        source, target = network.sources.astype(np.int64), network.indices.astype(np.int64)
        lines = max(len(network.route_ids), 1)
        aboard = np.unique(
            np.concatenate([source[ride], target[ride]]) * lines + np.concatenate([line, line])
        )
        node = size + np.arange(len(aboard))
        on_foot = np.flatnonzero(per_edge == 0)
        tail = np.concatenate(
            [
                size + np.searchsorted(aboard, source[ride] * lines + line),
                aboard // lines,
                node,
                source[on_foot],
            ]
        )
        head = np.concatenate(
            [
                size + np.searchsorted(aboard, target[ride] * lines + line),
                node,
                aboard // lines,
                target[on_foot],
            ]
        )
        nodes = size + len(aboard)
        order = np.argsort(head, kind="stable")
        self.indptr = np.searchsorted(head[order], np.arange(nodes + 1)).astype(np.int64)
        self.tail = tail[order]
        none = np.full(len(aboard), -1)
        self.edge = np.concatenate([ride, none, none, on_foot])[order]
        self.line = np.concatenate([line, aboard % lines, none, np.full(len(on_foot), -1)])[order]
        parts = [len(ride), len(aboard), len(aboard), len(on_foot)]
        self.kind = np.repeat([0, 1, 2, 3], parts)[order]  # ride, board, alight, walk
        self.stop = np.concatenate([np.arange(size), aboard // lines]).astype(np.int32)
        runs = network.runs[ride] / per_edge[ride]
        often = np.bincount(line, runs, lines) / np.maximum(np.bincount(line, minlength=lines), 1)
        self.frequency = np.maximum(often, 1.0) / _SERVICE_SECONDS

    def perceived(self, how: Habits, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Costs in perceived seconds and boarding frequencies (0 = no wait) of all arcs, for one class of riders."""
        network = self.network
        x, y = project(network.lat, network.lon)
        source, target = network.sources, network.indices
        field = how.errors * _field((x[source] + x[target]) / 2, (y[source] + y[target]) / 2, how.reach, rng)
        seconds = network.seconds * np.exp(field) * np.where(network.walk, how.walk, 1.0)
        liking = np.exp(how.taste * rng.standard_normal(len(self.frequency)))
        ride = seconds[np.maximum(self.edge, 0)] * np.where(self.kind == 0, liking[self.line], 1.0)
        cost = np.select([self.kind == 1, self.kind == 2], [0.0, how.change], ride)
        return cost, np.where(self.kind == 1, self.frequency[self.line], 0.0)

    def ride(
        self,
        cost: Floats,
        frequency: Floats,
        origin: Ints,
        destination: Ints,
        habitual: Mask,
        rng: np.random.Generator,
    ) -> tuple[Int32s, Ints]:
        """The stops of trips that are sorted by destination."""
        roots, first = np.unique(destination, return_index=True)
        bounds = np.append(first, len(destination))
        arcs = _Arcs(self.indptr, self.tail, cost, frequency)
        plan = _Strategy.empty(len(self.stop), len(self.tail))
        return _ride(arcs, self.stop, plan, Ragged(origin, bounds), roots, habitual, rng)


class _Arcs(NamedTuple):
    """Arcs turned round, with what each costs and how often its line comes (0: no wait)."""

    indptr: Ints
    tail: Ints
    cost: Floats
    frequency: Floats


class _Strategy(NamedTuple):
    """Way to travel on from every node to one destination.

    label   expected cost; often: how often any attractive line comes
    sure    the next node where nobody waits, else -1
    last    the best attractive boarding; before: the next best, chance and leads: its frequency and where it leads
    """

    label: Floats
    often: Floats
    sure: Ints
    last: Ints
    before: Ints
    chance: Floats
    leads: Ints

    @classmethod
    def empty(cls, nodes: int, arcs: int) -> "_Strategy":
        """Make room for one strategy after the other."""
        ints, floats = (lambda size: np.empty(size, np.int64)), np.empty
        return cls(
            floats(nodes), floats(nodes), ints(nodes), ints(nodes), ints(arcs), floats(arcs), ints(arcs)
        )


@njit(cache=True)
def _plan(arcs: _Arcs, root: int, plan: _Strategy, heap: Heap) -> None:
    """Find the optimal strategy towards a root."""
    indptr, tail, cost, frequency = arcs
    label, often, sure, last, before, chance, leads = plan
    key, node, place = heap
    label[:], often[:], sure[:], last[:], place[:] = np.inf, 0.0, -1, -1, -1
    label[root] = 0.0
    key[0], node[0], place[root] = 0.0, root, 0
    waiting = 1
    while waiting > 0:
        here, at = node[0], key[0]
        place[here] = -2
        waiting -= 1
        if waiting > 0:
            sift_down(heap, waiting)
        for arc in range(indptr[here], indptr[here + 1]):
            other = tail[arc]
            through = at + cost[arc]
            if place[other] == -2 or through >= label[other]:
                continue
            if frequency[arc] > 0:
                expected = 1.0 if often[other] == 0 else often[other] * label[other]
                if often[other] == 0 and label[other] < np.inf:
                    # A way without waiting is known: board only if the wait is worth it.
                    if through + 1 / frequency[arc] >= label[other]:
                        continue
                    sure[other] = -1
                often[other] += frequency[arc]
                label[other] = (expected + frequency[arc] * through) / often[other]
                before[arc], last[other] = last[other], arc
                chance[arc], leads[arc] = frequency[arc], here
            else:
                label[other] = through
                sure[other] = here
                often[other] = 0.0
                last[other] = -1
            if place[other] == -1:
                place[other] = waiting
                waiting += 1
            sift_up(heap, place[other], other, label[other])


@njit(cache=True)
def _board(plan: _Strategy, now: int, habitual: bool, rng: np.random.Generator) -> int:
    """Take the first line that comes, or the usual one, and return where it leads."""
    arc = plan.last[now]
    best = arc
    drawn = rng.random() * plan.often[now]
    while arc >= 0:
        if plan.chance[arc] > plan.chance[best]:
            best = arc
        drawn -= plan.chance[arc]
        if drawn < 0 and not habitual:
            best = arc
            break
        arc = plan.before[arc]
    return plan.leads[best]


@njit(cache=True)
def _ride(arcs, stop, plan, origins, roots, habitual, rng):  # type: ignore[no-untyped-def]
    """Ride from the origins of each root to it: the stops of all trips, and how many each has."""
    size, (origin, bounds) = len(stop), origins
    heap = Heap(np.empty(size), np.empty(size, np.int32), np.empty(size, np.int32))
    location = np.empty(32 * len(origin) + size, np.int32)
    lengths = np.zeros(len(origin), np.int64)
    used = 0
    for k in range(len(roots)):
        _plan(arcs, roots[k], plan, heap)
        for i in range(bounds[k], bounds[k + 1]):
            if used + size > len(location):
                larger = np.empty(2 * len(location) + size, np.int32)
                larger[:used] = location[:used]
                location = larger
            now = origin[i]
            start = used
            location[used] = stop[now]
            used += 1
            while now != roots[k]:
                now = plan.sure[now] if plan.sure[now] >= 0 else _board(plan, now, habitual[i], rng)
                if stop[now] != location[used - 1]:
                    location[used] = stop[now]
                    used += 1
            lengths[i] = used - start
    return location[:used].copy(), lengths
