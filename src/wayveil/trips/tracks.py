"""`Tracks`: trips as points on the globe, before they are cells and after they have been written as points again."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, radians

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints, stretches
from wayveil.errors import ParameterError
from wayveil.trips.points_in_cells import place_in_cells
from wayveil.trips.trips import Trips
from wayveil.world.geo import BoundingBox
from wayveil.world.grid import METRES_PER_DEGREE, Grid
from wayveil.world.network import Network

# Metres between two points: a vehicle at 30 km/h that is seen once a minute.
PACE = 500.0


@dataclass(frozen=True, eq=False)
class Paced:
    """Points of tracks: point k lies on the way from visit `visit[k]` to the next one, after `share[k]` of it."""

    visit: Ints
    share: Floats
    offsets: Ints

    def between(self, values: NDArray[np.number]) -> Floats:
        """Values of visits, taken from one to the next in proportion."""
        after = np.minimum(self.visit + (self.share > 0), len(values) - 1)
        return values[self.visit] + self.share * (values[after] - values[self.visit])


def pace_points(
    north: Floats, east: Floats, offsets: Ints, side: float, rng: np.random.Generator, pace: float = PACE
) -> Paced:
    """Where points lie along ways through points in metres, one per visit to a cell of that side.

    Vehicles are seen about once a minute. Where cells are wide, that is several times in each, and also in the corners
    of cells that a way merely clips; where cells are narrow, in every second or third cell only. Whoever compares
    points with points then sees too few runs over three cells in the one case, and too many visits in the other. So
    points are put on the way from point to point where cells are wide, and points at equal steps along the way take the
    place of those in cells where cells are narrow. A function of the trips that are given and of public numbers.
    """
    steps = np.hypot(np.diff(north), np.diff(east))
    if side < pace:
        return Paced(*_put_evenly(steps, offsets, pace, rng.random(len(offsets))))
    return Paced(*_put_between(steps, offsets, pace, rng.random(len(north))))


@njit(cache=True)
def _put_between(steps, offsets, pace, random):  # type: ignore[no-untyped-def]
    """All visits, and points between two that are farther apart than the pace."""
    room = len(random)
    for i in range(len(steps)):
        room += int(steps[i] / pace) + 1
    visit, share = np.empty(room, np.int64), np.zeros(room)
    ends, n = np.zeros(len(offsets), np.int64), 0
    for track in range(len(offsets) - 1):
        for i in range(offsets[track], offsets[track + 1]):
            parts = 1
            if i + 1 < offsets[track + 1]:
                parts = max(int(steps[i] / pace + random[i]), 1)
            for k in range(parts):
                visit[n], share[n] = i, k / parts
                n += 1
        ends[track + 1] = n
    return visit[:n].copy(), share[:n].copy(), ends


@njit(cache=True)
def _put_evenly(steps, offsets, pace, random):  # type: ignore[no-untyped-def]
    """Both ends, and points at equal steps of about the pace."""
    room = 2 * len(offsets)
    for i in range(len(steps)):
        room += int(steps[i] / pace) + 1
    visit, share = np.empty(room, np.int64), np.zeros(room)
    ends, n = np.zeros(len(offsets), np.int64), 0
    for track in range(len(offsets) - 1):
        first, last = offsets[track], offsets[track + 1] - 1
        if last >= first:
            visit[n] = first
            n += 1
        if last > first:
            long = steps[first:last].sum()
            parts = max(int(long / pace + random[track]), 1)
            done, k = 0.0, 1
            for i in range(first, last):
                while k < parts and steps[i] > 0 and k * long / parts <= done + steps[i]:
                    visit[n], share[n] = i, min((k * long / parts - done) / steps[i], 1.0)
                    n += 1
                    k += 1
                done += steps[i]
            visit[n] = last
            n += 1
        ends[track + 1] = n
    return visit[:n].copy(), share[:n].copy(), ends


@dataclass(frozen=True, eq=False)
class Tracks:
    """Track i has the points `lat, lon[offsets[i]:offsets[i + 1]]`, all inside a public box."""

    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    offsets: NDArray[np.int64]
    box: BoundingBox

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def centres(cls, trips: Trips) -> "Tracks":
        """Trips as the centres of their cells, or the places of their stops."""
        network = _with_coordinates(trips)
        return cls(
            network.lat[trips.location], network.lon[trips.location], trips.offsets, public_box(network)
        )

    @classmethod
    def spread(cls, trips: Trips, seed: int | None = None) -> "Tracks":
        """Trips over a grid as one point per visit, drawn in its cell. Where in a cell says nothing.

        Ends are the likelier the nearer they are to each other, and ways between are rather straight (see
        `trips/points_in_cells.py`): points uniform in every cell would make a zigzag of a straight way, and short trips
        long.
        """
        grid = trips.world
        if not isinstance(grid, Grid):
            raise ParameterError("points are spread over the cells of a grid; this world has none")
        rng = np.random.Generator(np.random.PCG64(seed))
        layout, box = grid.layout, grid.layout.box
        north, east = place_in_cells(grid, trips.location, trips.offsets, rng)
        lat = box.south + (grid.row[trips.location] + north) * layout.lat_step
        lon = box.west + (grid.column[trips.location] + east) * layout.lon_step
        # The last row and column may reach over the box; a point that does is moved to its border.
        return cls(np.minimum(lat, box.north), np.minimum(lon, box.east), trips.offsets, box)

    @classmethod
    def driven(cls, trips: Trips, seed: int | None = None) -> "Tracks":
        """Trips over a grid as points along their ways, as often as vehicles are seen (see `pace_points`)."""
        return cls.drive(trips, seed)[0]

    @classmethod
    def drive(cls, trips: Trips, seed: int | None = None) -> tuple["Tracks", Paced]:
        """Return the driven points, and between which visits each of them lies."""
        spread, rng, grid = cls.spread(trips, seed), np.random.default_rng(seed), trips.world
        assert isinstance(grid, Grid)
        middle = radians((spread.box.south + spread.box.north) / 2)
        north, east = METRES_PER_DEGREE * spread.lat, METRES_PER_DEGREE * cos(middle) * spread.lon
        side = METRES_PER_DEGREE * (grid.layout.lat_step + grid.layout.lon_step * cos(middle)) / 2
        paced = pace_points(north, east, trips.offsets, side, rng)
        points = cls(paced.between(spread.lat), paced.between(spread.lon), paced.offsets, spread.box)
        return points, paced

    def take(self, index: NDArray[np.integer]) -> "Tracks":
        """The tracks at these positions, in that order."""
        index = np.asarray(index, np.int64)
        source, offsets = stretches(self.offsets[index], np.diff(self.offsets)[index])
        return Tracks(self.lat[source], self.lon[source], offsets, self.box)


def join_tracks(parts: Sequence[Tracks]) -> Tracks:
    """Put tracks in one box one after the other."""
    lengths = np.concatenate([np.diff(each.offsets) for each in parts])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    lat, lon = (np.concatenate([getattr(each, axis) for each in parts]) for axis in ("lat", "lon"))
    return Tracks(lat, lon, offsets, parts[0].box)


def public_box(network: Network) -> BoundingBox:
    """The box of a grid, or the smallest one around the stops."""
    if isinstance(network, Grid):
        return network.layout.box
    south, west, north, east = network.lat.min(), network.lon.min(), network.lat.max(), network.lon.max()
    # Stops on one line have no box: a hair around them.
    hair = 1e-12
    return BoundingBox(
        float(south), float(west), float(max(north, south + hair)), float(max(east, west + hair))
    )


def _with_coordinates(trips: Trips) -> Network:
    if not isinstance(trips.world, Network):
        raise ParameterError("tracks need coordinates; this world is a plain list")
    return trips.world
