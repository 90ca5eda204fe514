"""Printed values of the SafePath study, and its two weeks of taps or what stands in for them."""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from wayveil.lab.studies.lab import Datasets, Lab, invented_city
from wayveil.simulate.city import simulate_city
from wayveil.simulate.week import simulate_week
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.timebins import DAY
from wayveil.world.world import World

BUS, METRO = "Bus", "Metro"
FACTS: Final = ("records", "locations", "timestamps", "longest", "mean length")
TABLE_2: Final = {BUS: (773_296, 893, 168, 121, 4.69), METRO: (847_668, 68, 168, 90, 3.22)}
# |T|: records, longest, mean length. The study's Table 2 gives Bus the mean 4.69 and its text gives it to Metro.
TABLE_3: Final = {
    BUS: {
        "35": (304_238, 21, 1.96),
        "70": (508_283, 44, 3.12),
        "105": (618_238, 70, 3.98),
        "140": (722_786, 106, 4.46),
        "168": (773_296, 121, 4.69),
    },
    METRO: {
        "35": (263_303, 16, 1.58),
        "70": (485_049, 35, 2.28),
        "105": (606_917, 51, 2.81),
        "140": (766_419, 73, 3.11),
        "168": (847_668, 90, 3.22),
    },
}
PART_FACTS: Final = ("records", "longest", "mean length")
SECONDS_IN_ALL: Final = {BUS: 27.0, METRO: 15.0}  # Figure 8, said in the text
SECONDS_AT_5: Final = {"SeqPT": 2400.0, "SafePath": 1.0}  # Figure 6 (b), height 5, said in the text
BELOW = 0.01  # Figure 5: "below 1% on both datasets"
TAXONOMY_HEIGHT, CHILDREN = 6, 2  # of all experiments after Figure 4
STOPS_LEFT, RECORDS_LEFT = 20, 200_000  # of Bus, for SeqPT
L, K = 2, 5


# A part of the bus network with about 900 stops, as many as the study's data had.
BUS_BOX = "45.496,-73.61,45.545,-73.545"
SHAPES = {METRO: (70, 6), BUS: (900, 60)}
FEW_RIDES, MANY_RIDES = "rides", "three times as many rides"
SEED = 1


def datasets(lab: Lab) -> Datasets:
    """Note the sources; nothing is read or simulated before a cell asks for it."""
    made: dict[str, Callable[[], Trips]] = {}
    differs = [
        "The study's taps are not public: these are simulated weeks with homes, favourite places and two peaks a day."
    ]
    own = lab.own_trips()
    for name, (records, _, _, longest, mean) in TABLE_2.items():
        if own is not None and name == BUS:
            made[name] = own
            differs.append(f"'{BUS}' are your own trips.")
            continue
        city, where = _city(lab, name)
        riders = lab.pick(tiny=400, quick=60_000, full=records)
        words = f"{riders:,} simulated riders' weeks on {where}, stood for as '{name}'"

        make = partial(_week, city, riders, mean, longest)
        made[name] = lab.simulated(f"{name.lower()}-{riders}", words, city, make)
        if riders < records:
            differs.append(f"'{name}' has {riders:,} riders here, {records:,} in the study.")
    city, where = _city(lab, METRO)
    for name, riders in lab.pick(
        tiny={FEW_RIDES: 200, MANY_RIDES: 300},
        quick={FEW_RIDES: 20_000, MANY_RIDES: 60_000},
        full={FEW_RIDES: 100_000, MANY_RIDES: 300_000},
    ).items():
        words = f"{riders:,} simulated rides on {where}, every station passed"

        made[name] = lab.simulated(f"rides-{riders}", words, city, partial(_rides, city, riders))
    if not any(source.kind == "public" for source in lab.sources.values()):
        differs.append("The networks are invented or yours; --full --data uses Montreal's public feeds.")
    return Datasets(made, " ".join(differs))


def _week(city: Callable[[], Network], riders: int, mean: float, longest: int) -> Trips:
    return simulate_week(city(), riders, seed=SEED, mean_visits=mean, busiest=longest)


def _rides(city: Callable[[], Network], riders: int) -> Trips:
    return simulate_city(city(), riders, seed=SEED).trips


def _city(lab: Lab, name: str) -> tuple[Callable[[], Network], str]:
    feed = None
    if lab.world is None and lab.scale == "full":
        feed = lab.public_file(
            f"montreal-{name.lower()}/gtfs.zip", f"the GTFS feed of Montreal's {name.lower()} (STM)"
        )
    if feed is None:
        stops, lines = SHAPES[name] if lab.scale != "tiny" else (40, 4)
        if lab.world is not None:
            return lab.city(stops=stops, lines=lines), "that city"
        words = f"an invented city of about {stops:,} stops and {lines} lines"
        lab.note_simulated(f"city-{name.lower()}", words)
        return lambda: lab.once(f"city {stops}", lambda: invented_city(stops, lines, SEED)), words
    from wayveil.world.gtfs import read_gtfs

    path, box = feed, BUS_BOX if name == BUS else None
    return lambda: lab.once(f"montreal {name}", lambda: read_gtfs(path, bbox=box)), "that network"


def limited(trips: Trips, bins: int, of_week: Callable[[Trips], np.ndarray]) -> Trips:
    """Keep only the visits within the first so many timestamps, as the study did for Figure 8."""
    kept = trips.keep_visits(of_week(trips) < bins)
    return kept.take(kept.lengths > 0)


def shrunken(trips: Trips) -> Trips:
    """Keep the busiest 20 stops and the hours of everybody's first day, as the study did for SeqPT."""
    if trips.time is None:
        return trips
    day = trips.time // DAY
    trips = trips.keep_visits(
        day == np.repeat(day[trips.offsets[:-1][trips.lengths > 0]], trips.lengths[trips.lengths > 0])
    )
    busiest = np.argsort(-np.bincount(trips.location, minlength=trips.world.size), kind="stable")[:STOPS_LEFT]
    trips = trips.keep_visits(np.isin(trips.location, busiest))
    trips = trips.take(np.flatnonzero(trips.lengths > 0)[:RECORDS_LEFT])
    code = np.full(trips.world.size, -1, np.int32)
    code[busiest] = np.arange(len(busiest))
    world = World([f"stop {i:02}" for i in range(len(busiest))])
    return Trips(code[trips.location], trips.offsets, world, trips.time, history=trips.history)
