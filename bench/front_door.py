"""From a file to a release and its answers: how long each step takes beside the release, and what legs lose to calls.

Steps are those of the command line, after everything was compiled once: `check`, `release`, `report`, `ask`, and the
internal report with the raw trips; on trips over a city of 71 stops, and on trips of 71 stops each.

    python -m bench front_door
    WAYVEIL_FRONT_DOOR=of python -m bench front_door      (one part: legs, over, of)
"""

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wayveil.cli.releases import REPORT_QUERIES
from wayveil.plan.guess import Guess
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.releases.release import Release
from wayveil.report.report_page import write_report
from wayveil.run import make_release as release
from wayveil.simulate.feed import write_city
from wayveil.simulate.habit import simulate_habit
from wayveil.simulate.riders import simulate_riders
from wayveil.trips.legs import route_legs
from wayveil.trips.read import read_trips
from wayveil.trips.trips import Trips
from wayveil.trips.visits import write_visits
from wayveil.utility.scorecard import score
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network

TRIPS, STOPS = 100_000, 71
RIDERS, SEEDS = 20_000, 2


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives, and the processor time of all its threads: others on the machine do not count."""
    start = time.process_time()
    made = work()
    return made, time.process_time() - start


def long_trips(city: Network, trips: int, stops: int) -> Trips:
    """Trips of exactly so many stops: riders of the city who go on from where they arrived."""
    made = simulate_riders(city, trips, seed=7).trips
    order = np.argsort(made.origins(), kind="stable")
    first = np.searchsorted(made.origins()[order], np.arange(city.size + 1))
    rng = np.random.default_rng(7)
    at = made.origins()[rng.integers(0, len(made), trips)].astype(np.int64)
    location = np.empty((trips, stops), np.int32)
    location[:, 0] = at
    filled = np.ones(trips, np.int64)
    while (filled < stops).any():
        todo = np.flatnonzero(filled < stops)
        here = location[todo, filled[todo] - 1]
        ride = order[(first[here] + rng.random(len(todo)) * (first[here + 1] - first[here])).astype(np.int64)]
        for step in range(1, int(made.lengths[ride].max())):
            on = todo[(made.lengths[ride] > step) & (filled[todo] < stops)]
            source = ride[(made.lengths[ride] > step) & (filled[todo] < stops)]
            location[on, filled[on]] = made.location[made.offsets[source] + step]
            filled[on] += 1
    start = rng.integers(5 * 3_600, 20 * 3_600, trips)
    moments = start[:, None] + 90 * np.arange(stops)
    return Trips(
        location.ravel(), np.arange(0, trips * stops + 1, stops), city, moments.ravel(), history=made.history
    )


def speed(folder: Path, parts: Sequence[str] = ("over", "of")) -> list[dict]:
    """Ratios of the steps."""
    os.environ["WAYVEIL_HOME"] = str(folder / "home")
    feed = folder / "city.zip"
    write_city(feed, seed=11, stops=120, lines=6)
    city = read_gtfs(feed)
    assert city.size == STOPS
    rows: list[dict] = []
    cases = {
        "over": lambda: simulate_riders(city, TRIPS, seed=7).trips,
        "of": lambda: long_trips(city, TRIPS, STOPS),
    }
    write_visits(simulate_riders(city, 5_000, seed=7).trips, folder / "small.parquet")
    _steps(folder, "small", feed, city)  # compiles
    for part in parts:
        write_visits(cases[part](), folder / "trips.parquet")
        found = _steps(folder, "trips", feed, city)
        rows += [{"case": f"{TRIPS:,} trips {part} {STOPS} stops", **row} for row in found]
    return rows


def _steps(folder: Path, name: str, feed: Path, city: Network) -> list[dict]:
    file = folder / f"{name}.parquet"
    raw, reading = timed(lambda: read_trips(file, city))
    _, opening = timed(lambda: read_gtfs(feed))
    checked, checking = timed(lambda: Guess(file, str(feed), ledger="none").look())
    assert checked.findings.ok, checked.lines()
    out = folder / f"{name}-{time.monotonic_ns()}"

    def make() -> None:
        trips = read_trips(file, city)
        release(trips, epsilon=1, unit=Trip(), rows="calls").save(out)

    _, releasing = timed(make)
    made = Release.load(out, city)

    def public() -> None:
        write_report(folder / "public.html", release=Release.load(out, city))

    def internal() -> None:
        again = Release.load(out, city)
        card = score(raw, again, queries=REPORT_QUERIES)
        write_report(folder / "internal.html", release=again, raw=raw, scorecard=card, audience="internal")

    rows = [_row("check (CPU s)", checking - opening, "reading the file twice", 2 * reading)]
    for step, work in {"report": public, "internal report": internal}.items():
        rows.append(_row(f"{step} (CPU s)", timed(work)[1], "the release", releasing))
    questions = ("boardings", "journeys", "line-load", "transfers", "durations")
    took = {question: timed(lambda q=question: made.ask(q))[1] for question in questions}
    return rows + [
        _row(f"ask {name} (CPU s)", seconds, "the release", releasing) for name, seconds in took.items()
    ]


def _row(step: str, took: float, baseline: str, other: float) -> dict:
    return {
        "figure": step,
        "value": took,
        "baseline": baseline,
        "baseline value": other,
        "ratio": took / other,
    }


def legs(folder: Path) -> list[dict]:
    """Non-empty query error of legs beside that of calls of the same trips, both held against the calls."""
    write_city(folder / "legs.zip", seed=9)
    city = read_gtfs(folder / "legs.zip")
    rows = []
    riders = {
        "riders on the fastest way": lambda: simulate_riders(city, RIDERS, seed=5).trips,
        "riders with habits": lambda: simulate_habit(city, RIDERS, seed=5),
    }
    for name, make in riders.items():
        calls = make()
        ends = np.stack([calls.origins(), calls.destinations()], axis=1).ravel()
        times = calls.time[np.stack([calls.offsets[:-1], calls.offsets[1:] - 1], axis=1).ravel()]
        pairs = Trips(ends, np.arange(0, len(ends) + 1, 2), city, times, history=calls.history)
        truths = {"the calls": calls, "the legs, routed": route_legs(pairs)}
        errors: dict[tuple[str, str], list[float]] = {}
        for seed in range(SEEDS):
            for kind, given in (("calls", calls), ("legs", pairs)):
                made = release(given, epsilon=1, unit=Trip(), rows=kind, bits=SeededBits(seed), seed=seed)
                for truth, trips in truths.items():
                    found = score(trips, made)["count_query_error/non-empty"].value
                    errors.setdefault((kind, truth), []).append(found)
        asked = {
            "held against the calls": ("legs", "the calls"),
            "held against what the file says": ("legs", "the legs, routed"),
        }
        for words, key in asked.items():
            rows.append(
                {
                    "case": name,
                    **_row(
                        f"error of legs, {words}",
                        float(np.mean(errors[key])),
                        "error of calls of the same trips",
                        float(np.mean(errors["calls", "the calls"])),
                    ),
                }
            )
    return rows


def run() -> list[dict]:
    """Rows {case, figure, value, baseline, baseline value, ratio}."""
    before = os.environ.get("WAYVEIL_HOME")
    parts = os.environ.get("WAYVEIL_FRONT_DOOR", "legs,over,of").split(",")
    try:
        with tempfile.TemporaryDirectory() as place:
            found = legs(Path(place)) if "legs" in parts else []
            return [*found, *speed(Path(place), [part for part in parts if part != "legs"])]
    finally:
        os.environ.pop("WAYVEIL_HOME", None)
        if before is not None:
            os.environ["WAYVEIL_HOME"] = before
