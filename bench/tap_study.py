"""The tables of the BC Transit study, in form, on simulated taps of Victoria; and real cards of Buenos Aires.

    python -m bench tap_study              everything, as tables
    python -m bench.tap_study --taps 20000 --quick

The study's data are not public, so figures stand beside the study's and cannot equal them: other taps, other riders,
repaired mechanisms (noise for every candidate, public heights, discrete noise). What an empty release scores, what the
plain Laplace mechanism reaches for the same unit, and taps that crowd at fewer stops tell how much that explains.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import numpy as np

from bench.buenos_aires_taps import buenos_aires
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.units import Rider
from wayveil.releases.release import Release, release
from wayveil.releases.tap_ways import ANY_MOVE, REASON, release_taps
from wayveil.simulate.fare_boxes import STUDY_TAPS, simulate_taps
from wayveil.synthesis.estimates import Visits, count_visits
from wayveil.synthesis.riders.reconstruct import reconstruct_riders
from wayveil.taps.chains import sequences
from wayveil.taps.taps import Taps
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import CountQueryError, relative_errors, sanity_bound
from wayveil.utility.prefixspan import top_gapped_patterns
from wayveil.utility.raw_answers import RawAnswers
from wayveil.utility.stops import hit_rate
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
HERE = Path(__file__).parent
MONDAY, DAYS = date(2024, 12, 16), 6
EPSILONS = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
HEIGHTS = (3, 6, 9, 12)
STUDY_HEIGHT = 9
LONGEST = (3, 6, 9, 12)  # the study's four groups of queries: 1 to 3 stops, 1 to 6, ...
TOPS = (20, 30, 40, 50)
STUDY = {
    "count queries, up to 9 stops": "NPT 4.94 to 4.15 %, PPDP 2.61 to 1.66 %",
    "per stop": "NPT 3.71 to 3.11 %, PPDP 2.09 to 1.25 %",
    "total": "below 1 %",
    "top-k patterns, epsilon 1.25": "k = 20..50: NPT 85, 83, 80, 72 %; PPDP 95, 87, 85, 72 %",
    "top-k stops, epsilon 1.25": "k = 30..50: NPT 83, 80, 74 %; PPDP 87, 85, 76 %",
    "top-40 patterns, epsilon 0.5..1.5": "NPT 75, 77.5, 77.5, 80, 82.5 %; PPDP 80, 80, 82.5, 85, 85 %",
}


def candidates(height: int) -> dict[str, Mechanism]:
    """The study's two trees, and counts of taps for the same unit: a rider's week, its first `height` taps."""
    return {
        "NPT": NoisyPrefixTree(height=height, successors="all"),
        "PPDP": PPDP(height=height, time="hour-of-week"),
        "counts": TapCounts(max_visits=height, stops_share="8/10", times_share="1/10"),
    }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def top_patterns(trips: Trips, count: int) -> list:
    """PrefixSpan's most frequent subsequences, single stops included as in the study."""
    return [pattern for pattern, _ in top_gapped_patterns(trips, count, min_length=1, max_length=4)]


def crowded(taps: Taps, share: float, hubs: int = 50, seed: int = 3) -> Taps:
    """The same taps with a share of them moved to the stops with the most departures, the first of these most often."""
    network, rng = taps.world, np.random.default_rng(seed)
    runs = np.bincount(network.sources, network.runs, network.size)
    busiest, weight = np.argsort(-runs, kind="stable")[:hubs], 1 / np.arange(1, hubs + 1)
    moved = rng.random(len(taps)) < share
    place = np.where(moved, rng.choice(busiest, len(taps), p=weight / weight.sum()), taps.location)
    return Taps(place.astype(np.int32), taps.time, network, route=taps.route)


class Examined:
    """Weekly trips and all that is asked about them."""

    def __init__(self, trips: Trips, queries: int) -> None:
        self.trips = trips
        self.asked = CountQueryError(trips, queries=queries, max_length=max(LONGEST), seed=1)
        self.stops = count_visits(Visits(("stop",)), trips)
        self.patterns = top_patterns(trips, max(TOPS))

    def release(self, mechanism: Mechanism, epsilon: float, seed: int) -> Trips:
        return release(
            self.trips,
            mechanism,
            epsilon=str(epsilon),
            unit=Rider(max_trips=1),
            rule=ANY_MOVE,
            not_private=REASON,
            seed=seed,
        ).trips

    def figures(self, made: Trips) -> dict[str, float]:
        """Errors in %. Per stop twice: the sanity bound as 0.1 % of trips, and of taps as the study may mean it."""
        found = {one.key: one.value for one in self.asked.measure(made)}
        row = {}
        for kind in ("uniform", "non-empty"):
            by_length = [found.get(f"count_query_error/{kind}/{n}", 0.0) for n in range(1, max(LONGEST) + 1)]
            for longest in LONGEST if kind == "uniform" else LONGEST[2:3]:
                row[f"{kind} 1-{longest} %"] = 100 * float(np.mean(by_length[:longest]))
        mine = count_visits(Visits(("stop",)), made)
        for name, size in (("trips", len(self.trips)), ("taps", self.trips.visits)):
            row[f"per stop, 0.1 % of {name} %"] = 100 * float(
                relative_errors(self.stops, mine, 0.001 * size).mean()
            )
        row["total %"] = 100 * abs(made.visits - self.trips.visits) / self.trips.visits
        return row

    def top_k(self, made: Trips) -> dict[str, float]:
        found, mine = top_patterns(made, max(TOPS)), count_visits(Visits(("stop",)), made)
        hits = {f"patterns, {k} %": 100 * len(set(self.patterns[:k]) & set(found[:k])) / k for k in TOPS}
        return hits | {f"stops, {k} %": 100 * hit_rate(self.stops, mine, k) for k in TOPS}


def averaged(rows: Iterable[dict[str, float]]) -> dict[str, float]:
    rows = list(rows)
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def references(examined: Examined) -> list[dict]:
    """What an empty release scores, and plain Laplace answers per stop with all of epsilon, for the same unit."""
    trips = examined.trips
    nothing = Trips.of_lists([], trips.world, time=np.zeros(0, np.int64))
    rows = [{"mechanism": "nothing released", **examined.figures(nothing)}]
    rng, cut = (
        np.random.default_rng(1),
        np.bincount(trips.cut(STUDY_HEIGHT).location, minlength=trips.world.size),
    )
    for epsilon in (EPSILONS[0], EPSILONS[-1]):
        noisy = np.maximum(cut + rng.laplace(0, STUDY_HEIGHT / epsilon, len(cut)), 0)
        row = {"mechanism": "plain Laplace per stop", "height": STUDY_HEIGHT, "epsilon": epsilon}
        for name, size in (("trips", len(trips)), ("taps", trips.visits)):
            row[f"per stop, 0.1 % of {name} %"] = 100 * float(
                relative_errors(examined.stops, noisy, 0.001 * size).mean()
            )
        rows.append(row)
    return rows


def count_queries(
    examined: Examined, epsilons: tuple[float, ...], heights: tuple[int, ...], repetitions: int
) -> tuple[list[dict], list[dict]]:
    """Errors against epsilon and height, and at the study's height what is found of the most frequent."""
    errors, tops = [], []
    for height in heights:
        for name, mechanism in candidates(height).items():
            for epsilon in epsilons:
                made = [examined.release(mechanism, epsilon, seed) for seed in range(repetitions)]
                key = {"mechanism": name, "height": height, "epsilon": epsilon}
                errors.append(key | averaged(map(examined.figures, made)))
                if height == STUDY_HEIGHT:
                    tops.append(key | averaged(map(examined.top_k, made)))
            say(f"{name}, height {height}")
    return errors, tops


def crowding(taps: Taps, shares: tuple[float, ...], queries: int, repetitions: int) -> list[dict]:
    """The same on taps that crowd at fifty stops: real taps may."""
    rows = []
    for share in shares:
        moved = crowded(taps, share)
        examined = Examined(reconstruct_riders(moved, seed=1).trips("week"), queries)
        busy = np.sort(np.bincount(moved.location, minlength=taps.world.size))[::-1]
        for name, mechanism in candidates(STUDY_HEIGHT).items():
            for epsilon in (EPSILONS[0], EPSILONS[-1]):
                made = [examined.release(mechanism, epsilon, seed) for seed in range(repetitions)]
                key = {
                    "moved to 50 stops": share,
                    "taps at the busiest 20 %": 100 * busy[:20].sum() / busy.sum(),
                }
                row = key | {"mechanism": name, "epsilon": epsilon} | averaged(map(examined.figures, made))
                rows.append(row | averaged(map(examined.top_k, made)))
        say(f"crowded by {share}")
    return rows


def ways(taps: Taps, epsilons: tuple[float, ...]) -> list[dict]:
    """Operational questions on daily trips, by each of the four ways, beside plain Laplace; and how often bars hold."""
    raw = sequences(taps, taps.card, "day")
    anonymous = Taps(taps.location, taps.time, taps.world, route=taps.route)
    cases = {
        "cards, NPT": (taps, "cards", NoisyPrefixTree(height=2)),
        "cards, PPDP": (taps, "cards", PPDP(height=2)),
        "counts-first": (anonymous, "counts-first", None),
        "counts": (anonymous, "counts", None),
        "study, NPT": (anonymous, "study", NoisyPrefixTree(height=2)),
        "study, PPDP": (anonymous, "study", PPDP(height=2)),
    }
    rows = []
    for name, (data, way, mechanism) in cases.items():
        for epsilon in epsilons:
            made = release_taps(
                data,
                way,
                epsilon=str(epsilon),
                mechanism=mechanism,
                max_trips=5,
                first_day=MONDAY,
                days=DAYS,
                seed=1,
            )
            asked = made
            row = {
                "way": name,
                "unit": made.datasheet["guarantee"]["unit"],
                "private": made.datasheet["private"],
                "epsilon": epsilon,
            }
            for question in ("total", "stops", "hours", "stop-hours"):
                if question.endswith("hours") and made.trips.time is None:
                    continue
                row |= operational(asked, question, raw)
            rows.append(row)
        say(name)
    return rows


def operational(asked: Release, question: str, raw: Trips) -> dict[str, float]:
    """Mean relative error of an answer and of the plain Laplace one, and the share of bars that hold the truth."""
    table, bound = RawAnswers(raw)(asked, question).table, sanity_bound(raw)
    true = table["raw"].to_numpy()
    inside = (table["low"].to_numpy() <= true) & (true <= table["high"].to_numpy())
    return {
        f"{question} %": 100 * float(relative_errors(true, table["answer"].to_numpy(), bound).mean()),
        f"{question}, Laplace %": 100
        * float(relative_errors(true, table["plain_laplace"].to_numpy(), bound).mean()),
        f"{question}, in bars %": 100 * float(inside.mean()),
    }


def thin_cells(trips: Trips, network: Network) -> list[dict]:
    """Why trees find so little: how many riders share a beginning, beside the noise of a level."""
    first = np.bincount(trips.origins(), minlength=network.size)
    hour = trips.time[trips.offsets[:-1]] // 3600
    timed = np.unique(trips.origins().astype(np.int64) * 10**7 + hour, return_counts=True)[1]
    two = trips.take(trips.lengths >= 2)
    pair = two.origins().astype(np.int64) * network.size + two.location[two.offsets[:-1] + 1]
    pairs = np.unique(pair, return_counts=True)[1]
    weights = np.log2(np.arange(1, STUDY_HEIGHT + 1) + 1)
    return [
        {"figure": "riders on the busiest first stop", "value": int(first.max())},
        {"figure": "riders on the busiest first two stops", "value": int(pairs.max())},
        {"figure": "riders on the busiest first stop and hour of the week", "value": int(timed.max())},
        {"figure": "noise scale of a level, NPT, height 9, epsilon 1", "value": float(STUDY_HEIGHT)},
        {
            "figure": "noise scale of level 1, PPDP, height 9, epsilon 1",
            "value": float(weights.sum() / weights[0]),
        },
        {
            "figure": "false children of a node at the study's threshold of 2.83 scales",
            "value": float(network.size * np.exp(-2 * 2**0.5) / 2),
        },
    ]


def run(taps: int = STUDY_TAPS, quick: bool = False) -> list[dict]:
    """All tables, one after the other, each row marked by its table."""
    if not (DATA / "victoria" / "gtfs.zip").exists():
        return [{"table": "skipped", "reason": f"no Victoria feed under {DATA}; set WAYVEIL_DATA"}]
    network = read_gtfs(DATA / "victoria" / "gtfs.zip", walk_radius_metres=300)
    made = simulate_taps(network, taps, seed=1, first_day=MONDAY, days=DAYS).taps
    anonymous = Taps(made.location, made.time, network, route=made.route)
    riders = reconstruct_riders(anonymous, seed=1)
    say(f"{riders.describe()}")
    queries, repetitions = (2_000, 1) if quick else (10_000, 5)
    epsilons, heights = ((0.5, 2.0), (3, 9)) if quick else (EPSILONS, HEIGHTS)
    examined = Examined(riders.trips("week"), queries)
    errors, tops = count_queries(examined, epsilons, heights, repetitions)
    tables = {
        "why": thin_cells(examined.trips, network),
        "references": references(examined),
        "count queries": errors,
        "top-k": tops,
        "crowded": crowding(anonymous, (0.25, 0.5), queries, repetitions),
        "ways": ways(made, (epsilons[0], epsilons[-1])),
        "buenos aires": buenos_aires((0.5, 1.0, 2.0), repetitions),
    }
    return [{"table": name, **row} for name, rows in tables.items() for row in rows]


if __name__ == "__main__":
    from bench.__main__ import show_tables

    parser = argparse.ArgumentParser()
    parser.add_argument("--taps", type=int, default=STUDY_TAPS)
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    result = run(chosen.taps, chosen.quick)
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "tap_study.json").write_text(json.dumps(result, indent=2, default=str))
    show_tables("tap_study", result)
    print(json.dumps(STUDY, indent=2))
