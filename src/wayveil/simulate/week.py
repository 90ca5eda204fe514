"""Riders of one week, as fare gates see them: one tap per boarding, with habits.

Everybody has a home stop and a favourite stop. Commuters tap at home in the morning and at the favourite stop in the
afternoon, on most working days and at about the same time; occasional riders make a few outings, mostly to the same
place. So paths repeat as real ones do, days have two peaks, and a few riders tap very often. One trip is one rider's
week: the shape of the data sets of the SafePath study. Nobody's data is involved.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from wayveil.arrays import Floats, Int32s, Ints
from wayveil.errors import ParameterError
from wayveil.simulate.city import draw_departures, eligible_stops
from wayveil.trips.history import MADE_UP
from wayveil.trips.trips import Trips
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR, WEEK
from wayveil.world.trees import travel_seconds

MONDAY: Final = 4 * DAY  # the first Monday of the timeline, where undated weeks live
MINUTE: Final = 60
WORKING_DAYS: Final = 5
REGULARITY: Final = 0.8  # of a commuter's working days, the share on which they travel
TAPS_OF_A_COMMUTER: Final = 2 * WORKING_DAYS * REGULARITY
FAITHFUL: Final = 0.6  # share of an occasional rider's outings that go to the favourite stop


@dataclass(frozen=True, eq=False)
class _Places:
    """The stops in play, how likely each is as a home, and for each home how likely each other stop is visited."""

    stops: Int32s
    home: Floats
    visit: Floats  # row per home, cumulated
    seconds: Floats


def simulate_week(
    network: Network,
    riders: int,
    *,
    seed: int,
    mean_visits: float = 3.2,
    campus: float = 0.0,
    week: int | None = None,
    busiest: int | None = None,
) -> Trips:
    """The taps of `riders` people in one week, one trip per rider; the same arguments give the same trips.

    mean_visits  taps per rider, on average (2 to 10); commuters tap about eight times, so it also says how many of
                 the riders are commuters
    campus       share of the riders whose favourite place is the same one: the stop with most departures outside the
                 inner half of the city
    week         of a year of the same people: they keep their homes, favourite places and numbers from week to week
    busiest      taps of the rider who has most: one occasional rider in a thousand taps up to so often, day and night
    """
    if not 0 <= campus < 1:
        raise ParameterError(f"campus is a share of the riders, below 1, not {campus}")
    if riders < 1:
        raise ParameterError(f"a simulation needs at least one rider, not {riders}")
    if not 2 <= mean_visits <= TAPS_OF_A_COMMUTER:
        raise ParameterError(
            f"mean_visits must lie between 2 and {TAPS_OF_A_COMMUTER:.0f}, not {mean_visits}"
        )
    rng = np.random.default_rng(seed)
    places = _places(network, rng)
    share = (mean_visits - 2) / TAPS_OF_A_COMMUTER
    commuters = round(riders * share)
    home = rng.choice(len(places.stops), riders, p=places.home)
    favourite = _visited(places, home, rng)
    if campus > 0:
        favourite = np.where(rng.random(riders) < campus, _campus(network, places.stops), favourite)
    naming = rng
    if week is not None:
        rng, naming = np.random.default_rng([seed, 1, week]), np.random.default_rng([seed, 2])
    parts = [
        _commutes(home[:commuters], favourite[:commuters], rng),
        _outings(
            places,
            np.arange(commuters, riders),
            home[commuters:],
            favourite[commuters:],
            (mean_visits - share * TAPS_OF_A_COMMUTER) / (1 - share) if commuters < riders else 0.0,
            rng,
            busiest,
        ),
    ]
    rider, stop, time = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return _as_trips(network, riders, rider, places.stops[stop], time, naming)


def _campus(network: Network, stops: Int32s) -> int:
    """Where it is, as an index into the stops in play."""
    east, north = project(network.lat[stops], network.lon[stops])
    points = np.stack([east, north], axis=1)
    away = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    runs = np.bincount(network.sources, network.runs, network.size)[stops]
    return int(np.argmax(np.where(away >= np.median(away), runs, -1)))


def _places(network: Network, rng: np.random.Generator) -> _Places:
    stops = eligible_stops(network)
    east, north = project(network.lat[stops], network.lon[stops])
    points = np.stack([east, north], axis=1)
    away = np.linalg.norm(points[:, None] - points[None], axis=2)
    from_centre = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    reach = max(float(np.median(from_centre)), 1.0)
    home = rng.lognormal(0, 0.7, len(stops))
    # Few places draw many people, near the centre more often than not, and from nearby more than from afar.
    pull = rng.lognormal(0, 1.2, len(stops)) * np.exp(-from_centre / reach)
    visit = pull[None] * np.exp(-away / (2 * reach))
    np.fill_diagonal(visit, 0)
    return _Places(
        stops,
        home / home.sum(),
        np.cumsum(visit / visit.sum(axis=1, keepdims=True), axis=1),
        travel_seconds(network, stops)[:, stops],
    )


def _visited(places: _Places, home: Ints, rng: np.random.Generator) -> Ints:
    """A place to go to from each home: all rows of the table searched at once, each in its own unit interval."""
    size = len(places.stops)
    rows = (places.visit + np.arange(size)[:, None]).ravel()
    found = np.searchsorted(rows, home + rng.random(len(home)) * (1 - 1e-12), side="right") - home * size
    return np.clip(found, 0, size - 1)


def _commutes(home: Ints, work: Ints, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    shape = (len(home), WORKING_DAYS)
    travels = rng.random(shape) < REGULARITY
    travels[~travels.any(axis=1), 0] = True  # nobody is without any tap
    rider, day = np.nonzero(travels)
    morning = rng.normal(7.9 * HOUR, 0.9 * HOUR, len(home)).clip(4 * HOUR, 11 * HOUR)
    evening = rng.normal(17 * HOUR, 1.1 * HOUR, len(home)).clip(13 * HOUR, 23 * HOUR)
    leaves = day * DAY + morning[rider] + rng.normal(0, 12 * MINUTE, len(rider))
    returns = day * DAY + evening[rider] + rng.normal(0, 20 * MINUTE, len(rider))
    time = np.concatenate([leaves, returns]).astype(np.int64)
    return np.tile(rider, 2), np.concatenate([home[rider], work[rider]]), time


def _outings(
    places: _Places,
    riders: Ints,
    home: Ints,
    favourite: Ints,
    mean: float,
    rng: np.random.Generator,
    busiest: int | None = None,
) -> tuple[Ints, Ints, Ints]:
    """Taps of occasional riders: out from home, and back from where they went after some hours."""
    if len(riders) == 0:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing
    taps = rng.geometric(1 / mean, len(riders))
    if busiest is not None:
        often = rng.choice(len(riders), -(-len(riders) // 1000), replace=False)
        taps[often] = np.geomspace(mean, busiest, len(often) + 1)[1:].astype(np.int64)
    outings = (taps + 1) // 2
    who = np.repeat(np.arange(len(riders)), outings)
    place = np.where(rng.random(len(who)) < FAITHFUL, favourite[who], _visited(places, home[who], rng))
    leaves = rng.integers(0, 7, len(who)) * DAY + draw_departures(rng, len(who))
    stay = rng.gamma(2.0, 1.5 * HOUR, len(who)).astype(np.int64)
    returns = leaves + places.seconds[home[who], place].astype(np.int64) + 10 * MINUTE + stay
    # Somebody with an odd number of taps got a lift back from the last outing.
    last = np.cumsum(outings) - 1
    rides_back = np.ones(len(who), bool)
    rides_back[last[taps % 2 == 1]] = False
    rider = np.concatenate([riders[who], riders[who[rides_back]]])
    stop = np.concatenate([home[who], place[rides_back]])
    return rider, stop, np.concatenate([leaves, returns[rides_back]])


def _as_trips(
    network: Network, riders: int, rider: Ints, stop: Int32s, time: Ints, rng: np.random.Generator
) -> Trips:
    """One trip per rider in order of time; riders are shuffled, so that their place says nothing."""
    time = time.clip(0, WEEK - 1)
    label = rng.permutation(riders)[rider]
    order = np.argsort(label * WEEK + time, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(label, minlength=riders))]).astype(np.int64)
    return Trips(
        stop[order],
        offsets,
        network,
        time=time[order] + MONDAY,
        rider=np.arange(riders, dtype=np.int64),
        history=MADE_UP,
    )
