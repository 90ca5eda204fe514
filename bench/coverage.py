"""Do 95 % intervals hold the truth in 95 of 100 cases, and do verdicts say what the raw trips show?

    python -m bench coverage
    WAYVEIL_COVERAGE="worlds=tube,msnbc mechanisms=markov epsilons=1 releases=5" python -m bench coverage
    WAYVEIL_COVERAGE="worlds=town-48,town-120,list-60" python -m bench coverage

By kind of question, mechanism, world and epsilon: the share of shown numbers whose interval holds the raw one, half the
median width beside the median error, and the verdict beside what the raw trips say. Every kind is measured, also those
for which the mechanism says that no interval is known; the page tells them apart. Cells of earlier runs stay until they
are run again, and docs/accuracy.md is written from all of them. The towns and lists are simulated: constants are set on
them, and nothing is judged on them.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from bench.coverage_page import write_page
from bench.worlds import WORLDS, MissingDataError, berlin_10k, data, tube
from wayveil.errors import WayveilError
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.units import Event, Trip
from wayveil.releases.accuracy import find_accuracy
from wayveil.releases.release import Release, release
from wayveil.releases.tallies import KINDS, Tally, kinds_for, tally
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.simulate.feed import write_city
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.estimates import Visits
from wayveil.synthesis.model import OfTaps
from wayveil.synthesis.public_knowledge import floor
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

RESULTS = Path(__file__).parent / "results" / "coverage.json"
MOST_TRIPS = 20_000
ON_TAPS = {"visits": (), "stops": ("stop",), "hours": ("hour",), "stop-hours": ("stop", "hour")}


def simulated(stops: int, riders: int, seed: int, *, listed: bool = False) -> Trips:
    """Riders with habits in an invented town; `listed`: over the list of its stops, without the network."""
    with tempfile.TemporaryDirectory() as folder:
        network = read_gtfs(write_city(Path(folder) / "town.zip", seed, stops=stops, lines=2 + stops // 24))
    trips = simulate_habit(network, riders, seed=seed)
    return Trips(trips.location, trips.offsets, World(network.ids) if listed else network, trips.time)


def victoria_taps() -> Trips:
    """Simulated boardings on the network of Victoria, a trip of one stop each."""
    network = read_gtfs(data("victoria", "gtfs.zip"), walk_radius_metres=300)
    return simulate_taps(network, MOST_TRIPS, seed=1).taps.as_single_visits()


# To set constants on; never to judge by.
SETTING: dict[str, Callable[[], Trips]] = {
    "town-48": lambda: simulated(48, 8_000, 11),
    "town-120": lambda: simulated(120, 20_000, 12),
    "list-60": lambda: simulated(60, 12_000, 13, listed=True),
}
JUDGING: dict[str, Callable[[], Trips]] = {
    "tube": lambda: tube(MOST_TRIPS),
    "oyster": WORLDS["oyster"],
    "berlin-10k": berlin_10k,
    "buenos-aires": WORLDS["buenos-aires"],
    "msnbc": WORLDS["msnbc"],
    "victoria-taps": victoria_taps,
    "habit-city": lambda: simulated(200, 20_000, 3),
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
    """The raw trips: every n-th of them where there are more than `MOST_TRIPS`, each a unit of its own."""
    trips = {**SETTING, **JUDGING}[name]()
    trips = trips.take(np.arange(0, len(trips), -(-len(trips) // MOST_TRIPS)))
    return Trips(trips.location, trips.offsets, trips.world, trips.time)


def run() -> list[dict]:
    """Measure the wanted cells and write the page."""
    wanted = dict(part.split("=") for part in os.environ.get("WAYVEIL_COVERAGE", "").split())
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    releases = int(wanted.get("releases", 20))
    for epsilon in _split(wanted, "epsilons", ("1", "0.5", "2")):
        for place in _split(wanted, "worlds", tuple(JUDGING)):
            for name in _split(wanted, "mechanisms", MECHANISMS):
                try:
                    found = measure_cell(place, name, epsilon, releases)
                except MissingDataError as error:
                    print(error)
                    continue
                key = (place, name, epsilon)
                rows = [
                    row for row in rows if (row["world"], row["mechanism"], row["epsilon"]) != key
                ] + found
                RESULTS.parent.mkdir(exist_ok=True)
                RESULTS.write_text(json.dumps(rows, indent=1))
                write_page(rows, set(SETTING))
    return rows


def _split(wanted: dict[str, str], name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(wanted[name].split(",")) if name in wanted else default


def measure_cell(place: str, name: str, epsilon: str, releases: int) -> list[dict]:
    """Several releases of one mechanism on one world."""
    raw, chosen = world(place), mechanism(name)()
    truth: dict[str, Tally] = {kind: tally(kind, raw) for kind in kinds_for(raw)}
    bins = None if raw.time is None else TimeBins.hour_of_day()
    public = floor(raw.world, len(raw), 1, bins=bins)
    known = {kind: tally(kind, public) for kind in truth}
    seen: dict[str, list[dict]] = {}
    took = np.zeros(3)
    for _ in range(releases):
        try:
            start = time.process_time()
            made = release(
                raw, chosen, epsilon=epsilon, unit=Event() if issubclass(chosen.makes, OfTaps) else Trip()
            )
            took[0] += time.process_time() - start
            start = time.process_time()
            found = find_accuracy(made, holds=KINDS)
            took[1] += time.process_time() - start
            start = time.process_time()
            replace(made, known_accuracy=found).ask("stops")
            took[2] += time.process_time() - start
        except WayveilError as error:
            print(f"{place} {name} {epsilon}: {error}")
            return []
        for kind in truth if made.trips.time is not None else [k for k in truth if not KINDS[k].timed]:
            one = judge_counted(made, kind, truth[kind]) if isinstance(made.model, OfTaps) else None
            if one is None and not isinstance(made.model, OfTaps):
                one = judge_kind(made, found, kind, truth[kind], known[kind])
            if one is not None:
                seen.setdefault(kind, []).append(one)
    rows = []
    for kind, each in seen.items():
        known = [one["inside"] for one in each if one["inside"] is not None]
        covered = np.concatenate(known) if known else None
        row = {
            "world": place,
            "mechanism": name,
            "epsilon": epsilon,
            "kind": kind,
            "releases": len(each),
            "coverage": None if covered is None or not len(covered) else float(covered.mean()),
            "intervals": None if covered is None else len(covered),
            "unlisted": _mean([one["unlisted"] for one in each]),
            "half_width": _mean([one["half"] for one in each]),
            "error": _mean([one["error"] for one in each]),
            "said_better": _mean([one["said"] for one in each]),
            "is_better": _mean([one["better"] for one in each]),
            "agreed": _mean([None if one["said"] is None else one["said"] == one["better"] for one in each]),
            "wrongly": _mean([None if one["said"] is None else one["said"] > one["better"] for one in each]),
            "time_ratio": float(took[1] / max(took[0], 1e-9)),
            "answer_ratio": float(took[2] / max(took[0], 1e-9)),
        }
        rows.append(row)
        print({key: round(v, 3) if isinstance(v, float) else v for key, v in row.items()}, flush=True)
    return rows


def judge_kind(made: Release, found, kind: str, true: Tally, public: Tally) -> dict:
    """One kind of one release against the raw trips."""
    shown, bands = tally(kind, made.trips), found.bands.get(kind)
    verdict = found.of(kind)
    raw = true.at(shown.cells)
    inside = half = unlisted = None
    if bands is not None:
        low, high = bands.ends(shown.values)
        inside = (np.floor(low) <= raw) & (raw <= np.ceil(high))
        half = float(np.median(high - low) / 2) if len(raw) else None
        hidden = true.values[~np.isin(true.cells, shown.cells)]
        if bands.unlisted is not None and len(hidden):
            unlisted = float(np.mean(hidden <= np.ceil(bands.unlisted)))
    off, floor_off = (distance(true, side) for side in (shown, public))
    better = off < (floor_off if KINDS[kind].public else true.values.sum())
    return {
        "inside": inside,
        "half": half,
        "unlisted": unlisted,
        "error": float(np.median(np.abs(shown.values - raw))) if len(raw) else None,
        "said": None if verdict is None else float(verdict.says_more),
        "better": float(better and off < true.values.sum()),
    }


def judge_counted(made: Release, kind: str, true: Tally) -> dict | None:
    """One kind of a release that counted taps, from the law of its noise."""
    found = made.estimate(Visits(ON_TAPS[kind])) if kind in ON_TAPS else None
    if found is None or found.interval is None:
        return None
    raw = true.at(np.arange(len(found.values)))
    low, high = found.interval
    return {
        "inside": (np.floor(low) <= raw) & (raw <= np.ceil(high)),
        "half": float(np.median(high - low) / 2),
        "unlisted": None,
        "error": float(np.median(np.abs(found.values - raw))),
        "said": None,
        "better": 0.0,
    }


def distance(left: Tally, right: Tally) -> float:
    """Sum of absolute differences."""
    cells = np.union1d(left.cells, right.cells)
    return float(np.abs(left.at(cells) - right.at(cells)).sum())


def _mean(values: list) -> float | None:
    known = [float(value) for value in values if value is not None]
    return float(np.mean(known)) if known else None
