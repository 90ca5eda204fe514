"""A dense and a sparse city, and one trial: a release, its STRAP against three adversaries, its error.

Where the settings lie is public: what matters is the noise of one count beside the riders per place. So the sparse
city, with some ten times as many places, is asked a decade higher, and so are mechanisms that share epsilon among many
levels or grids. They were set with other riders (seed 1) than those that are judged.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from wayveil.attacks.targets import people_of, some_people
from wayveil.counting.local import LocalCounter
from wayveil.lab.strap.strap_study import StrapSettings, StrapStudy
from wayveil.lab.studies.lab import Lab, invented_city
from wayveil.lab.studies.study import CellOutcome, Setting, figures
from wayveil.lab.syntactic.glove import draw_trips, fingerprints, merge_groups
from wayveil.lab.syntactic.method import Lots, anonymise, methods
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import DAY, Rider
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.public_knowledge import floor
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import RangeCounts
from wayveil.world.geo import project
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network

DENSE, SPARSE = "dense", "sparse"
# The same riders in the shape of the study: eight hours, a place every five minutes.
DAYS = {f"{city}, eight hours": city for city in (DENSE, SPARSE)}
SEED = 11
ONE_TRIP_EACH = Rider(max_trips=1)  # as the riders here have


@dataclass(frozen=True)
class City:
    """A network, and so many riders with habits in the database that every method releases."""

    network: Callable[[], Network]
    riders: int
    day: bool = False

    @cached_property
    def halves(self) -> tuple[Trips, Trips]:
        """The database, and as many other riders of the same demand: twice as many are simulated, and split."""
        both = simulate_habit(self.network(), 2 * self.riders, seed=SEED)
        both = eight_hours(both) if self.day else both
        odd = people_of(both) % 2 == 1
        return both.take(np.flatnonzero(~odd)), both.take(np.flatnonzero(odd))


def cities(lab: Lab) -> dict[str, City]:
    """Both, noted as sources."""
    many, few = lab.pick(tiny=(60, 40), quick=STUDY_USERS, full=STUDY_USERS)
    stops, lines = lab.pick(tiny=(60, 6), quick=(200, 14), full=(200, 14))
    dense = lab.city(stops=stops, lines=lines, seed=0)
    feed = lab.public_file("victoria/gtfs.zip", "the GTFS feed of Victoria") if lab.scale == "full" else None
    wide = lab.pick(tiny=120, quick=1_200, full=2_400)
    if feed is None:
        lab.note_simulated("sparse", f"an invented city of about {wide:,} stops")

    def sparse() -> Network:
        if feed is not None:
            return lab.once("victoria", lambda: read_gtfs(feed, name="Victoria"))
        return lab.once("sparse", lambda: invented_city(wide, max(4, wide // 30), 2))

    words = f"{many:,} simulated riders with habits in the dense city and {few:,} in the sparse one, for every method"
    lab.note_simulated("riders", words)
    made = {DENSE: City(dense, many), SPARSE: City(sparse, few)}
    return made | {name: replace(made[city], day=True) for name, city in DAYS.items()}


# Seconds: of the day that is looked at (from an hour after the first peak's begin), between two looks, and of a stay.
BEGIN, HOURS, EVERY, STAY = 8 * 3_600, 8 * 3_600, 300, 3 * 3_600


def eight_hours(trips: Trips) -> Trips:
    """Return where each rider is, every five minutes of eight hours; a place that is kept is one visit.

    A rider is at the origin of a trip before it, stays at its end for three hours, and comes back the same way.
    """
    assert trips.time is not None
    ticks = BEGIN + np.arange(0, HOURS, EVERY)
    location, time, lengths = [], [], []
    for first, last in pairwise(trips.offsets.tolist()):
        way, at = trips.location[first:last], trips.time[first:last] - trips.time[first] // DAY * DAY
        back = at[-1] + STAY + (at[-1] - at[::-1])
        places, since = np.concatenate([way, way[::-1]]), np.concatenate([at, back])
        here = places[np.maximum(np.searchsorted(since, ticks, side="right") - 1, 0)]
        new = np.append(True, here[1:] != here[:-1])
        location.append(here[new])
        time.append(ticks[new])
        lengths.append(int(new.sum()))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return replace(
        trips, location=np.concatenate(location), time=np.concatenate(time).astype(np.int64), offsets=offsets
    )


STUDY_USERS = (400, 70)  # taxis of the dense city, walkers of the sparse one
LOWER, MIDDLE, UPPER = (0.003, 0.01, 0.03, 0.1, 0.3), (0.03, 0.1, 0.3, 1.0, 3.0), (0.3, 1.0, 3.0, 10.0, 30.0)
EPSILONS = {
    DENSE: {"dpt": MIDDLE, "markov": LOWER, "noisy-prefix-tree": MIDDLE},
    SPARSE: {"dpt": UPPER, "markov": MIDDLE, "noisy-prefix-tree": UPPER},
}
CROWDS = (2.0, 3.0, 4.0, 5.0, 6.0)
WITH_K = ("glove", "plausible-deniability")
KNOWN = (0.2, 0.3, 0.4)
RAW, HOLD_OUT, FLOOR, MIRRORED = LINES = ("raw", "hold-out", "floor", "mirrored")
STRAP, ERROR, VISITS, SECONDS = "STRAP", "relative error of range counts", "visits per trip", "seconds"
TIMED_ERROR, TIMED_STRAP = "relative error of range counts by hour", "STRAP, neighbours by time too"
TIMED = "p = 0.3, by time"


class AttackedCity:
    """One city with so many riders: raw trips, and adversaries who know more or less of them."""

    def __init__(self, raw: Trips, looked_at: int) -> None:
        self.raw = raw
        people = some_people(raw, looked_at, 0)
        first = StrapStudy(people, StrapSettings(p=KNOWN[0]))
        self.studies = {f"p = {p:g}": first.knowing(p) for p in KNOWN}
        if raw.time is not None:
            self.studies[TIMED] = StrapStudy(people, StrapSettings(p=0.3, timed=True))
        self.ranges, self.timed = RangeCounts(raw.without_times()), RangeCounts(raw)
        self._groups: dict[int, tuple[tuple[Any, Any, Any], float]] = {}

    def measure(self, made: Trips) -> list[dict[str, Any]]:
        """STRAP by what the adversary knows, and the errors; of nothing only that it is nothing."""
        if made.visits == 0:
            return figures({VISITS: 0.0}, known="any")
        looked = self.studies[f"p = {KNOWN[0]:g}"].look_at(made)
        rows: list[dict[str, Any]] = []
        for known, study in self.studies.items():
            figure = STRAP if known != TIMED else TIMED_STRAP
            rows += figures({figure: study.measure(looked).total}, known=known)
        (error,) = self.ranges.measure(made.without_times())
        values: dict[str, float | None] = {ERROR: error.value, VISITS: made.visits / len(made)}
        if made.time is not None and self.raw.time is not None:
            values[TIMED_ERROR] = self.timed.measure(made)[0].value
        return rows + figures(values, known="any")

    def groups(self, k: int) -> tuple[tuple[Any, Any, Any], float]:
        """GLOVE's groups, which involve no chance, and the processor seconds that they took."""
        if k not in self._groups:
            begin = time.process_time()
            sample, offsets, _ = fingerprints(self.raw, "glove")
            group, boxes, of_box, _ = merge_groups(sample, offsets, k)
            self._groups[k] = (boxes, of_box, np.bincount(group)), time.process_time() - begin
        return self._groups[k]


class StrapTrials:
    """Runs trials, and prepares each city once."""

    def __init__(self, cities: dict[str, City], looked_at: int) -> None:
        self.cities, self.looked_at = cities, looked_at
        self._places: dict[str, AttackedCity] = {}

    def place(self, city: str) -> AttackedCity:
        """The city with its database, ready for trials."""
        if city not in self._places:
            self._places[city] = AttackedCity(self.cities[city].halves[0], self.looked_at)
        return self._places[city]

    def line(self, setting: Setting, repetition: int) -> CellOutcome:
        """Measure what a release is compared with: raw trips, other riders, public knowledge, another city."""
        city = self.cities[setting["city"]]
        place, name, network = self.place(setting["city"]), setting["mechanism"], city.network()
        made = {
            RAW: lambda: place.raw,
            HOLD_OUT: lambda: city.halves[1],
            FLOOR: lambda: floor(network, len(place.raw), 1),
            MIRRORED: lambda: mirrored(city.halves[1]),
        }[name]()
        return CellOutcome([{**row, "parameter": "-", "setting": "-"} for row in place.measure(made)])

    def trial(self, setting: Setting, repetition: int) -> CellOutcome:
        """One release, with the processor seconds that it took."""
        city, name, value = self.cities[setting["city"]], setting["mechanism"], setting["parameter"]
        place = self.place(setting["city"])
        bits = SeededBits(f"{name} {value} {repetition}")
        groups, grouping = place.groups(int(value)) if name == "glove" else (None, 0.0)
        begin = time.process_time()
        if groups is not None:
            made = draw_trips(*groups, city.network(), Lots(bits))
        elif name in WITH_K:
            made = anonymise(place.raw, methods()[name](k=int(value)), bits=bits).trips
        else:
            kind, gate = mechanism(name)(), Gate(ONE_TRIP_EACH, Budget(value), bits)
            counted = gate.bound(kind.rule(place.raw.world).apply(place.raw))
            made = kind.measure(LocalCounter(counted), gate).generate(repetition)
        seconds = grouping + time.process_time() - begin
        rows = place.measure(made) + figures({SECONDS: seconds}, known="any")
        said = f"{'k' if name in WITH_K else 'ε'} = {value}"
        return CellOutcome([{**row, "setting": said} for row in rows])


def mirrored(trips: Trips) -> Trips:
    """The trips of an unrelated city: every place swapped for the one nearest to its mirror image."""
    network = trips.world
    assert isinstance(network, Network)  # riders with habits travel on one
    east, north = project(network.lat, network.lon)
    tree = cKDTree(np.column_stack([east, north]))
    images = np.column_stack([east.min() + east.max() - east, north.min() + north.max() - north])
    return Trips(tree.query(images)[1][trips.location].astype(np.int32), trips.offsets, network)
