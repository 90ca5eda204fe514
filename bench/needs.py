"""Answers of a release beside the plain Laplace histogram of the same question, as a ratio of their errors.

    python -m bench.needs                        boardings: as their own need, and in the default set
    python -m bench.needs hours districts taps   other questions, each as its own need
    python -m bench.needs --seeds 3 boardings    several seeds, of which each is released so often (--tries 3)

Cities are feeds at hand (an invented one where they are missing) with a demand of their own: busy stops follow a power
law that knows nothing of the timetable, riders make 1 to 30 trips, most of them between two places. Releases are
planned as `wayveil plan` does that is told how many rides and riders there are: all trips of a rider count by weights.
The plain histogram spends all of epsilon on the one question, counts as many trips of a rider as its best bound says
(chosen with the answer in view), and is scaled back with the true share that the bound kept, which nobody knows.

Errors are sums of absolute errors (L1) and the median relative error of the 50 largest cells. `as shown` compares what
is answered, whose number of all trips was bought; `scaled` after it was brought to the true total, as the plain
histogram is. Hours and taps are the noisy counts themselves; nothing is drawn for them, so that many tries are cheap.
"""

import argparse
import tempfile
from collections.abc import Mapping
from datetime import date, timedelta
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from bench.worlds import DATA
from wayveil.accuracy.posterior import best_guess
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.all_rows import measure
from wayveil.mechanisms.mechanism import DEFAULT_PARTS, Mechanism
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.plan.need_cells import route_of_each
from wayveil.plan.needs import Need, parts_of
from wayveil.plan.ordering import size_of_world
from wayveil.plan.outlook import Forecast
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger.data_time import Days
from wayveil.privacy.units import Rider
from wayveil.releases.order import default_mechanism
from wayveil.run import make_release
from wayveil.simulate.city import draw_departures
from wayveil.simulate.crowd import Crowd
from wayveil.simulate.feed import write_city
from wayveil.simulate.riders import reachable_stops
from wayveil.synthesis.estimates import Visits
from wayveil.taps.taps import Taps
from wayveil.trips.history import MADE_UP
from wayveil.trips.trips import Trips
from wayveil.world.geo import project
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network
from wayveil.world.paths import along_paths, shortest_paths

FEEDS = {
    "cairns": ("small-feeds", "cairns_gtfs.zip"),
    "victoria": ("victoria", "gtfs.zip"),
    "invented": (),
}
RIDES = {"cairns": 15_000, "victoria": 30_000, "invented": 15_000}
BOUNDS = (1, 2, 3, 4, 6, 8, 12, 20, 30)
EPSILONS = (0.5, 1.0, 2.0)
DISTRICTS = 16
TAPS = {"tap-boardings": ("stop",), "tap-hours": ("hour",), "route-hours": ("route", "hour")}
DAY = 20_000  # of the taps, since 1970


@cache
def network(name: str) -> Network:
    """The network of a feed at hand, or an invented one."""
    feed = DATA.joinpath(*FEEDS[name]) if FEEDS[name] else None
    if feed is not None and feed.exists():
        return read_gtfs(feed)
    with tempfile.TemporaryDirectory() as folder:
        return read_gtfs(write_city(Path(folder) / "city.zip", seed=7, stops=800, lines=50))


def simulate(place: Network, rides: int, seed: int) -> Trips:
    """Draw riders with 1 to 30 trips, mostly to and fro between two places of their own."""
    rng = np.random.default_rng(seed)
    stops, part = reachable_stops(place)
    stops = stops[part == np.bincount(part).argmax()]
    pull = rng.permutation(1 / np.arange(1, len(stops) + 1) ** 0.8) * rng.lognormal(0, 0.5, len(stops))
    x, y = (axis[stops] for axis in project(place.lat, place.lon))
    made = np.minimum(rng.geometric(0.18, rides), 30)
    made = made[np.cumsum(made) <= rides]
    rider = np.repeat(np.arange(len(made)), made)
    home, work = (rng.choice(len(stops), len(made), p=pull / pull.sum()) for _ in range(2))
    near = np.hypot(x[home] - x[work], y[home] - y[work])
    again = near > np.median(near)  # half of the far ones choose again: few go far
    work[again] = rng.choice(len(stops), int(again.sum()), p=pull / pull.sum())
    other = rng.choice(len(stops), len(rider), p=pull / pull.sum())
    origin, usual = home[rider].copy(), rng.random(len(rider)) < 0.7
    destination = np.where(usual, work[rider], other)
    back = rng.random(len(rider)) < 0.5
    origin[back], destination[back] = destination[back], origin[back]
    keep = origin != destination
    start = draw_departures(rng, int(keep.sum()))
    paths = shortest_paths(place, stops[origin[keep]], stops[destination[keep]], "seconds")
    routed = Trips(paths.location, paths.offsets, place)
    passed = along_paths(place, routed.location, routed.offsets, place.seconds).astype(np.int64)
    time = passed + np.repeat(start, routed.lengths)
    found = Trips(routed.location, routed.offsets, place, time, rider[keep].astype(np.int64), MADE_UP)
    return found.take(paths.reachable)


def districts_of(place: Network) -> np.ndarray:
    """Sixteen districts: four by four of about as many stops each."""
    x, y = project(place.lat, place.lon)
    column = np.searchsorted(np.quantile(x, [0.25, 0.5, 0.75]), x)
    row = np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y)
    return column * 4 + row


def needs_of(question: str, folder: str) -> list[Need]:
    """The need of one question alone; none for the default set."""
    if question == "default":
        return []
    if question == "districts":
        return [Need(question="districts", top=50, districts=f"{folder}/districts.csv")]
    return [Need(question=question.removeprefix("tap-"), top=None if "hours" in question else 50)]


def cells_of(question: str, trips: Trips) -> tuple[np.ndarray, int]:
    """The cell of each trip, and how many cells there are."""
    first, last = trips.offsets[:-1], trips.offsets[1:] - 1
    hour = trips.time[first] // 3600 % 24
    if question in ("boardings", "default", "tap-boardings"):
        return trips.location[first], trips.world.size
    if question in ("hours", "tap-hours"):
        return hour, 24
    if question == "route-hours":
        route, routes = route_of_each(trips)  # the last one stands for none
        return np.where(route < routes - 1, route * 24 + hour, -1), (routes - 1) * 24
    if question == "districts":
        of = districts_of(trips.world)
        return of[trips.location[first]] * DISTRICTS + of[trips.location[last]], DISTRICTS**2
    raise SystemExit(f"unknown question {question!r}")


def keep_random(rider: np.ndarray, bound: int, rng: np.random.Generator) -> np.ndarray:
    """At most so many trips of each rider, drawn at random."""
    order = np.lexsort((rng.random(len(rider)), rider))
    ordered = rider[order]
    return order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < bound]


def off(answer: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Sum of absolute errors as a share of all trips, and median relative error of the 50 largest cells."""
    error, top = np.abs(answer - truth), np.argsort(-truth)[:50]
    return np.array([error.sum() / truth.sum(), np.median(error[top] / np.maximum(truth[top], 1))])


def plain(question: str, trips: Trips, epsilon: float, seed: int) -> np.ndarray:
    """The errors of the best plain histogram: each figure at its own best bound."""
    rng, (cell, size) = np.random.default_rng(seed), cells_of(question, trips)
    truth, found = np.bincount(cell[cell >= 0], minlength=size), []
    for bound in BOUNDS:
        tries = []
        for _ in range(5):
            kept = keep_random(trips.rider, bound, rng)
            kept_cell = cell[kept]
            noisy = np.bincount(kept_cell[kept_cell >= 0], minlength=size) + rng.laplace(
                0, bound / epsilon, size
            )
            tries.append(off(np.maximum(noisy, 0) * len(trips) / len(kept), truth))
        found.append(np.mean(tries, axis=0))
    return np.min(found, axis=0)


def mechanism_of(question: str, place: Network, parts: Mapping[str, Fraction], folder: str) -> Mechanism:
    """The mechanism that a plan takes for a question."""
    if question == "route-hours":
        return TapMargins(max_visits=1, days=1).serving(parts)
    if question in TAPS:
        return TapCounts(max_visits=1).serving(parts)
    return default_mechanism(place, parts, f"{folder}/districts.csv" if question == "districts" else None)


@cache
def crowd_of(name: str, rides: int, riders: int) -> Crowd:
    """The riders that a plan simulates, told how many there are."""
    return Crowd.simulate(network(name), rides, riders)


def plan(
    question: str, name: str, trips: Trips, epsilon: float, folder: str
) -> tuple[Mechanism, Rider, Mapping]:
    """The mechanism and unit that are planned, and the parts of epsilon of each question."""
    place, needs = trips.world, needs_of(question, folder)
    parts = parts_of(needs, size_of_world(place)) if needs else DEFAULT_PARTS
    mechanism = mechanism_of(question, place, parts, folder)
    crowd = crowd_of(name, len(trips), len(np.unique(trips.rider)))
    of_file = {f"{folder}/districts.csv": districts_of(place)}
    told = Forecast(place, crowd, mechanism, Rider(max_trips=2, bounding="weights"), districts=of_file)
    told = told.with_best_bound(needs or [Need(question="boardings", top=50)], epsilon)
    return mechanism, told.unit, parts


def answer(question: str, trips: Trips, epsilon: float, planned: tuple, folder: str) -> np.ndarray:
    """What a release answers in each cell."""
    (mechanism, unit, parts), place = planned, trips.world
    given = {"epsilon": str(epsilon), "unit": unit}
    if question in TAPS:
        return answer_taps(question, trips, parts, given)
    if question == "hours":
        gate = Gate(unit, Budget(Fraction(str(epsilon))))
        counter = LocalCounter(gate.bound(trips, mechanism.rule(place)))
        return np.maximum(measure(mechanism, counter, gate).counted("departures").values, 0.0)
    made = make_release(trips, mechanism, rows="calls", **given)
    if question == "districts":
        table = made.ask(
            "districts", districts=f"{folder}/districts.csv", top=DISTRICTS**2, anyway=True
        ).table
        cell = table["from"].cast(int).to_numpy() * DISTRICTS + table["to"].cast(int).to_numpy()
        return np.bincount(cell, table["answer"].to_numpy(), DISTRICTS**2)
    table = made.ask("boardings", anyway=True).table
    shown = np.zeros(place.size)
    shown[place.index_of(table["stop_id"].to_list())] = table["answer"].to_numpy()
    return shown


def answer_taps(question: str, trips: Trips, parts: Mapping[str, Fraction], given: dict) -> np.ndarray:
    """The same boardings as taps, answered from their noisy counts."""
    first = trips.offsets[:-1]
    route, routes = route_of_each(trips)
    taps = Taps(
        trips.location[first],
        trips.time[first] % 86_400 + DAY * 86_400,
        trips.world,
        route=np.where(route < routes - 1, route, -1).astype(np.int32),
        card=trips.rider,
        history=MADE_UP,
    )
    way = {"way": "counts"}
    if question == "route-hours":
        way = {
            "way": "counts-first",
            "days": Days(date(1970, 1, 1) + timedelta(DAY), date(1970, 1, 1) + timedelta(DAY)),
        }
    made = make_release(taps, parts=parts, **way, **given)
    return np.maximum(best_guess(made.estimate(Visits(TAPS[question]))).values, 0.0)


def run(questions: list[str] | None = None, seeds: int = 1, tries: int = 3) -> list[dict]:
    """Errors of releases as multiples of those of the best plain histogram, per city and epsilon."""
    rows = []
    asked = questions or ["boardings", "default"]
    asked = [each for name in asked for each in (TAPS if name == "taps" else (name,))]
    for question, name, epsilon in ((q, name, each) for q in asked for name in FEEDS for each in EPSILONS):
        found = []
        for seed in range(1, seeds + 1):
            trips = simulate(network(name), RIDES[name], seed)
            best, (cell, size) = plain(question, trips, epsilon, seed), cells_of(question, trips)
            truth = np.bincount(cell[cell >= 0], minlength=size)
            with tempfile.TemporaryDirectory() as folder:
                district = districts_of(trips.world).astype(str)
                pl.DataFrame({"stop_id": trips.world.ids, "district": district}).write_csv(
                    f"{folder}/districts.csv"
                )
                planned = plan(question, name, trips, epsilon, folder)
                for _ in range(tries):
                    shown = answer(question, trips, epsilon, planned, folder)
                    scaled = shown * truth.sum() / max(shown.sum(), 1)
                    found.append(np.concatenate([off(shown, truth) / best, off(scaled, truth) / best]))
        figures = ("L1, as shown", "top 50, as shown", "L1, scaled", "top 50, scaled")
        row = {"question": question, "city": name, "epsilon": epsilon, "bound": planned[1].max_trips}
        rows.append(row | dict(zip(figures, np.mean(found, axis=0).round(2).tolist(), strict=True)))
        print(rows[-1], flush=True)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", nargs="*")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--tries", type=int, default=3, help="releases of each city, of which the mean is taken"
    )
    said = parser.parse_args()
    run(said.questions, said.seeds, said.tries)
