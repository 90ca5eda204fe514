"""Meaning of a row of trips, and what follows from it before anything is counted.

calls   every stop that a trip passes: on a network, each visit is next to the one before
legs    where people board and alight; several legs are a journey with transfers
pairs   the same with origin and destination in one row
taps    boardings only: where people got off, nobody wrote down
points  positions of a vehicle or a person, as GPS gives them; a trip visits the places that they lie in

Between the ends of a leg nobody wrote the way. Either the public shortest path stands for it (`routed`), or the ends
are released over the places alone (`ends`). Both look at one trip and at public facts: one trip more is one trip more.
"""

from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.progress import step
from wayveil.trips.history import PER_TRIP
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.paths import Paths, along_paths, shortest_paths
from wayveil.world.places import PlaceList
from wayveil.world.world import World

VisitKind = Literal["calls", "legs", "pairs", "taps", "points"]
# What stands between two visits: what the file says, the public shortest path, or nothing.
Ways = Literal["as-read", "routed", "ends"]
# Riders choose by time more than by distance or by stops.
COST: Literal["seconds"] = "seconds"

MEANING: dict[str, str] = {
    "calls": "Every row is a stop that a trip passes.",
    "legs": "Every row is a stop where somebody boards or alights.",
    "pairs": "Every row is a ride from an origin to a destination.",
    "taps": "Every row is a boarding; where people got off is not in the data.",
    "points": "Every row is a position; it is counted as the cell, or the stop nearby, that it lies in.",
}
WAYS: dict[str, str] = {
    "as-read": "",
    "routed": (
        "Ways between boarding and alighting were not observed: each is the fastest path of the public network, and a "
        "trip is cut before a leg without one."
    ),
    "ends": "Ways between these stops were not observed, and the release does not say any.",
}


def require_words(visits: str | None, ways: str | None) -> None:
    """Refuse words that say nothing, and ways for rows that need none."""
    if visits is not None and visits not in get_args(VisitKind):
        raise ParameterError(f"a row is one of {', '.join(get_args(VisitKind))}, not {visits!r}")
    if ways is not None and ways not in get_args(Ways):
        raise ParameterError(f"ways are one of {', '.join(get_args(Ways))}, not {ways!r}")
    if ways is not None and visits is None:
        raise ParameterError("ways are for rows that say ends only: say first that a row is legs or pairs")
    if ways == "routed" and visits not in ("legs", "pairs"):
        raise ParameterError(f"only legs and pairs are routed, not {visits}")


def default_ways(visits: VisitKind, world: World) -> Ways:
    """Legs and pairs are routed where there is a network to route on; taps are places in a row, with no way between."""
    if not isinstance(world, Network) or visits in ("calls", "points"):
        return "as-read"
    return "ends" if visits == "taps" else "routed"


def put_on_ways(trips: Trips, visits: VisitKind, ways: Ways | None = None) -> tuple[Trips, Ways]:
    """The trips as they are counted when a row is `visits`, and what stands for the ways."""
    require_words(visits, ways)
    chosen = default_ways(visits, trips.world) if ways is None else ways
    if chosen == "routed":
        return route_legs(trips), chosen
    if chosen == "ends" and isinstance(trips.world, Network):
        return over_places(trips), chosen
    return trips, chosen


def counted_world(world: World, visits: VisitKind, ways: Ways | None = None) -> World:
    """The world over which such trips are counted."""
    chosen = default_ways(visits, world) if ways is None else ways
    return PlaceList.of_network(world) if chosen == "ends" and isinstance(world, Network) else world


def describe_rows(visits: VisitKind, ways: Ways) -> dict[str, str]:
    """For the datasheet: what a row is, and what stands between two of them."""
    return {"row": visits, "ways": ways, "sentence": f"{MEANING[visits]} {WAYS[ways]}".strip()}


def over_places(trips: Trips) -> Trips:
    """Return the same visits over the list of places, between which every move is possible."""
    if not isinstance(trips.world, Network):
        return trips
    places = PlaceList.of_network(trips.world)
    return replace(trips, world=places)


def route_legs(trips: Trips) -> Trips:
    """Every trip with the stops of the fastest public path between its visits; cut before a leg without any path.

    Times in between are shared out by the network's travel times. A visit more can change a whole trip, and that alone.
    """
    network = trips.world
    if not isinstance(network, Network):
        raise ParameterError("legs are routed on a network; give a GTFS feed, or release their `ends`")
    with step("routing legs"):
        visit = trips.later_visits()
        pairs, leg = np.unique(trips.pair_into(visit), return_inverse=True)
        paths = shortest_paths(network, pairs // network.size, pairs % network.size, COST)
        kept = _until_first(trips, visit[~paths.reachable[leg]])
        trips, leg = trips.keep_visits(kept), leg[kept[visit]]
        later = trips.later_visits()
        way = Stretches.of(trips, later, paths, leg)
        time = None
        if trips.time is not None:
            seconds = along_paths(network, paths.location, paths.offsets, network.seconds)
            passed = np.concatenate([seconds, np.ones(trips.visits)])
            whole = passed[way.start + np.maximum(way.length, 1) - 1]
            before = trips.time.copy()
            before[later] = trips.time[later - 1]
            share = passed[way.stop] / whole[way.visit]
            time = before[way.visit] + np.floor((trips.time - before)[way.visit] * share).astype(np.int64)
        history = trips.history.then(PER_TRIP)
        return replace(trips, location=way.location, offsets=way.offsets, time=time, history=history)


class Stretches(NamedTuple):
    """Trips whose visits may stand for several stops, of which each is the last.

    location, offsets   the stops of the trips
    visit               the visit that each stop belongs to; stop: where it stands in all paths, then all visits
    start, length       of each visit: where its first stop stands, and how many there are
    """

    location: NDArray[np.int32]
    offsets: NDArray[np.int64]
    visit: NDArray[np.int64]
    stop: NDArray[np.int64]
    start: NDArray[np.int64]
    length: NDArray[np.int64]

    @classmethod
    def of(cls, trips: Trips, into: NDArray[np.int64], paths: Paths, leg: NDArray[np.int64]) -> "Stretches":
        """Put a path in the place of each of these visits, without the stop that the visit before is."""
        start = len(paths.location) + np.arange(trips.visits)
        start[into] = paths.offsets[:-1][leg] + 1
        length = np.ones(trips.visits, np.int64)
        length[into] = np.diff(paths.offsets)[leg] - 1
        ends = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        visit = np.repeat(np.arange(trips.visits), length)
        stop = np.arange(ends[-1]) - ends[visit] + start[visit]
        location = np.concatenate([paths.location, trips.location])[stop]
        return cls(location, ends[trips.offsets], visit, stop, start, length)


def _until_first(trips: Trips, broken: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which visits of each trip come before its first broken one."""
    passed = np.zeros(trips.visits + 1, np.int64)
    passed[broken + 1] = 1
    passed = np.cumsum(passed)
    return np.asarray(passed[1:] == np.repeat(passed[trips.offsets[:-1]], trips.lengths))
