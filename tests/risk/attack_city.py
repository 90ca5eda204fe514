"""A small city with riders, split into people in the data and people who are not, for tests of attacks."""

import tempfile
from functools import cache
from pathlib import Path

from wayveil.attacks.targets import split_people
from wayveil.simulate.feed import write_city
from wayveil.simulate.habit import simulate_habit
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network


@cache
def small_city() -> Network:
    with tempfile.TemporaryDirectory() as folder:
        return read_gtfs(write_city(Path(folder) / "city.zip", stops=120, lines=10))


@cache
def thirds(riders: int = 1_800, seed: int = 1) -> tuple[Trips, Trips, Trips]:
    """Members, people outside the data, and fresh riders whom neither has seen."""
    trips = simulate_habit(small_city(), riders, seed=seed)
    members, others = split_people(trips, 0)
    holdout, fresh = split_people(others, 1)
    return members, holdout, fresh
