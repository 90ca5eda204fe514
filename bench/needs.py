"""Answers of a release beside the plain Laplace histogram of the same question, as a ratio of their errors.

    python -m bench.needs                      one seed, small: boardings with their need and with the default set
    python -m bench.needs hours districts ...  other questions, each with its own need

Cities are feeds at hand (an invented one where they are missing) with a demand of their own: busy stops follow a power
law that knows nothing of the timetable, riders make 1 to 30 trips, most of them between two places. The plain
histogram spends all of epsilon on the one question, counts as many trips of a rider as its best bound says (chosen with
the answer in view), and is scaled back with the true share that the bound kept. Errors are sums of absolute errors.
"""

import sys
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from bench.worlds import DATA
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.units import Rider
from wayveil.releases.order import default_mechanism
from wayveil.run import make_release
from wayveil.simulate.city import draw_departures
from wayveil.simulate.feed import write_city
from wayveil.simulate.riders import reachable_stops
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
BOUND = 4


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


def cells_of(question: str, trips: Trips) -> tuple[np.ndarray, int]:
    """The cell of each trip, and how many cells there are."""
    first, last = trips.offsets[:-1], trips.offsets[1:] - 1
    hour = trips.time[first] // 3600 % 24
    if question == "boardings":
        return trips.location[first], trips.world.size
    if question == "hours":
        return hour, 24
    if question == "districts":
        of = districts_of(trips.world)
        return of[trips.location[first]] * DISTRICTS + of[trips.location[last]], DISTRICTS**2
    raise SystemExit(f"unknown question {question!r}")


def count(question: str, trips: Trips, weight: np.ndarray | None = None) -> np.ndarray:
    """Trips in every cell."""
    cell, size = cells_of(question, trips)
    return np.bincount(cell, weight, size).astype(float)


def keep_random(trips: Trips, bound: int, rng: np.random.Generator) -> np.ndarray:
    """At most so many trips of each rider, drawn at random."""
    order = np.lexsort((rng.random(len(trips)), trips.rider))
    ordered = trips.rider[order]
    first = np.searchsorted(ordered, ordered)
    return np.sort(order[np.arange(len(order)) - first < bound])


def off(answer: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Sum of absolute errors as a share of all trips, and median relative error of the 50 largest cells."""
    top = np.argsort(-truth)[:50]
    return (
        float(np.abs(answer - truth).sum() / truth.sum()),
        float(np.median(np.abs(answer - truth)[top] / np.maximum(truth[top], 1))),
    )


def plain(question: str, trips: Trips, epsilon: float, seed: int) -> tuple[float, float]:
    """The errors of the best plain histogram: each figure at its own best bound."""
    rng, truth = np.random.default_rng(seed), count(question, trips)
    found = []
    for bound in BOUNDS:
        tries = []
        for _ in range(5):
            kept = trips.take(keep_random(trips, bound, rng))
            noisy = count(question, kept) + rng.laplace(0, bound / epsilon, len(truth))
            tries.append(off(np.maximum(noisy, 0) * len(trips) / len(kept), truth))
        found.append(np.mean(tries, axis=0))
    return tuple(np.min(found, axis=0))


def answer(
    question: str, trips: Trips, epsilon: float, parts: dict | None, bound: int, seed: int
) -> np.ndarray:
    """What the release answers, scaled back likewise where a bound dropped trips."""
    mechanism = default_mechanism(trips.world) if parts is None else Weave().serving(parts)
    made = make_release(trips, mechanism, epsilon=str(epsilon), unit=Rider(max_trips=bound))
    kept = len(keep_random(trips, bound, np.random.default_rng(seed)))
    if question == "boardings":
        table = made.ask("boardings", anyway=True).table
        shown = np.zeros(trips.world.size)
        shown[trips.world.index_of(table["stop_id"].to_list())] = table["answer"].to_numpy()
    else:
        shown = count(question, made.trips)
    return shown * len(trips) / kept


# The part of the budget of a question that is the only need.
ALONE = Fraction(82, 100)


def run(questions: list[str] | None = None, seeds: int = 1) -> list[dict]:
    """Errors of releases as multiples of those of the best plain histogram, per city and epsilon."""
    rows = []
    for question in questions or ["boardings"]:
        own = {"total": Fraction(3, 100), "hours": Fraction(4, 100)} | {question: ALONE}
        for name, epsilon in ((name, epsilon) for name in FEEDS for epsilon in EPSILONS):
            found: dict[str, list] = {"own": [], "default": []}
            for seed in range(1, seeds + 1):
                trips = simulate(network(name), RIDES[name], seed)
                best, truth = np.array(plain(question, trips, epsilon, seed)), count(question, trips)
                for needs, parts in (("own", own), ("default", None)):
                    shown = answer(question, trips, epsilon, parts, BOUND, seed)
                    found[needs].append(np.array(off(shown, truth)) / best)
            row = {"question": question, "city": name, "epsilon": epsilon}
            for needs, ratios in found.items():
                row[f"L1, {needs}"], row[f"top 50, {needs}"] = (float(x) for x in np.mean(ratios, axis=0))
            rows.append(row)
            print(row, flush=True)
    return rows


if __name__ == "__main__":
    run(sys.argv[1:])
