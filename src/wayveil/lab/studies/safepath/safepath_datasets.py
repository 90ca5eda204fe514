"""The study's two weeks of taps in Montreal, or what stands in for them: a rider's week is a trip."""

from collections.abc import Callable

import numpy as np

from wayveil.lab.studies.lab import Datasets, Lab, invented_city
from wayveil.lab.studies.safepath.safepath_printed import BUS, METRO, RECORDS_LEFT, STOPS_LEFT, TABLE_2
from wayveil.simulate.city import simulate_city
from wayveil.simulate.week import simulate_week
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.timebins import DAY
from wayveil.world.world import World

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
    for name, (records, _, _, _, mean) in TABLE_2.items():
        if own is not None and name == BUS:
            made[name] = own
            differs.append(f"'{BUS}' are your own trips.")
            continue
        city, where = _city(lab, name)
        riders = lab.pick(tiny=400, quick=60_000, full=records)
        words = f"{riders:,} simulated riders' weeks on {where}, stood for as '{name}'"

        def simulate(city: Callable[[], Network] = city, riders: int = riders, mean: float = mean) -> Trips:
            return simulate_week(city(), riders, seed=SEED, mean_visits=mean)

        made[name] = lab.simulated(f"{name.lower()}-{riders}", words, city, simulate)
        if riders < records:
            differs.append(f"'{name}' has {riders:,} riders here, {records:,} in the study.")
    city, where = _city(lab, METRO)
    for name, riders in lab.pick(
        tiny={FEW_RIDES: 200, MANY_RIDES: 300},
        quick={FEW_RIDES: 20_000, MANY_RIDES: 60_000},
        full={FEW_RIDES: 100_000, MANY_RIDES: 300_000},
    ).items():
        words = f"{riders:,} simulated rides on {where}, every station passed"

        def ride(city: Callable[[], Network] = city, riders: int = riders) -> Trips:
            return simulate_city(city(), riders, seed=SEED).trips

        made[name] = lab.simulated(f"rides-{riders}", words, city, ride)
    if not any(source.kind == "public" for source in lab.sources.values()):
        differs.append("The networks are invented or yours; --full --data uses Montreal's public feeds.")
    return Datasets(made, " ".join(differs))


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
    """As the study did for Figure 8: only the visits within the first so many timestamps."""
    kept = trips.keep_visits(of_week(trips) < bins)
    return kept.take(kept.lengths > 0)


def shrunken(trips: Trips) -> Trips:
    """As the study did for SeqPT: the busiest 20 stops and the hours of everybody's first day; the rest is left out."""
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
