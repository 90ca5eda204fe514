"""Which cells trips fall into, question by question: a stop, a pair of stops, an edge, a class of durations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wayveil.answers.filters import NO_FILTERS, Filters
from wayveil.answers.questions import CLASS
from wayveil.answers.seats import Service
from wayveil.answers.trip_periods import periods
from wayveil.answers.visit_counts import network_of
from wayveil.arrays import Floats, Ints
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.world.districts import Districts
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.paths import along_paths


@dataclass(frozen=True, eq=False)
class TripQuestion:
    """A question about trips in the numbers of a release: districts, a limit in minutes or kilometres, filters, the
    service that ran; and whether visits are taps."""

    question: str
    districts: Districts | None = None
    over: float | None = None
    taps: bool = False
    filters: Filters = NO_FILTERS
    service: Service | None = None


@dataclass(frozen=True, eq=False)
class TripCells:
    """Cells that trips fall into: the cell of each time that one does, and the visit at which it happens."""

    cell: Ints
    visit: Ints


def _boardings(trips: Trips, asked: TripQuestion) -> TripCells:
    if asked.taps:
        return TripCells(trips.location.astype(np.int64), np.arange(trips.visits))
    first = trips.offsets[:-1][trips.lengths > 0]
    return TripCells(trips.location[first].astype(np.int64), first)


def _alightings(trips: Trips, asked: TripQuestion) -> TripCells:
    _, last = _ends(trips, asked)
    return TripCells(trips.location[last].astype(np.int64), last)


def _through(trips: Trips, asked: TripQuestion) -> TripCells:
    """Every stop of a trip once, at its first visit there."""
    _, visit = np.unique(trips.trip_of_visit() * trips.world.size + trips.location, return_index=True)
    return TripCells(trips.location[visit].astype(np.int64), visit)


def _journeys(trips: Trips, asked: TripQuestion) -> TripCells:
    first, last = _ends(trips, asked)
    return TripCells(trips.location[first].astype(np.int64) * trips.world.size + trips.location[last], first)


def _districts(trips: Trips, asked: TripQuestion) -> TripCells:
    assert asked.districts is not None
    first, last = _ends(trips, asked)
    of_place = asked.districts.of_place
    pair = of_place[trips.location[first]] * len(asked.districts.names) + of_place[trips.location[last]]
    return TripCells(pair, first)


def _transfers(trips: Trips, asked: TripQuestion) -> TripCells:
    """A trip changes lines at a stop if no line runs on both stretches around it; once per stop and trip."""
    network = ways_of(trips)
    visit, edge = _edges(trips, network)
    follows = np.flatnonzero(visit[1:] == visit[:-1] + 1)
    edges = np.int64(network.edges)
    pair, back = np.unique(edge[follows] * edges + edge[follows + 1], return_inverse=True)
    changes = ~_share_line(network, pair // edges, pair % edges)
    at = visit[follows][changes[back]]
    trip = np.searchsorted(trips.offsets, at, side="right")
    _, once = np.unique(trip * trips.world.size + trips.location[at], return_index=True)
    return TripCells(trips.location[at[once]].astype(np.int64), at[once])


def _line_load(trips: Trips, asked: TripQuestion) -> TripCells:
    visit, edge = _edges(trips, ways_of(trips))
    return TripCells(edge, visit)


def _sizes(trips: Trips, asked: TripQuestion) -> TripCells:
    """Durations or distances: the class of each trip, or whether it is above the limit."""
    network = ways_of(trips, lines=asked.question == "durations")
    full = trips.take(trips.lengths > 0)
    weight, unit = (network.seconds, 60.0) if asked.question == "durations" else (network.metres, 1000.0)
    passed = along_paths(network, full.location, full.offsets, weight)[full.offsets[1:] - 1]
    size: Floats = np.asarray(passed, np.float64) / unit
    cell = size > asked.over if asked.over is not None else size // CLASS[asked.question]
    return TripCells(cell.astype(np.int64), trips.offsets[:-1][trips.lengths > 0])


def _hours(trips: Trips, asked: TripQuestion) -> TripCells:
    """The hour of the clock in which each trip begins."""
    first = trips.offsets[:-1][trips.lengths > 0]
    return TripCells(np.asarray(periods(trips, first, "hour"), np.int64), first)


def _lengths(trips: Trips, asked: TripQuestion) -> TripCells:
    """The number of stops of each trip that has any."""
    full = trips.lengths > 0
    return TripCells(trips.lengths[full].astype(np.int64), trips.offsets[:-1][full])


CELLS: Final[dict[str, Callable[[Trips, TripQuestion], TripCells]]] = {
    "boardings": _boardings,
    "alightings": _alightings,
    "through": _through,
    "journeys": _journeys,
    "districts": _districts,
    "transfers": _transfers,
    "line-load": _line_load,
    "hours": _hours,
    "lengths": _lengths,
    "durations": _sizes,
    "distances": _sizes,
}
# A trip falls into one cell of these questions; of the others, into as many as it has visits.
ONCE: Final = (
    "boardings",
    "alightings",
    "journeys",
    "districts",
    "hours",
    "lengths",
    "durations",
    "distances",
)


def _ends(trips: Trips, asked: TripQuestion) -> tuple[Ints, Ints]:
    """The first and the last visit of each trip that has any."""
    if asked.taps:
        raise ParameterError("these visits are boardings: where people got off is not in the data")
    full = trips.lengths > 0
    return trips.offsets[:-1][full], trips.offsets[1:][full] - 1


def ways_of(trips: Trips, *, lines: bool = True) -> Network:
    """The network of trips that move along its ways, with `lines` on them if asked."""
    if not isinstance(trips.world, Network):
        raise ParameterError(
            "this release says places without the ways between them, so that lines, changes and lengths of trips are "
            "not known from it; legs and pairs that are released with --ways routed have them"
        )
    if isinstance(trips.world, Grid) and lines:
        raise ParameterError(
            "cells of a grid have neither lines nor a timetable: how long trips took is not in this release, only how "
            "far they went (distances)"
        )
    return network_of(trips.world) if lines else trips.world


def _edges(trips: Trips, network: Network) -> tuple[Ints, Ints]:
    """The visit to which each move over an edge leads, and the edge."""
    visit = trips.later_visits()
    edge = network.edge_index(trips.location[visit - 1], trips.location[visit])
    return visit[edge >= 0], edge[edge >= 0]


def _share_line(network: Network, one: Ints, other: Ints) -> NDArray[np.bool_]:
    """Tell whether some route runs on both edges of each pair."""
    routes = max(len(network.route_ids), 1)
    of_edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    known = np.unique(of_edge * routes + network.route)
    length = np.diff(network.route_indptr)[one]
    pair = np.repeat(np.arange(len(one)), length)
    at = (
        np.arange(length.sum())
        - np.repeat(np.cumsum(length) - length, length)
        + network.route_indptr[one][pair]
    )
    both = np.isin(other[pair] * routes + network.route[at], known)
    return np.bincount(pair[both], minlength=len(one)) > 0
