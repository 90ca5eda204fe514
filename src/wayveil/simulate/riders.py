"""Riders as a city has them, from what is public in its feed: the default of `wayveil lab simulate riders`.

Where many vehicles leave, many people live and more have something to do. A rider goes from home to somewhere, mostly
in the morning, and back, mostly in the afternoon; few go farther than their vehicles get in half an hour, and few ride
where walking is as fast. People leave when something leaves. The way is the fastest. Nobody's data is involved, so the
generator is an ordinary seeded one.

The numbers in `Attraction` are of the size that surveys of many cities report, and were not fitted to any data set that
docs and benches compare with.
"""

from dataclasses import dataclass
from datetime import date

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Int32s, Ints, Mask
from wayveil.errors import ParameterError
from wayveil.simulate.city import HOUR, WEEKDAY, CityRiders, day_of, travel_times
from wayveil.trips.history import MADE_UP
from wayveil.trips.trips import Trips
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.paths import shortest_paths
from wayveil.world.trees import Cost

# Of the trips that begin in an hour, how many leave home; the others return.
LEAVING_HOME = (
    *(0.4, 0.4, 0.5, 0.7, 0.9, 0.95, 0.95, 0.93, 0.9, 0.8, 0.7, 0.6),
    *(0.5, 0.45, 0.4, 0.3, 0.22, 0.2, 0.25, 0.35, 0.35, 0.3, 0.25, 0.3),
)


@dataclass(frozen=True)
class Attraction:
    """Places that draw riders, and how strongly.

    home, away    how homes and goals grow with the departures of a stop (its exponent)
    spread        how much stops with the same service differ: spread of the logarithm of homes and goals
    minutes       how long vehicles run until the wish to go there has fallen to an e-th
    followed      how closely the hours of trips follow the hours of departures at the stop (its exponent)
    """

    home: float = 0.7
    away: float = 1.0
    spread: tuple[float, float] = (0.5, 0.8)
    minutes: float = 7.0
    followed: float = 0.5


def simulate_riders(
    network: Network,
    riders: int,
    *,
    seed: int,
    cost: Cost = "seconds",
    demand: Attraction | None = None,
    trips_per_rider: int = 1,
    times: bool | date = True,
) -> CityRiders:
    """Simulate the trips of `riders` people on one weekday; the same arguments give the same trips.

    Arguments are those of `simulate_city`. Every part of the network that has a way there and back is reached, and no
    trip goes from one part to another. `hotspots` of the result are the twenty stops with most to do.
    """
    if riders < 1 or trips_per_rider < 1:
        raise ParameterError(
            f"a simulation needs at least one rider and one trip, not {riders} and {trips_per_rider}"
        )
    rng, how = np.random.default_rng(seed), Attraction() if demand is None else demand
    stops, part = reachable_stops(network)
    service = departures(network)[stops]
    weight = service.sum(axis=1) + 1.0
    homes, goals = (
        weight**power * np.exp(spread * rng.standard_normal(len(stops)))
        for power, spread in zip((how.home, how.away), how.spread, strict=True)
    )
    home = np.sort(rng.choice(len(stops), riders, p=homes / homes.sum()))
    outings = (trips_per_rider + 1) // 2
    x, y = (axis[stops] for axis in project(network.lat, network.lon))
    away = _draw_goals(home, goals, x, y, part, _reach(network, how), rng.random((riders, outings)))
    # Neighbours in the file should not be neighbours in the city.
    order = rng.permutation(riders)
    home, away = home[order], away[order]
    outward = np.tile(np.arange(trips_per_rider) % 2 == 0, (riders, 1))
    if trips_per_rider == 1:
        shares = np.asarray(WEEKDAY, np.float64)
        outward[:, 0] = rng.random(riders) < shares @ np.asarray(LEAVING_HOME) / shares.sum()
    there = np.repeat(away, 2, axis=1)[:, :trips_per_rider]
    here = np.broadcast_to(home[:, None], there.shape)
    origin, destination = np.where(outward, here, there), np.where(outward, there, here)
    paths = shortest_paths(network, stops[origin].ravel(), stops[destination].ravel(), cost)
    time, day = None, day_of(times)
    if day is not None:
        leaving = _draw_departures(rng, origin, outward, service, how.followed)
        time = travel_times(network, paths.location, paths.offsets, leaving) + day * 86_400
    rider = np.repeat(np.arange(riders, dtype=np.int64), trips_per_rider)
    busiest = np.sort(stops[np.argsort(-goals, kind="stable")[:20]])
    return CityRiders(Trips(paths.location, paths.offsets, network, time, rider, MADE_UP), busiest)


def reachable_stops(network: Network) -> tuple[Int32s, Ints]:
    """Stops from which some other one can be reached and left again, and the part of the network of each."""
    part = network.components("strong")[1].astype(np.int64)
    stops = np.flatnonzero(np.bincount(part)[part] > 1).astype(np.int32)
    if len(stops) < 2:
        raise ParameterError(f"{network.name} has no two stops with a way there and back")
    return stops, part[stops]


def departures(network: Network) -> Floats:
    """Departures per stop and hour; where the network does not know hours, all hours alike."""
    if network.service is not None:
        return network.service.astype(np.float64)
    runs = np.bincount(network.sources, np.maximum(network.runs, ~network.walk), network.size)
    return np.repeat(runs[:, None] / 24, 24, axis=1)


def _reach(network: Network, how: Attraction) -> float:
    """Metres that vehicles make in the minutes of `Attraction`."""
    rides = ~network.walk
    seconds = float(network.seconds[rides].sum())
    return how.minutes * 60 * float(network.metres[rides].sum()) / max(seconds, 1.0)


def _draw_goals(
    home: Ints, goals: Floats, x: Floats, y: Floats, part: Ints, reach: float, chance: Floats
) -> Ints:
    """A goal in the same part of the network for every outing; `home` ascends."""
    first = np.flatnonzero(np.diff(home, prepend=-1))
    return np.asarray(_draw(home, np.append(first, len(home)), goals, x, y, part, max(reach, 1.0), chance))


@njit(cache=True)
def _draw(home, bounds, goals, x, y, part, reach, chance):  # type: ignore[no-untyped-def]
    away = np.empty(chance.shape, np.int64)
    upto = np.empty(len(goals))
    for k in range(len(bounds) - 1):
        here = home[bounds[k]]
        total = 0.0
        for j in range(len(goals)):
            if j != here and part[j] == part[here]:
                far = np.hypot(x[j] - x[here], y[j] - y[here]) / reach
                # Near goals are walked to; far ones are out of reach.
                total += goals[j] * (far + 1e-6) * np.exp(-far)
            upto[j] = total
        for i in range(bounds[k], bounds[k + 1]):
            for outing in range(chance.shape[1]):
                away[i, outing] = np.searchsorted(upto, chance[i, outing] * total, side="right")
    return away


def _draw_departures(
    rng: np.random.Generator, origin: Ints, outward: Mask, service: Floats, followed: float
) -> Ints:
    """Seconds of the day at which trips begin: hours in which people travel that way and something leaves there."""
    day, leaving = np.asarray(WEEKDAY, np.float64), np.asarray(LEAVING_HOME)
    start = np.empty(origin.shape, np.int64)
    for one, wish in ((True, day * leaving), (False, day * (1 - leaving))):
        law = wish * service**followed
        # Where nothing leaves when people want to go, they go when people do.
        law = np.where(law.sum(axis=1, keepdims=True) > 0, law, wish)
        upto = np.cumsum(law, axis=1)
        upto /= upto[:, -1:]
        some = outward == one
        drawn = rng.random(int(some.sum()))
        # Row after row in one ascending line, so that one search finds the hour of every trip.
        line = (upto + np.arange(len(upto))[:, None]).ravel()
        hour = np.searchsorted(line, origin[some] + drawn, side="right") - 24 * origin[some]
        start[some] = np.clip(hour, 0, 23) * HOUR
    return start + rng.integers(0, HOUR, start.shape)
