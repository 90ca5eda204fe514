"""A town small enough to weave in a test, and quick settings."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.weave.settings import Generation
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.simulate.city import simulate_city
from wayveil.simulate.feed import write_city
from wayveil.world.gtfs import read_gtfs

QUICK = Generation(least=4_000, most=6_000, iterations=120, graphs=2)


@cache
def small_town():
    with TemporaryDirectory() as folder:
        return read_gtfs(write_city(Path(folder) / "town.zip", 3, stops=48, lines=4))


@cache
def town_trips(riders=3_000, trips_per_rider=1):
    return simulate_city(small_town(), riders, seed=1, hotspots=4, trips_per_rider=trips_per_rider).trips


def measured(mechanism, trips, epsilon=2, unit=None, seed=1, currency="epsilon"):
    gate = Gate(unit or Trip(), Budget(epsilon, currency=currency), SeededBits(seed))
    return mechanism.measure(LocalCounter(gate.bound(trips)), gate), gate
