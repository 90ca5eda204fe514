"""Which disguises of a dataset the ledger sees through: the same people brought again under another name.

    python -m wayveil.lab.audits.disguises     # the table of docs/ledger.md

Every disguise is put on two datasets of a simulated city: trips of several stops, and taps. In each, one trip is left
out, so that no sum over all rows gives it away. Beside them stand other people, who should pass.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from wayveil.privacy.ledger.fingerprint import Fingerprint, fingerprint
from wayveil.simulate.city import simulate_city
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.simulate.feed import write_city
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.opening import open_world
from wayveil.world.world import World

KEY = bytes(range(32))
MONDAY = date(2026, 1, 5)
RIDERS, TAPS = 6_000, 20_000
Change = Callable[[Trips], Trips]


@dataclass(frozen=True)
class Disguise:
    """Disguise of a dataset that is brought again; `caught` is whether the ledger sees through it."""

    name: str
    changes: tuple[Change, ...]
    caught: bool = True
    other_people: bool = False


# What is shared, in a word or two.
SHORT = {
    "of the riders": "ids",
    "of the timed trips": "timed trips",
    "of the different trips": "different trips",
    "some quarter": "minutes of quarter hours",
    "the same minutes": "minutes",
    "the same seconds": "seconds",
    "equally many": "trips per set of places",
}


# --- the parts of disguises


def shuffled(trips: Trips) -> Trips:
    """Rows in another order."""
    return trips.take(np.random.default_rng(1).permutation(len(trips)))


def one_less(trips: Trips) -> Trips:
    """One trip left out."""
    return trips.take(np.arange(len(trips)) != len(trips) // 3)


def half(trips: Trips) -> Trips:
    """Every second rider."""
    return trips.take(np.flatnonzero(_riders(trips) % 2 == 0))


def no_ids(trips: Trips) -> Trips:
    """No rider column."""
    return replace(trips, rider=None, rider_ids=None)


def renamed(trips: Trips) -> Trips:
    """New pseudonyms."""
    return replace(trips, rider_ids=_ids(trips, lambda rider: f"p{(rider * 7919 + 13) % 1_000_003:x}-new"))


def padded(trips: Trips) -> Trips:
    """Ids filled up with zeros."""
    return replace(trips, rider_ids=_ids(trips, lambda rider: f"{rider:012d}"))


def no_times(trips: Trips) -> Trips:
    """No time column."""
    return trips.without_times()


def turned_round(trips: Trips) -> Trips:
    """The visits of every trip in reverse order."""
    back = np.repeat(trips.offsets[1:] - 1 + trips.offsets[:-1], trips.lengths) - np.arange(trips.visits)
    return replace(trips, location=trips.location[back])


def other_stops(trips: Trips) -> Trips:
    """Other names for all stops."""
    return replace(trips, world=World([f"place {at:06}" for at in range(trips.world.size)]))


def timed(change: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Times that are changed one by one."""
    return lambda trips: replace(trips, time=None if trips.time is None else change(trips.time))


LATER = timed(lambda time: time + 1)
MINUTES = timed(lambda time: time // 60 * 60)
NEAREST = timed(lambda time: (time + 30) // 60 * 60)
HOURS = timed(lambda time: time // 3600 * 3600)
IN_UTC = timed(lambda time: time + 8 * 3600)
NEXT_WEEK = timed(lambda time: time + 7 * 86_400)


def other_trips(trips: Trips) -> Trips:
    """Other trips of the same riders: everybody takes those of somebody else."""
    return replace(trips, rider=_riders(trips).max() - _riders(trips))


def others(trips: Trips) -> Trips:
    """Other people with other trips, on the same days."""
    return _made(trips.world, trips.lengths.max() == 1, seed=2)


DISGUISES = (
    Disguise("rows in another order", (shuffled,)),
    Disguise("half of the riders", (half,)),
    Disguise("next week's trips of the same riders", (other_trips, NEXT_WEEK)),
    Disguise("no riders", (no_ids,)),
    Disguise("no times", (no_times,)),
    Disguise("no riders, no times", (no_ids, no_times)),
    Disguise("ids padded, times to the minute", (padded, MINUTES)),
    Disguise("ids renamed", (renamed,)),
    Disguise("ids renamed, times a second later", (renamed, LATER)),
    Disguise("ids renamed, times to the minute", (renamed, MINUTES)),
    Disguise("ids renamed, times to the nearest minute", (renamed, NEAREST)),
    Disguise("no riders, times to the minute", (no_ids, MINUTES)),
    Disguise("no riders, times in UTC", (no_ids, IN_UTC)),
    Disguise("ids renamed, times in UTC and to the minute", (renamed, IN_UTC, MINUTES)),
    Disguise("ids renamed, no times", (renamed, no_times)),
    Disguise("visits turned round, ids renamed, no times", (turned_round, renamed, no_times)),
    Disguise("ids and stops renamed", (renamed, other_stops)),
    Disguise("ids renamed, half of the riders, times to the minute", (renamed, half, MINUTES)),
    Disguise("ids renamed, times to the hour", (renamed, HOURS)),
    Disguise("ids and stops renamed, times to the minute", (renamed, other_stops, MINUTES), caught=False),
    Disguise("ids and stops renamed, no times", (renamed, other_stops, no_times), caught=False),
    Disguise("ids renamed, half of the riders, no times", (renamed, half, no_times), caught=False),
    Disguise("ids renamed, next week's trips", (others, NEXT_WEEK, renamed), caught=False),
    Disguise("other people on the same days", (others, renamed), caught=False, other_people=True),
    Disguise(
        "other people on the same days, times to the minute",
        (others, renamed, MINUTES),
        caught=False,
        other_people=True,
    ),
    # Every stop has taps: without ids and times those of other people look the same, and have to be confirmed.
    Disguise(
        "other people, no riders, no times", (others, no_ids, no_times), caught=False, other_people=True
    ),
)


def outcome(disguise: Disguise, known: Fingerprint, trips: Trips) -> str | None:
    """Why the disguised dataset is refused; None if it passes."""
    dressed = one_less(trips)
    for change in disguise.changes:
        dressed = change(dressed)
    return known.likeness(fingerprint(dressed, KEY))


@cache
def datasets() -> dict[str, Trips]:
    """Trips and taps of a simulated city."""
    world = _city()
    return {"trips": _made(world, taps=False, seed=1), "taps": _made(world, taps=True, seed=1)}


def disguise_table() -> str:
    """The table of docs/ledger.md."""
    kinds = datasets()
    known = {kind: fingerprint(trips, KEY) for kind, trips in kinds.items()}
    lines = [f"| brought again | {' | '.join(kinds)} |", "|---" * (1 + len(kinds)) + "|"]
    for disguise in DISGUISES:
        found = [outcome(disguise, known[kind], trips) for kind, trips in kinds.items()]
        lines.append(f"| {disguise.name} | {' | '.join(map(_cell, found))} |")
    return "\n".join(lines)


def _cell(why: str | None) -> str:
    return (
        "passes" if why is None else f"refused: {next(short for said, short in SHORT.items() if said in why)}"
    )


@cache
def _city() -> Network:
    with TemporaryDirectory(prefix="wayveil-disguises-") as folder:
        world = open_world(write_city(Path(folder) / "city.zip", seed=3))
    assert isinstance(world, Network)
    return world


def _made(world: World, taps: bool, seed: int) -> Trips:
    assert isinstance(world, Network)
    if taps:
        made = simulate_taps(world, TAPS, seed=seed, first_day=MONDAY, days=7).taps.as_single_visits()
    else:
        made = simulate_city(world, RIDERS, seed=seed, trips_per_rider=2, times=MONDAY).trips
    return replace(made, rider_ids=_ids(made, lambda rider: f"{rider}"))


def _ids(trips: Trips, name: Callable[[int], str]) -> pl.Series:
    return pl.Series([name(rider) for rider in range(int(_riders(trips).max()) + 1)])


def _riders(trips: Trips) -> np.ndarray:
    assert trips.rider is not None
    return trips.rider


if __name__ == "__main__":
    print(disguise_table())
