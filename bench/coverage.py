"""Do 95 % intervals hold the truth in 95 of 100 cases, and do verdicts say what the raw trips show?

    python -m bench coverage
    WAYVEIL_COVERAGE="worlds=tube,msnbc mechanisms=markov epsilons=1 releases=5 again=1" python -m bench coverage
    WAYVEIL_COVERAGE="worlds=town-48,town-240,list-60" python -m bench coverage

By kind of question, mechanism, world and epsilon: the share of shown numbers whose interval holds the raw one, half the
median width beside the median error, and the verdict beside what the raw trips say. Every kind is measured, also those
for which the mechanism says that no interval is known; the page tells them apart. What was measured is kept with the
docs (see `coverage_cells`), so that a run that was stopped goes on and a part can be measured `again`; docs/accuracy.md
is written from all of it. The towns and lists are simulated: which kinds are printed, and every constant, is set on
them, and nothing is judged on them.
"""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from bench.coverage_cells import JUDGED, SET, keep_cells, key_of, read_cells
from bench.coverage_page import write_page
from bench.worlds import WORLDS, MissingDataError, berlin_network, data, tube
from wayveil.accuracy.judging import judge
from wayveil.errors import WayveilError
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.units import Event, Trip
from wayveil.releases.release import Release
from wayveil.run import make_release as release
from wayveil.simulate.city import draw_departures, simulate_city
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.simulate.feed import write_city
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.counted import CountsCells
from wayveil.synthesis.estimates import Interval, Visits
from wayveil.synthesis.model import OfTaps
from wayveil.synthesis.public_knowledge import floor
from wayveil.synthesis.tallies import KINDS, Tally, kinds_for, tally
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network
from wayveil.world.paths import along_paths, shortest_paths
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

Made = TypeVar("Made")
# Every n-th trip of a world, so that there are no more than this: shapes stay, and a release takes a second.
MOST_TRIPS = 10_000
MOST_RELEASES = 20
# Where releases take long, fewer of them are made: no less than this, and no more once so many seconds have passed.
FEWEST_RELEASES, PATIENCE = 5, 150
# Times are those of the first so many, with the kinds that people are shown where a release takes less than a second.
TIMED_RELEASES, SHORT = 3, 1.0
SHOWN = ("world", "mechanism", "epsilon", "kind", "releases", "coverage", "half_width", "error", "time_ratio")
ON_TAPS = {"visits": (), "stops": ("stop",), "hours": ("hour",), "stop-hours": ("stop", "hour")}


def town(stops: int, seed: int) -> Network:
    """An invented network."""
    with tempfile.TemporaryDirectory() as folder:
        return read_gtfs(write_city(Path(folder) / "town.zip", seed, stops=stops, lines=2 + stops // 24))


def habits(stops: int, seed: int, *, listed: bool = False) -> Trips:
    """Riders with habits in an invented town; `listed`: over the list of its stops, without the network."""
    network = town(stops, seed)
    trips = simulate_habit(network, MOST_TRIPS, seed=seed)
    return Trips(trips.location, trips.offsets, World(network.ids) if listed else network, trips.time)


def hubs(stops: int, seed: int, count: int = MOST_TRIPS) -> Trips:
    """Riders whose ends are as uneven as in real towns: a few stops have most of them, and near ones are preferred."""
    network, rng = town(stops, seed), np.random.default_rng(seed)
    liked, wanted = rng.lognormal(0, 1.5, (2, network.size))
    north, east = network.lat * 111.2, network.lon * 111.2 * np.cos(np.radians(network.lat.mean()))
    away = np.hypot(north[:, None] - north, east[:, None] - east)
    weight = liked[:, None] * wanted * np.exp(-2 * away / away.mean())
    np.fill_diagonal(weight, 0)
    ends = rng.choice(weight.size, 2 * count, p=(weight / weight.sum()).ravel())
    paths = shortest_paths(network, ends // network.size, ends % network.size, "seconds")
    trips = Trips(paths.location, paths.offsets, network).take(np.flatnonzero(paths.reachable)[:count])
    start = draw_departures(rng, len(trips))
    riding = along_paths(network, trips.location, trips.offsets, network.seconds)
    time = np.repeat(start, np.diff(trips.offsets)) + riding.astype(np.int64)
    return Trips(trips.location, trips.offsets, network, time)


def clicks(places: int, seed: int, *, stay: float, end: float, timed: bool = False) -> Trips:
    """Walks over a list: a few places are liked by all, most next places depend on the last, some trips are long."""
    rng = np.random.default_rng(seed)
    liked = rng.dirichlet(np.full(places, 0.3))
    table = 0.5 * liked + 0.5 * rng.dirichlet(np.full(places, 0.1), places)
    ends = np.clip(rng.gamma(2.0, end / 2, MOST_TRIPS), 0.02, 1.0)
    lengths = np.minimum(rng.geometric(ends), 200)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    location = np.empty(offsets[-1], np.int32)
    here = rng.choice(places, MOST_TRIPS, p=liked)
    sums = table.cumsum(axis=1)
    for step in range(int(lengths.max())):
        going = lengths > step
        location[offsets[:-1][going] + step] = here[going]
        draw = rng.random(MOST_TRIPS)
        following = np.minimum((sums[here] < draw[:, None]).sum(axis=1), places - 1)
        here = np.where(rng.random(MOST_TRIPS) < stay, here, following)
    time = None
    if timed:
        start = np.clip(rng.normal(13, 4, MOST_TRIPS), 0, 23).astype(np.int64) * 3_600
        place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        time = np.repeat(start, lengths) + 300 * place
    return Trips(location, offsets, World.of_symbols([f"{i:04d}" for i in range(places)]), time)


def taps_of(network: Network, seed: int) -> Trips:
    """Simulated boardings, a trip of one stop each."""
    return simulate_taps(network, MOST_TRIPS, seed=seed).taps.as_single_visits()


# To set constants, and to choose which intervals are printed; never to judge by.
SETTING: dict[str, Callable[[], Trips]] = {
    "town-48": lambda: habits(48, 11),
    "town-240": lambda: habits(240, 12),
    "fast-160": lambda: simulate_city(town(160, 14), MOST_TRIPS, seed=14).trips,
    "list-60": lambda: habits(60, 13, listed=True),
    "clicks-20": lambda: clicks(20, 15, stay=0.3, end=0.3),
    "reruns-12": lambda: clicks(12, 18, stay=0.6, end=0.15),
    "cards-300": lambda: clicks(300, 16, stay=0.0, end=0.4, timed=True),
    "cards-1200": lambda: clicks(
        1_200, 19, stay=0.0, end=0.4, timed=True
    ),  # too long a list for so few trips
    "taps-90": lambda: taps_of(town(90, 17), 17),
    # Networks that are too large for so few riders, as large towns are: most of what is shown of them is noise.
    "fast-1500": lambda: simulate_city(town(1_500, 20), MOST_TRIPS, seed=20).trips,
    "taps-900": lambda: taps_of(town(900, 21), 21),
    # Sizes between the others.
    "town-600": lambda: habits(600, 22),
    "list-250": lambda: habits(250, 23, listed=True),
    "clicks-60": lambda: clicks(60, 24, stay=0.1, end=0.2),
    # Demand that public knowledge has no idea of, as in most real towns.
    "hubs-120": lambda: hubs(120, 25),
    "hubs-300": lambda: hubs(300, 26),
    "hubs-700": lambda: hubs(700, 27),
}
# Riders and samples that no constant and no choice was made with.
JUDGING: dict[str, Callable[[], Trips]] = {
    "tube": lambda: tube(MOST_TRIPS * 2),
    "oyster": WORLDS["oyster"],
    "berlin-10k": lambda: simulate_city(berlin_network(), 10_000, seed=71).trips,
    "buenos-aires": WORLDS["buenos-aires"],
    "msnbc": WORLDS["msnbc"],
    "victoria-taps": lambda: taps_of(read_gtfs(data("victoria", "gtfs.zip"), walk_radius_metres=300), 72),
    "habit-city": lambda: habits(200, 73),
}
MECHANISMS = (
    "noisy-prefix-tree",
    "ppdp",
    "safepath",
    "markov",
    "mobitrie",
    "variable-ngrams",
    "weave",
    "tap-counts",
)


@cache
def world(name: str) -> Trips:
    """The raw trips: every n-th of them from the second on, each a unit of its own."""
    trips = {**SETTING, **JUDGING}[name]()
    step = -(-len(trips) // MOST_TRIPS)
    trips = trips.take(np.arange(min(1, step - 1), len(trips), step))
    return Trips(trips.location, trips.offsets, trips.world, trips.time)


def run() -> list[dict]:
    """Measure the wanted cells that were not measured yet, and write the page."""
    wanted = dict(part.split("=") for part in os.environ.get("WAYVEIL_COVERAGE", "").split())
    releases, again = int(wanted.get("releases", MOST_RELEASES)), bool(int(wanted.get("again", 0)))
    patience = float(wanted.get("patience", PATIENCE))
    for epsilon in _split(wanted, "epsilons", ("1", "0.5", "2")):
        for place in _split(wanted, "worlds", tuple(JUDGING)):
            file = JUDGED if place in JUDGING else SET
            done = set() if again else {key_of(row) for row in read_cells(file)}
            for name in _split(wanted, "mechanisms", MECHANISMS):
                if (place, name, epsilon) in done:
                    continue
                try:
                    keep_cells(file, measure_cell(place, name, epsilon, releases, patience))
                except MissingDataError as error:
                    print(error)
    rows = read_cells(JUDGED)
    if rows:
        write_page(rows, JUDGING, MECHANISMS)
    return [{name: row[name] for name in SHOWN} for row in rows if "kind" in row]


def _split(wanted: dict[str, str], name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(wanted[name].split(",")) if name in wanted else default


def measure_cell(
    place: str, name: str, epsilon: str, releases: int, patience: float = PATIENCE
) -> list[dict]:
    """Several releases of one mechanism on one world; fewer where they take long."""
    raw, chosen = world(place), mechanism(name)()
    truth, told = truths(place)
    seen: dict[str, list[dict]] = {}
    spent: list[float] = []  # seconds of every release
    times: list[tuple[float, float, float]] = []  # of release, intervals and answer
    unit = Event() if issubclass(chosen.makes, OfTaps) else Trip()
    for turn in range(releases):
        if turn >= FEWEST_RELEASES and sum(spent) > patience:
            break
        try:
            made, making = timed(partial(release, raw, chosen, epsilon=epsilon, unit=unit))
            found, judging = timed(partial(judge, made, holds=KINDS))
            if turn < TIMED_RELEASES and making < SHORT:
                _, judging = timed(partial(judge, made))  # the kinds that people are shown
            made = replace(made, known_accuracy=found)
            _, answering = timed(partial(made.ask, "stops"))
        except WayveilError as error:
            print(f"{place} {name} {epsilon}: {error}", flush=True)
            return [{"world": place, "mechanism": name, "epsilon": epsilon, "refused": str(error)}]
        spent.append(making)
        if turn < TIMED_RELEASES:
            times.append((making, judging, answering))
        for kind in truth if made.trips.time is not None else [k for k in truth if not KINDS[k].timed]:
            of_taps = isinstance(made.model, OfTaps)
            one = (judge_counted if of_taps else judge_kind)(made, kind, truth[kind], told[kind])
            if one is not None:
                seen.setdefault(kind, []).append(one)
    took = np.sum(times, axis=0)
    rows = [_row(kind, each, took) for kind, each in seen.items()]
    print(place, name, epsilon, len(spent), [round(float(each), 3) for each in took / len(times)], flush=True)
    return [{"world": place, "mechanism": name, "epsilon": epsilon, **row} for row in rows]


@cache
def truths(place: str) -> tuple[dict[str, Tally], dict[str, Tally]]:
    """What the raw trips of a world say, and what public knowledge alone says of it."""
    raw = world(place)
    bins = None if raw.time is None else TimeBins.hour_of_day()
    public = floor(raw.world, len(raw), 1, bins=bins)
    kinds = kinds_for(raw)
    return {kind: tally(kind, raw) for kind in kinds}, {kind: tally(kind, public) for kind in kinds}


def timed(work: Callable[[], Made]) -> tuple[Made, float]:
    """What the work gives, and how long the processor took."""
    start = time.process_time()
    return work(), time.process_time() - start


def _row(kind: str, each: list[dict], took: np.ndarray) -> dict:
    known = [one["inside"] for one in each if one["inside"] is not None]
    covered = np.concatenate(known) if known else np.zeros(0)
    return {
        "kind": kind,
        "releases": len(each),
        "coverage": float(covered.mean()) if len(covered) else None,
        "intervals": len(covered),
        "counted": each[0].get("counted", True),
        "unlisted": _mean([one["unlisted"] for one in each]),
        "half_width": _mean([one["half"] for one in each]),
        "error": _mean([one["error"] for one in each]),
        "size": _mean([one.get("size") for one in each]),
        "better": sum(one["better"] for one in each),
        "margins": [one["margin"] for one in each if one["margin"] is not None],
        "time_ratio": float(took[1] / max(took[0], 1e-9)),
        "answer_ratio": float(took[2] / max(took[0], 1e-9)),
    }


def judge_kind(made: Release, kind: str, true: Tally, public: Tally) -> dict:
    """One kind of one release against the raw trips."""
    shown = tally(kind, made.trips)
    verdict = made.accuracy.of(kind)
    raw = true.at(shown.cells)
    hidden = true.cells[~np.isin(true.cells, shown.cells)]
    ends, others = (
        made.interval(kind, cells, values)
        for cells, values in ((shown.cells, shown.values), (hidden, np.zeros(len(hidden))))
    )
    inside = half = unlisted = None
    if ends is not None:
        known = ~np.isnan(ends[0])
        inside = _holds(ends, raw)[known]
        half = float(np.median((ends[1] - ends[0])[known]) / 2) if known.any() else None
    if others is not None and (~np.isnan(others[0])).any():
        unlisted = float(np.mean(_holds(others, true.at(hidden))[~np.isnan(others[0])]))
    off, floor_off = (distance(true, side) for side in (shown, public))
    better = off < (floor_off if KINDS[kind].public else true.values.sum())
    return {
        "inside": inside,
        "half": half,
        "unlisted": unlisted,
        "counted": isinstance(made.model, CountsCells) and made.model.counted(kind) is not None,
        "error": float(np.median(np.abs(shown.values - raw))) if len(raw) else None,
        "margin": None if verdict is None else verdict.margin,
        "better": bool(better and off < true.values.sum()),
        "size": off / max(true.values.sum(), 1.0),
    }


def _holds(ends: Interval, raw: np.ndarray) -> np.ndarray:
    """Whether intervals in whole numbers hold the raw ones."""
    return (np.floor(ends[0]) <= raw) & (raw <= np.ceil(ends[1]))


def judge_counted(made: Release, kind: str, true: Tally, public: Tally) -> dict | None:
    """One kind of a release that counted taps, from the law of its noise."""
    found = made.estimate(Visits(ON_TAPS[kind])) if kind in ON_TAPS else None
    if found is None or found.interval is None:
        return None
    raw = true.at(np.arange(len(found.values)))
    return judge_kind(made, kind, true, public) | {
        "inside": _holds(found.interval, raw),
        "counted": True,
        "half": float(np.median(found.interval[1] - found.interval[0]) / 2),
        "unlisted": None,
        "error": float(np.median(np.abs(found.values - raw))),
    }


def distance(left: Tally, right: Tally) -> float:
    """Sum of absolute differences."""
    cells = np.union1d(left.cells, right.cells)
    return float(np.abs(left.at(cells) - right.at(cells)).sum())


def _mean(values: list) -> float | None:
    known = [float(value) for value in values if value is not None]
    return float(np.mean(known)) if known else None
