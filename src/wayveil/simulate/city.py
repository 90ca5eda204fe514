"""Riders on a transit network, after the simulation of the MobiTrie study.

A few random stops are hotspots. A rider starts at any stop with equal chance and travels to a stop drawn by weight:
`stops - hotspots + 1` for a hotspot, 1 for every other stop. The way there is the shortest. Nobody's data is involved,
so the generator is an ordinary seeded one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from wayveil.arrays import AnyInts, Floats, Int32s, Ints
from wayveil.errors import InputError, ParameterError
from wayveil.progress import track
from wayveil.trips.history import MADE_UP
from wayveil.trips.trips import Trips
from wayveil.world.geo import BoundingBox
from wayveil.world.network import Network
from wayveil.world.paths import along_paths, shortest_paths
from wayveil.world.trees import Cost

HOUR: Final = 3_600

# Departures by hour of the day, in parts per thousand: the shape that ridership of cities has on a working day, with
# peaks at 7-9 and 16-18 and few people at night.
WEEKDAY: Final = (3, 2, 1, 1, 6, 22, 52, 98, 92, 56, 44, 45, 48, 50, 56, 72, 92, 90, 62, 40, 26, 20, 14, 8)


def draw_departures(rng: np.random.Generator, shape: int | tuple[int, ...]) -> Ints:
    """Seconds of the day at which trips begin, drawn from the weekday profile and evenly within each hour."""
    weights = np.asarray(WEEKDAY, np.float64)
    hour = rng.choice(len(WEEKDAY), size=shape, p=weights / weights.sum())
    return hour.astype(np.int64) * HOUR + rng.integers(0, HOUR, size=shape)


def one_after_the_other(departure: Ints, duration: Ints) -> Ints:
    """Departures of each rider's trips (rows: riders, columns: trips) such that no trip begins before the last ended.

    The given departures are taken in order of time; a rider who is still on the way sets out five minutes after
    arriving, which may be past midnight.
    """
    start = np.sort(departure, axis=1)
    for trip in range(1, start.shape[1]):
        arrival = start[:, trip - 1] + duration[:, trip - 1]
        start[:, trip] = np.maximum(start[:, trip], arrival + 300)
    return start


STOP, NAME = "stop_id", "name"


def hotspots_beside(trips: Path) -> Path:
    """Where the hotspots of a simulation lie: `trips.parquet` has `trips-hotspots.csv`."""
    return trips.with_name(f"{trips.stem}-hotspots.csv")


def write_hotspots(path: Path, network: Network, hotspots: AnyInts) -> Path:
    """Write stop ids and names as csv."""
    table = {STOP: network.ids[hotspots].tolist(), NAME: network.names[hotspots].tolist()}
    pl.DataFrame(table, schema={STOP: pl.String, NAME: pl.String}).write_csv(path)
    return path


def read_hotspots(path: Path) -> list[str]:
    """Stop ids from such a csv, or from a text file with one id per line."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        if lines and STOP in lines[0].split(","):
            column = pl.read_csv(path, infer_schema=False)[STOP]
            lines = column.drop_nulls().to_list()
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot be read as a list of stops ({error})", file=path) from error
    if not lines:
        raise InputError("names no stop", file=path)
    return lines


FEWEST_HOTSPOTS, MOST_HOTSPOTS = 15, 30
_TRIPS_AT_ONCE = 20_000


@dataclass(frozen=True, eq=False)
class CityRiders:
    """Simulated trips and the locations that drew most of them, ascending."""

    trips: Trips
    hotspots: Int32s


def simulate_city(
    network: Network,
    riders: int,
    *,
    seed: int,
    cost: Cost = "metres",
    hotspots: int | Sequence[str] | None = None,
    trips_per_rider: int = 1,
    times: bool | date = True,
    bbox: BoundingBox | str | tuple[float, float, float, float] | None = None,
) -> CityRiders:
    """Simulate the trips of `riders` people on one weekday; the same arguments give the same trips.

    cost             what the shortest path is short in: metres, seconds or number of stops
    hotspots         how many (drawn at random), or which by id; by default a random number of 15 to 30
    trips_per_rider  the first trip leaves home, the next returns, and so on with a new destination each time
    times            whether visits carry times: a departure from the weekday profile plus travel seconds, on the
                     first day of the timeline (for undated trips) or on the date that is given
    bbox             origins and destinations lie inside; paths may leave it

    Origins and destinations come from the largest set of stops that can all reach each other, and they differ.
    """
    if riders < 1 or trips_per_rider < 1:
        raise ParameterError(
            f"a simulation needs at least one rider and one trip, not {riders} and {trips_per_rider}"
        )
    rng = np.random.default_rng(seed)
    stops = eligible_stops(network, bbox)
    attracting = _choose_hotspots(rng, network, stops, hotspots)
    trips = _simulate(rng, network, stops, attracting, riders, trips_per_rider, cost, day_of(times))
    return CityRiders(trips, attracting)


def simulate_city_in_parts(
    network: Network,
    trips: int,
    *,
    seed: int,
    cost: Cost = "metres",
    hotspots: int | Sequence[str] | None = None,
    trips_per_rider: int = 1,
    times: bool | date = True,
    at_once: int = 500_000,
) -> Iterator[Trips]:
    """Simulate any number of trips of one city, about `at_once` of them at a time, so that memory does not grow.

    All parts share hotspots and have riders of their own. Which riders they are depends on `at_once` too.
    """
    if trips < 1 or trips_per_rider < 1 or at_once < trips_per_rider:
        raise ParameterError(f"a simulation needs at least one trip, and one of each rider, not {trips}")
    stops = eligible_stops(network)
    attracting = _choose_hotspots(np.random.default_rng(seed), network, stops, hotspots)
    riders, most = -(-trips // trips_per_rider), at_once // trips_per_rider
    for part, first in enumerate(range(0, riders, most)):
        count = min(most, riders - first)
        rng = np.random.default_rng([seed, part])
        made = _simulate(rng, network, stops, attracting, count, trips_per_rider, cost, day_of(times))
        made = replace(made, rider=np.repeat(np.arange(first, first + count), trips_per_rider))
        left = trips - first * trips_per_rider
        yield made if left >= len(made) else made.part(0, left)


def _simulate(
    rng: np.random.Generator,
    network: Network,
    stops: Int32s,
    hotspots: Int32s,
    riders: int,
    trips_per_rider: int,
    cost: Cost,
    day: int | None,
) -> Trips:
    """The trips of some riders; without a day they have no times."""
    origin, destination = _draw_pairs(rng, stops, hotspots, riders, trips_per_rider)
    departure = draw_departures(rng, (riders, trips_per_rider)) if day is not None else None
    paths = shortest_paths(network, origin, destination, cost)
    time = None
    if departure is not None and day is not None:
        time = travel_times(network, paths.location, paths.offsets, departure)
        time += day * 86_400
    rider = np.repeat(np.arange(riders, dtype=np.int64), trips_per_rider)
    return Trips(paths.location, paths.offsets, network, time, rider, MADE_UP)


def day_of(times: bool | date) -> int | None:
    """The day of the timeline on which simulated people travel; None if their trips have no times."""
    if isinstance(times, date):
        return (times - date(1970, 1, 1)).days
    return 0 if times else None


def eligible_stops(
    network: Network, bbox: BoundingBox | str | tuple[float, float, float, float] | None = None
) -> Int32s:
    """The locations where simulated trips may begin and end: inside the box, and each within reach of each."""
    inside = (
        np.ones(network.size, bool)
        if bbox is None
        else BoundingBox.of(bbox).contains(network.lat, network.lon)
    )
    component = network.components("strong")[1]
    if inside.any():
        inside &= component == np.bincount(component[inside]).argmax()
    stops = np.flatnonzero(inside).astype(np.int32)
    if len(stops) < 2:
        raise ParameterError(
            f"{network.name} has no two stops{'' if bbox is None else ' in the bounding box'} with a way there and back"
        )
    return stops


def destination_weights(stops: Int32s, hotspots: Int32s) -> Floats:
    """Return how strongly each stop attracts: `stops - hotspots + 1` for a hotspot, 1 for the others."""
    return np.where(np.isin(stops, hotspots), len(stops) - len(hotspots) + 1.0, 1.0)


def _choose_hotspots(
    rng: np.random.Generator, network: Network, stops: Int32s, wish: int | Sequence[str] | None
) -> Int32s:
    if wish is None:
        # A village has fewer stops than a city has hotspots; there, at most half of them attract.
        wish = min(int(rng.integers(FEWEST_HOTSPOTS, MOST_HOTSPOTS + 1)), max(1, len(stops) // 2))
    if isinstance(wish, int | np.integer):
        if not 0 <= wish <= len(stops):
            raise ParameterError(f"cannot choose {wish} hotspots among {len(stops)} stops")
        return np.sort(rng.choice(stops, wish, replace=False))
    names = [wish] if isinstance(wish, str) else list(wish)
    chosen = network.index_of(names)
    for name, index in zip(names, chosen.tolist(), strict=True):
        if index not in stops:
            raise ParameterError(f"hotspot {name!r} is not among the {len(stops):,} stops of the simulation")
    return np.unique(chosen)


def _draw_pairs(
    rng: np.random.Generator, stops: Int32s, hotspots: Int32s, riders: int, trips_per_rider: int
) -> tuple[Int32s, Int32s]:
    """Origins and destinations, the trips of a rider side by side: home to somewhere, back, home to elsewhere, ..."""
    weight = destination_weights(stops, hotspots)
    home = rng.choice(stops, riders)
    outings = (trips_per_rider + 1) // 2
    away = rng.choice(stops, (riders, outings), p=weight / weight.sum())
    # Drawing again until both ends differ gives the law of the weights conditional on a trip that goes somewhere.
    at_home = np.argwhere(away == home[:, None])
    while len(at_home):
        away[at_home[:, 0], at_home[:, 1]] = rng.choice(stops, len(at_home), p=weight / weight.sum())
        at_home = at_home[away[at_home[:, 0], at_home[:, 1]] == home[at_home[:, 0]]]
    origin = np.empty((riders, 2 * outings), np.int32)
    origin[:, 0::2], origin[:, 1::2] = home[:, None], away
    destination = np.empty_like(origin)
    destination[:, 0::2], destination[:, 1::2] = away, home[:, None]
    return origin[:, :trips_per_rider].ravel(), destination[:, :trips_per_rider].ravel()


def travel_times(network: Network, location: Int32s, offsets: Ints, departure: Ints) -> Ints:
    """When each visit happens, a block of trips at a time to keep memory small."""
    time = np.empty(len(location), np.int64)
    blocks = [
        offsets[first : first + _TRIPS_AT_ONCE + 1] for first in range(0, departure.size, _TRIPS_AT_ONCE)
    ]
    for block in track(blocks, "travel times"):
        part = slice(block[0], block[-1])
        time[part] = along_paths(network, location[part], block - block[0], network.seconds)
    duration = time[offsets[1:] - 1].reshape(departure.shape)
    start = one_after_the_other(departure, duration).ravel()
    for block, leaving in zip(
        blocks, np.split(start, range(_TRIPS_AT_ONCE, len(start), _TRIPS_AT_ONCE)), strict=True
    ):
        time[block[0] : block[-1]] += np.repeat(leaving, np.diff(block))
    return time
