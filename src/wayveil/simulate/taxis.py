"""Taxi cities of our own: GPS points of trips that begin and end at hot spots, once a minute or so.

Four kinds of drivers. `streets` take shortest ways under costs that differ from driver to driver, over a city with
faster arterials. Those of the `study` do so too, on rides as long as the DP-Loc study's, in the part of its box that is
not water. `wandering` ones head for their destination only in the long run: they keep their direction, turn
late, and swerve, so no shortest way explains them. `sessions` wander on from one ride to the next, most a few times,
some all day. Made for benchmarks: constants are set here, not on real traces.
"""

import gzip
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import polars as pl
from numba import njit

from wayveil.arrays import Floats, Int32s, Ints
from wayveil.errors import ParameterError
from wayveil.simulate.city import draw_departures
from wayveil.world.geo import BoundingBox
from wayveil.world.grid import METRES_PER_DEGREE, Grid
from wayveil.world.network import Network
from wayveil.world.paths import shortest_paths

# The box of the DP-Loc study, 94 x 58 cells of 250 m.
STUDY_BOX = "37.6017,-122.5158,37.8112,-122.3527"
Drivers = Literal["streets", "study", "wandering", "sessions"]
_STREET = 250.0
_SPOTS, _VARIANTS = 14, 6
_GPS_METRES = 12.0
_SECONDS_BETWEEN = (40, 80)
# Rides of a session: one plus a log-normal number of this median and spread, at this share of other rides' distances.
_RIDES, _RIDES_SPREAD, _RIDES_NEAR = 0.3, 1.3, 0.1
# Of the study: shares of the box from the south-west that are land; median and spread of how much of the way rides go.
_LAND, _STUDY_NEAR, _STUDY_SPREAD = (0.9, 0.6), 0.6, 0.33


@dataclass(frozen=True, eq=False)
class TaxiPoints:
    """Points of trips: trip i has the points from `offsets[i]` on, in order of time."""

    time: Ints
    lat: Floats
    lon: Floats
    offsets: Ints

    def write(self, path: str | Path) -> None:
        """Write a file with the columns of scikit-mobility: tid, datetime, lat, lng."""
        table = pl.DataFrame(
            {
                "tid": np.repeat(np.arange(1, len(self.offsets)), np.diff(self.offsets)),
                "datetime": (pl.Series(self.time) * 1000).cast(pl.Datetime("ms")),
                "lat": np.round(self.lat, 6),
                "lng": np.round(self.lon, 6),
            }
        )
        path = Path(path)
        kind = require_points_file(path)
        if kind == ".parquet":
            table.write_parquet(path)
            return
        text = table.write_csv(datetime_format="%Y-%m-%d %H:%M:%S").encode()
        path.write_bytes(gzip.compress(text) if kind == ".csv.gz" else text)


def require_points_file(path: str | Path) -> str:
    """The format that the name of a file of points tells: better asked before points are made than after."""
    for kind in (".parquet", ".csv", ".csv.gz"):
        if str(path).endswith(kind):
            return kind
    raise ParameterError(f"cannot tell the format of {path}: end its name in .parquet, .csv or .csv.gz")


def simulate_taxis(
    trips: int = 120_000, *, drivers: Drivers = "streets", box: BoundingBox | str = STUDY_BOX, seed: int = 0
) -> TaxiPoints:
    """Points of so many trips on a Tuesday."""
    if drivers not in get_args(Drivers):
        raise ParameterError(f"unknown drivers {drivers!r}; choose one of {', '.join(get_args(Drivers))}")
    if trips < 1:
        raise ParameterError(f"a city needs at least one trip, not {trips}")
    rng = np.random.default_rng(seed)
    city = Grid.of_metres(box, _STREET)
    width, height = city.layout.columns * _STREET, city.layout.rows * _STREET
    start = draw_departures(rng, trips) + 86_400 * 5  # 1970-01-06 was a Tuesday
    rides = np.ones(trips, np.int64)
    if drivers == "sessions":
        rides += rng.lognormal(np.log(_RIDES), _RIDES_SPREAD, trips).astype(np.int64)
    east, north = _LAND if drivers == "study" else (1.0, 1.0)
    x, y = _ends(east * width, north * height, np.repeat(start % 86_400, rides), rng)
    if drivers == "study":
        near = _STUDY_NEAR * rng.lognormal(0, _STUDY_SPREAD, trips)
        for ends, most in ((x, east * width), (y, north * height)):
            ends[1] = np.clip(ends[0] + near * (ends[1] - ends[0]), 1, most - 1)
    if drivers == "sessions":
        _ride_on(x, rides)
        _ride_on(y, rides)
    if drivers in ("streets", "study"):
        px, py, offsets = _streets(city, x, y, rng)
    else:
        px, py, offsets = _wander(x, y, width, height, rng)
        offsets = offsets[np.append(0, np.cumsum(rides))]
    return _sampled(city, px, py, offsets, start, rng)


def _ride_on(ends: Floats, rides: Ints) -> None:
    """Keep the rides of each session near its first end, each from where the one before it ended."""
    last = np.cumsum(rides)
    first = np.repeat(ends[0, last - rides], rides)
    ends[1] = first + _RIDES_NEAR * (ends[1] - first)
    later = np.setdiff1d(np.arange(1, ends.shape[1]), last)
    ends[0, later] = ends[1, later - 1]


def _ends(width: float, height: float, second: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Metres east and north of both ends of each trip: hot spots that wax and wane, and some anywhere."""
    spot_x, spot_y = rng.uniform(0.1, 0.9, _SPOTS) * width, rng.uniform(0.1, 0.9, _SPOTS) * height
    spread = rng.uniform(300, 1_800, _SPOTS)
    weight, phase = rng.dirichlet(np.full(_SPOTS, 1.2)), rng.uniform(0, 2 * np.pi, (2, _SPOTS))
    count = len(second)
    ends_x, ends_y = np.empty((2, count)), np.empty((2, count))
    for end in (0, 1):
        day = 1 + 0.8 * np.cos(2 * np.pi * second[:, None] / 86_400 - phase[end])
        steps = np.cumsum(weight * day, axis=1)
        spot = (rng.random(count)[:, None] * steps[:, -1:] >= steps).sum(axis=1).clip(0, _SPOTS - 1)
        anywhere = rng.random(count) < 0.1
        x = np.where(anywhere, rng.uniform(0, width, count), rng.normal(spot_x[spot], spread[spot]))
        y = np.where(anywhere, rng.uniform(0, height, count), rng.normal(spot_y[spot], spread[spot]))
        ends_x[end], ends_y[end] = np.clip(x, 1, width - 1), np.clip(y, 1, height - 1)
    # Nobody takes a taxi for a few steps.
    short = np.hypot(ends_x[0] - ends_x[1], ends_y[0] - ends_y[1]) < 2 * _STREET
    ends_x[1, short] = np.clip(ends_x[0, short] + rng.choice([-1, 1], short.sum()) * 1_500, 1, width - 1)
    return ends_x, ends_y


def _streets(city: Grid, x: Floats, y: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, Ints]:
    """Shortest ways under one of a few perturbed costs each."""
    cell = (y // _STREET).astype(np.int64) * city.layout.columns + (x // _STREET).astype(np.int64)
    rows, columns = city.layout.rows, city.layout.columns
    fast_row, fast_column = (rng.choice(n, max(n // 7, 1), replace=False) for n in (rows, columns))
    source, target = city.sources, city.indices
    on_row = np.isin(city.row[source], fast_row) & (city.row[source] == city.row[target])
    on_column = np.isin(city.column[source], fast_column) & (city.column[source] == city.column[target])
    base = city.metres / np.where(on_row | on_column, 1.7, 1.0) * rng.lognormal(0, 0.15, city.edges)
    variant = rng.integers(0, _VARIANTS, x.shape[1])
    ways: list[Int32s] = []
    trip: list[Ints] = []
    for one in range(_VARIANTS):
        mine = np.flatnonzero(variant == one)
        felt = _with_costs(city, base * rng.lognormal(0, 0.3, city.edges))
        paths = shortest_paths(felt, cell[0, mine], cell[1, mine])
        ways.append(paths.location)
        trip.append(np.repeat(mine, np.diff(paths.offsets)))
    order = np.argsort(np.concatenate(trip), kind="stable")
    location = np.concatenate(ways)[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(np.concatenate(trip), minlength=x.shape[1]))])
    return (
        (city.column[location] + 0.5) * _STREET,
        (city.row[location] + 0.5) * _STREET,
        offsets.astype(np.int64),
    )


def _with_costs(city: Grid, cost: Floats) -> Network:
    """Return the moves, each as long as it feels."""
    places, edges, routes, platforms = city._parts
    return Network(places, replace(edges, metres=cost), routes, platforms)


@njit(cache=True)
def _wander(x, y, width, height, rng):  # type: ignore[no-untyped-def]
    """Ways of fifty metres at a time whose heading turns towards the destination slowly, and swerves."""
    stride, most = 50.0, 1_500
    count = x.shape[1]
    px, py = np.empty(count * 400), np.empty(count * 400)
    offsets = np.zeros(count + 1, np.int64)
    n = 0
    for trip in range(count):
        here_x, here_y, goal_x, goal_y = x[0, trip], y[0, trip], x[1, trip], y[1, trip]
        heading = np.arctan2(goal_y - here_y, goal_x - here_x) + rng.normal(0.0, 1.4)
        bent = rng.normal(0.0, 0.03)
        for step in range(most):
            if n + 2 >= len(px):
                px, py = np.append(px, np.empty(len(px))), np.append(py, np.empty(len(py)))
            px[n], py[n] = here_x, here_y
            n += 1
            away = np.hypot(goal_x - here_x, goal_y - here_y)
            if away < 2 * stride:
                break
            wanted = np.arctan2(goal_y - here_y, goal_x - here_x)
            turn = (wanted - heading + np.pi) % (2 * np.pi) - np.pi
            pull = 0.01 + 12.0 / away + 0.0003 * step
            heading += min(pull, 1.0) * turn + bent + rng.normal(0.0, 0.1)
            here_x = min(max(here_x + stride * np.cos(heading), 1.0), width - 1)
            here_y = min(max(here_y + stride * np.sin(heading), 1.0), height - 1)
        px[n], py[n] = goal_x, goal_y
        n += 1
        offsets[trip + 1] = n
    return px[:n], py[:n], offsets


def _sampled(
    city: Grid, px: Floats, py: Floats, offsets: Ints, start: Ints, rng: np.random.Generator
) -> TaxiPoints:
    """One point a minute or so along each way, at the speed of its driver, with the error of a receiver."""
    speed = rng.uniform(6.0, 12.0, len(start))
    trip, second, x, y = _along(px, py, offsets, speed, rng, *_SECONDS_BETWEEN)
    box = city.layout.box
    x, y = (values + rng.normal(0, _GPS_METRES, len(values)) for values in (x, y))
    lon = box.west + x / _STREET * city.layout.lon_step
    lat = box.south + y / METRES_PER_DEGREE
    counts = np.bincount(trip, minlength=len(start))
    return TaxiPoints(
        start[trip] + second,
        np.clip(lat, box.south, box.north),
        np.clip(lon, box.west, box.east),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
    )


@njit(cache=True)
def _along(px, py, offsets, speed, rng, soon, late):  # type: ignore[no-untyped-def]
    room = 0
    for trip in range(len(offsets) - 1):
        way = 0.0
        for k in range(offsets[trip] + 1, offsets[trip + 1]):
            way += np.hypot(px[k] - px[k - 1], py[k] - py[k - 1])
        room += int(way / speed[trip] / soon) + 3
    trips, seconds = np.empty(room, np.int64), np.empty(room, np.int64)
    x, y = np.empty(room), np.empty(room)
    n = 0
    for trip in range(len(offsets) - 1):
        passed, due, last = 0.0, 0.0, -1.0
        for k in range(offsets[trip], offsets[trip + 1] - 1):
            far = np.hypot(px[k + 1] - px[k], py[k + 1] - py[k])
            while due <= passed + far:
                share = (due - passed) / far if far > 0 else 0.0
                trips[n], seconds[n] = trip, int(due / speed[trip])
                x[n], y[n] = px[k] + share * (px[k + 1] - px[k]), py[k] + share * (py[k + 1] - py[k])
                n += 1
                last = due
                due += speed[trip] * rng.uniform(soon, late)
            passed += far
        if passed > last + speed[trip]:
            end = offsets[trip + 1] - 1
            trips[n], seconds[n], x[n], y[n] = trip, int(passed / speed[trip]), px[end], py[end]
            n += 1
    return trips[:n], seconds[:n], x[:n], y[:n]
