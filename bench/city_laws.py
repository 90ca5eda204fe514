"""How far simulated riders are from real ones: the laws of length, duration, stop and hour, before and after.

Real trips are journeys on the Tube (yearly counts, without times), a week of Oyster cards, and a day of cards in Buenos
Aires. On the Tube both simulators ride the same network, of which neither knows the service: the public graph has none.
For Buenos Aires there is no feed; riders are simulated on Berlin's, and what is compared is how crowded cells of 3 km
are and when people set out. Every number is a distance between two laws: the share of trips that would have to change
(0 = the same law, 1 = nothing in common). No constant of the simulator was chosen by these worlds.
"""

from collections.abc import Callable

import numpy as np

from bench.worlds import BERLIN, CELL_DEGREES, MissingDataError, buenos_aires, data, oyster, tube
from wayveil.simulate.city import simulate_city
from wayveil.simulate.riders import simulate_riders
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network
from wayveil.world.paths import along_paths

RIDERS = 100_000
MINUTES = 5

Law = Callable[[Trips], np.ndarray]


def lengths(trips: Trips) -> np.ndarray:
    """Share of trips by number of stops."""
    return share(np.bincount(trips.lengths))


def durations(trips: Trips) -> np.ndarray:
    """Share of trips by classes of five minutes on the public timetable."""
    passed = along_paths(trips.world, trips.location, trips.offsets, trips.world.seconds)
    return share(np.bincount((passed[trips.offsets[1:] - 1] // (60 * MINUTES)).astype(int)))


def stops(trips: Trips) -> np.ndarray:
    """Share of trips by the stop where they begin."""
    return share(np.bincount(trips.origins(), minlength=trips.world.size))


def crowding(trips: Trips) -> np.ndarray:
    """Share of trips at the busiest stop, the second busiest, and so on."""
    return np.sort(stops(trips))[::-1]


def hours(trips: Trips) -> np.ndarray:
    """Share of trips by the hour in which they begin."""
    return share(np.bincount(trips.time[trips.offsets[:-1]] % 86_400 // 3_600, minlength=24))


def cells(trips: Trips) -> np.ndarray:
    """Crowding of cells as large as those of Buenos Aires."""
    world = trips.world
    if not isinstance(world, Network):
        return np.sort(share(np.bincount(trips.location, minlength=world.size)))[::-1]
    cell = np.floor(world.lat / CELL_DEGREES) * 100_000 + np.floor(world.lon / CELL_DEGREES)
    _, code = np.unique(cell, return_inverse=True)
    return np.sort(share(np.bincount(code[trips.origins()])))[::-1]


def tap_hours(trips: Trips) -> np.ndarray:
    """Share of boardings by hour: all taps, or the beginnings of trips."""
    time = trips.time if not isinstance(trips.world, Network) else trips.time[trips.offsets[:-1]]
    return share(np.bincount(time % 86_400 // 3_600, minlength=24))


def share(counts: np.ndarray) -> np.ndarray:
    return counts / max(counts.sum(), 1)


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """The share that would have to change for one law to become the other."""
    size = max(len(one), len(other))
    both = [np.pad(law, (0, size - len(law))) for law in (one, other)]
    return float(np.abs(both[0] - both[1]).sum() / 2)


def compare(name: str, real: Trips, network: Network, laws: dict[str, Law]) -> list[dict]:
    """A row per law: how far the study's riders are off, and how far ours."""
    before = simulate_city(network, RIDERS, seed=1).trips
    after = simulate_riders(network, RIDERS, seed=1).trips
    rows = []
    for law, of in laws.items():
        true, *made = (of(trips) for trips in (real, before, after))
        off = [apart(true, one) for one in made]
        rows.append(
            {
                "world": name,
                "law": law,
                "study's riders off by": off[0],
                "riders of a city off by": off[1],
                "ratio": off[1] / max(off[0], 1e-9),
            }
        )
    return rows


def run() -> list[dict]:
    """Rows for every world whose files are here."""
    rows: list[dict] = []
    places: dict[str, Callable[[], list[dict]]] = {
        "tube": _tube,
        "oyster": _oyster,
        "buenos-aires": _buenos_aires,
    }
    for name, measure in places.items():
        try:
            rows += measure()
        except MissingDataError as error:
            rows.append({"world": name, "law": f"skipped: {error}"})
    return rows


def _tube() -> list[dict]:
    real = tube()
    laws = {
        "stops per trip": lengths,
        "duration": durations,
        "boardings by stop": stops,
        "crowding": crowding,
    }
    return compare("tube", real, real.world, laws)


def _oyster() -> list[dict]:
    real = oyster()
    laws = {
        "stops per trip": lengths,
        "duration": durations,
        "boardings by stop": stops,
        "crowding": crowding,
    }
    return compare("oyster", real, real.world, {**laws, "hour": hours})


def _buenos_aires() -> list[dict]:
    network = read_gtfs(data("berlin", "gtfs.zip"), bbox=BERLIN, walk_radius_metres=200)
    laws = {"crowding of cells": cells, "hour": tap_hours}
    return compare("buenos-aires (riders of Berlin)", buenos_aires(), network, laws)
