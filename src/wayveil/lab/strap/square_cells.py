"""Square cells, the junctions among them, and trips cut into segments at junctions."""

from dataclasses import dataclass

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Ints, Mask
from wayveil.attacks.metric_paths import coordinates, distinct_rows
from wayveil.attacks.targets import people_of
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.world import World

FEWEST_RIDERS, FEWEST_NEIGHBOURS = 2, 3
# Worlds with more places than this are taken for fixes of a receiver, which snap to a fifth of a cell.
MOST_STOPS = 20_000
FINER = 5


@dataclass(frozen=True, eq=False)
class SquareCells:
    """Square cells over the box around a world.

    east, north  metres of each location (snapped to a fifth of a cell where the world is one of fixes)
    place        a number for each location, equal for locations that snapped to the same point
    of           the cell of each location: row times `wide` plus column
    """

    east: Floats
    north: Floats
    place: Ints
    of: Ints
    wide: int
    high: int
    metres: float

    @classmethod
    def over(cls, world: World, metres: float) -> "SquareCells":
        """Cells of so many metres."""
        if not metres > 0:
            raise ParameterError(f"cells need a size above 0 metres, not {metres:g}")
        east, north = coordinates(world)
        east, north = east - east.min(), north - north.min()
        place = np.arange(world.size)
        if world.size > MOST_STOPS:
            fine = metres / FINER
            east, north = (fine * (np.floor(axis / fine) + 0.5) for axis in (east, north))
            place = np.unique(np.column_stack([east, north]), axis=0, return_inverse=True)[1].astype(np.int64)
        column, row = (np.floor(axis / metres).astype(np.int64) for axis in (east, north))
        wide, high = int(column.max()) + 1, int(row.max()) + 1
        return cls(east, north, place.ravel(), row * wide + column, wide, high, metres)

    @property
    def diameter(self) -> float:
        """The diagonal of the box: how far apart two places of the world can be."""
        return float(np.hypot(np.ptp(self.east), np.ptp(self.north)))


@dataclass(frozen=True, eq=False)
class Junctions:
    """The cells where trips meet, ascending; `state` is the number of a cell's junction, -1 elsewhere.

    nearest  the junction nearest to each cell (by the middles of the cells, the first of several)
    """

    cell: Ints
    state: Ints
    nearest: Ints

    def __len__(self) -> int:
        return len(self.cell)


def find_junctions(raw: Trips, cells: SquareCells) -> Junctions:
    """Cells with at least two riders and three cells that riders come from or go to, and all starts and ends."""
    size = cells.wide * cells.high
    raw = raw.take(raw.lengths > 0)
    at = cells.of[raw.location]
    trip = raw.trip_of_visit()
    rider = people_of(raw)[trip]
    people = rider.max(initial=0) + 1
    riders = np.bincount(np.unique(at * people + rider) // people, minlength=size)
    step = np.flatnonzero((trip[1:] == trip[:-1]) & (at[1:] != at[:-1]))
    a, b = at[step], at[step + 1]
    pairs = np.unique(np.concatenate([a * size + b, b * size + a]))
    neighbours = np.bincount(pairs // size, minlength=size)
    here = (riders >= FEWEST_RIDERS) & (neighbours >= FEWEST_NEIGHBOURS)
    here[at[raw.offsets[:-1]]] = True
    here[at[raw.offsets[1:] - 1]] = True
    return _of_cells(np.flatnonzero(here), cells)


def _of_cells(cell: Ints, cells: SquareCells) -> Junctions:
    size = cells.wide * cells.high
    state = np.full(size, -1, np.int64)
    state[cell] = np.arange(len(cell))
    nearest = np.full(size, -1, np.int64)
    used = np.unique(cells.of)
    for at in used:  # one pass per cell that has a place in it
        gap = (cell % cells.wide - at % cells.wide) ** 2 + (cell // cells.wide - at // cells.wide) ** 2
        nearest[at] = gap.argmin()
    return Junctions(cell, state, nearest)


@dataclass(frozen=True, eq=False)
class Segments:
    """Trips cut at junctions: segment i is `location[start[i]:end[i]]` (both ends included in it) of trip `trip[i]`.

    source, target  junctions (the nearest one where an end lies outside all); outside: whether the target does
    cut             position of the visit that begins it
    """

    trips: Trips
    start: Ints
    end: Ints
    trip: Ints
    source: Ints
    target: Ints
    outside: Mask

    def __len__(self) -> int:
        return len(self.start)


def cut_at_junctions(trips: Trips, cells: SquareCells, junctions: Junctions) -> Segments:
    """A cut at the first visit of every stay in a junction, and at the first and last visit of the trip.

    What follows the last cut belongs to the last segment. A trip that stays in one cell is one segment.
    """
    trips = trips.take(trips.lengths > 0)
    at = cells.of[trips.location]
    start, end, trip = _cuts(trips.offsets, at, junctions.state)
    last = at[end - 1]
    source, target = junctions.nearest[at[start]], junctions.nearest[last]
    return Segments(trips, start, end, trip, source, target, junctions.state[last] < 0)


def moving_trips(trips: Trips, cells: SquareCells) -> Trips:
    """The trips that visit more than one place: only they have a way from somewhere to somewhere else."""
    trips = trips.take(trips.lengths > 0)
    place = cells.place[trips.location]
    elsewhere = place != np.repeat(place[trips.offsets[:-1]], trips.lengths)
    return trips.take(np.bincount(trips.trip_of_visit()[elsewhere], minlength=len(trips)) > 0)


@njit(cache=True)
def _cuts(offsets: Ints, at: Ints, state: Ints) -> tuple[Ints, Ints, Ints]:
    most = len(at) + len(offsets)
    start, end, trip = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    count = 0
    for t in range(len(offsets) - 1):
        low, high = offsets[t], offsets[t + 1]
        begin = low
        for visit in range(low + 1, high):
            if state[at[visit]] >= 0 and at[visit] != at[visit - 1]:
                start[count], end[count], trip[count] = begin, visit + 1, t
                count += 1
                begin = visit
        stays = True
        for visit in range(begin + 1, high):
            stays = stays and at[visit] == at[begin]
        if begin > low and stays:
            # The trip ends in the junction where it was cut last: the rest belongs to the segment before.
            end[count - 1] = high
        else:
            start[count], end[count], trip[count] = begin, high, t
            count += 1
    return start[:count].copy(), end[:count].copy(), trip[:count].copy()


@dataclass(frozen=True, eq=False)
class DistinctSegments:
    """Each different segment once, in an order that does not depend on the order of the trips.

    of_segment  which of them each segment is; point: metres of its visits, flat, by `offsets`
    """

    of_segment: Ints
    first: Ints
    point: Floats
    offsets: Ints


def distinct_segments(segments: Segments, cells: SquareCells) -> DistinctSegments:
    """Segments that visit the same places in the same order are one."""
    lengths = segments.end - segments.start
    flat = _spread(segments.start, lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    found = distinct_rows(cells.place[segments.trips.location[flat]], offsets)
    kept = _spread(segments.start[found.first], lengths[found.first])
    location = segments.trips.location[kept]
    point = np.column_stack([cells.east[location], cells.north[location], np.zeros(len(kept))])
    bounds = np.concatenate([[0], np.cumsum(lengths[found.first])]).astype(np.int64)
    return DistinctSegments(found.of_row, found.first, point, bounds)


def _spread(start: Ints, lengths: Ints) -> Ints:
    """The positions start, start + 1, ... of every run, one run after the other."""
    before = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.arange(before[-1]) + np.repeat(start - before[:-1], lengths)


def public_moves(network: Network, cells: SquareCells, junctions: Junctions) -> tuple[Ints, Ints]:
    """Which junction may follow which: a way in the public network that meets no other junction in between.

    Row i is `target[indptr[i]:indptr[i + 1]]`, ascending.
    """
    a, b = cells.of[network.sources], cells.of[network.indices]
    size = cells.wide * cells.high
    pairs = np.unique((a * size + b)[a != b])
    indptr = np.searchsorted(pairs // size, np.arange(size + 1)).astype(np.int64)
    bounds, target = _reach(indptr, pairs % size, junctions.cell, junctions.state)
    # Sorted here and not in the kernel: a compiled sort takes seconds to compile.
    return bounds, target[np.lexsort((target, np.repeat(np.arange(len(junctions)), np.diff(bounds))))]


@njit(cache=True)
def _reach(indptr: Ints, indices: Ints, cell: Ints, state: Ints) -> tuple[Ints, Ints]:
    seen = np.full(len(indptr) - 1, -1, np.int64)
    stack = np.empty(len(indptr), np.int64)
    bounds = np.zeros(len(cell) + 1, np.int64)
    target = np.empty(16, np.int64)
    count = 0
    for j in range(len(cell)):
        stack[0], height = cell[j], 1
        while height:
            height -= 1
            here = stack[height]
            for edge in range(indptr[here], indptr[here + 1]):
                there = indices[edge]
                if seen[there] == j:
                    continue
                seen[there] = j
                if state[there] < 0:
                    stack[height] = there
                    height += 1
                else:
                    if count == len(target):
                        larger = np.empty(2 * count, np.int64)
                        larger[:count] = target
                        target = larger
                    target[count] = state[there]
                    count += 1
        bounds[j + 1] = count
    return bounds, target[:count].copy()
