"""The tables of the BC Transit study, in form, on simulated taps of Victoria; and real cards of Buenos Aires.

    python -m bench.tap_study              everything, as tables
    python -m bench.tap_study --taps 20000 --quick

The study's data are not public, so figures stand beside the study's and cannot equal them: other taps, other riders,
repaired mechanisms (noise for every candidate, public heights, discrete noise).
"""

import argparse
import json
import os
import sys
import time
from datetime import date
from pathlib import Path

from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.privacy.units import Rider
from wayveil.releases.release import release
from wayveil.releases.taps import ANY_MOVE, release_taps
from wayveil.simulate.riders import reconstruct_riders
from wayveil.simulate.taps import STUDY_TAPS, simulate_taps
from wayveil.taps.cells import grid_of_cells
from wayveil.taps.chains import sequences
from wayveil.taps.read import read_taps
from wayveil.taps.taps import Taps
from wayveil.trips.trips import Trips
from wayveil.utility.answers import Asked, visit_counts
from wayveil.utility.count_queries import CountQueryError, relative_errors, sanity_bound
from wayveil.utility.prefixspan import top_gapped_patterns
from wayveil.utility.stops import hit_rate
from wayveil.world.gtfs import read_gtfs

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
HERE = Path(__file__).parent
MONDAY, DAYS = date(2024, 12, 16), 6
BUENOS_AIRES = "-35.00,-59.00,-34.30,-58.10"
TOPS = (20, 30, 40, 50)
STUDY = {
    "count queries": "NPT 4.94 to 4.15 %, PPDP 2.61 to 1.66 %",
    "per stop": "NPT 3.71 to 3.11 %, PPDP 2.09 to 1.25 %",
    "total": "below 1 %",
    "top-k patterns": "k = 20..50: NPT 85, 83, 80, 72 %; PPDP 95, 87, 85, 72 %",
}


def trees(height: int) -> dict[str, Mechanism]:
    return {
        "NPT": NoisyPrefixTree(height=height, successors="all"),
        "PPDP": PPDP(height=height, time="hour-of-week"),
    }


def top_patterns(trips: Trips, count: int) -> list:
    """PrefixSpan's most frequent subsequences, single stops included as in the study."""
    return [pattern for pattern, _ in top_gapped_patterns(trips, count, min_length=1, max_length=4)]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def count_queries(
    trips: Trips, epsilons: list[float], heights: list[int], queries: int
) -> tuple[list[dict], dict]:
    """Error of count queries, stops and total against epsilon and height; the releases at height 9 are kept."""
    asked = CountQueryError(trips, queries=queries, max_length=9, seed=1)
    true, sanity = visit_counts("stops", trips), sanity_bound(trips)
    rows, kept = [], {}
    for height in heights:
        for name, mechanism in trees(height).items():
            for epsilon in epsilons:
                start = time.perf_counter()
                made = release(
                    trips, mechanism, epsilon=str(epsilon), unit=Rider(max_trips=1), rule=ANY_MOVE, seed=1
                ).trips
                figures = {one.key: one.value for one in asked.measure(made)}
                rows.append(
                    {
                        "mechanism": name,
                        "height": height,
                        "epsilon": epsilon,
                        "uniform %": 100 * figures["count_query_error/uniform"],
                        "non-empty %": 100 * figures["count_query_error/non-empty"],
                        "per stop %": 100
                        * float(relative_errors(true, visit_counts("stops", made), sanity).mean()),
                        "total %": 100 * abs(made.visits - trips.visits) / trips.visits,
                        "mean length": made.visits / max(len(made), 1),
                    }
                )
                say(f"{name} h={height} eps={epsilon}: {time.perf_counter() - start:.0f} s")
                if height == heights[-1]:
                    kept[name, epsilon] = made
    return rows, kept


def top_k(trips: Trips, kept: dict) -> list[dict]:
    """Share of the true top-k that a release's top-k has, for stops and for subsequences."""
    true = top_patterns(trips, max(TOPS))
    stops = visit_counts("stops", trips)
    rows = []
    for (name, epsilon), made in kept.items():
        found = top_patterns(made, max(TOPS))
        rows += [
            {
                "mechanism": name,
                "epsilon": epsilon,
                "k": k,
                "patterns %": 100 * len(set(true[:k]) & set(found[:k])) / k,
                "stops %": 100 * hit_rate(stops, visit_counts("stops", made), k),
            }
            for k in TOPS
        ]
    return rows


def ways(taps: Taps, epsilons: list[float]) -> list[dict]:
    """Operational questions on daily trips, by each of the four ways, beside plain Laplace."""
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
            asked = Asked(made.trips, made.model.table(), made.datasheet)
            row = {
                "way": name,
                "unit": made.datasheet["guarantee"]["unit"],
                "private": made.datasheet["private"],
            }
            row["epsilon"] = epsilon
            for question in ("total", "stops", "hours", "stop-hours"):
                if question.endswith("hours") and made.trips.time is None:
                    continue
                table = asked.answer(question, raw=raw).table
                bound = sanity_bound(raw)
                true = table["raw"].to_numpy()
                row[f"{question} %"] = 100 * float(
                    relative_errors(true, table["answer"].to_numpy(), bound).mean()
                )
                row[f"{question}, Laplace %"] = 100 * float(
                    relative_errors(true, table["plain_laplace"].to_numpy(), bound).mean()
                )
            rows.append(row)
            say(f"{name} eps={epsilon}")
    return rows


def buenos_aires(epsilons: list[float]) -> list[dict]:
    """Real cards of one day on a grid of cells, from the file to answers, with the rider as unit."""
    path = DATA / "buenos-aires" / "taps.csv"
    if not path.exists():
        return [{"skipped": f"no {path}"}]
    grid = grid_of_cells(BUENOS_AIRES, degrees=0.02)
    clean = read_taps(path, grid, reach_metres=1700)
    raw, rows = sequences(clean.taps, clean.taps.card, "day"), []
    for name, mechanism in (("NPT", NoisyPrefixTree(height=3)), ("PPDP", PPDP(height=3, time="180"))):
        for epsilon in epsilons:
            made = release_taps(
                clean.taps, "cards", epsilon=str(epsilon), mechanism=mechanism, max_trips=1, seed=1
            )
            row = {"mechanism": name, "epsilon": epsilon, "taps": len(clean.taps), "cards": len(raw)}
            row["unit"] = made.datasheet["guarantee"]["unit"]
            asked = Asked(made.trips, made.model.table(), made.datasheet)
            for question in ("total", "stops"):
                table = asked.answer(question, raw=raw).table
                true, bound = table["raw"].to_numpy(), sanity_bound(raw)
                row[f"{question} %"] = 100 * float(
                    relative_errors(true, table["answer"].to_numpy(), bound).mean()
                )
                row[f"{question}, Laplace %"] = 100 * float(
                    relative_errors(true, table["plain_laplace"].to_numpy(), bound).mean()
                )
            row["top 20 stops %"] = 100 * hit_rate(
                visit_counts("stops", raw), visit_counts("stops", made.trips), 20
            )
            rows.append(row)
    return rows


def run(taps: int = STUDY_TAPS, quick: bool = False) -> list[dict]:
    """All tables, one after the other, each row marked by its table."""
    if not (DATA / "victoria" / "gtfs.zip").exists():
        return [{"table": "skipped", "reason": f"no Victoria feed under {DATA}; set WAYVEIL_DATA"}]
    network = read_gtfs(DATA / "victoria" / "gtfs.zip", walk_radius_metres=300)
    made = simulate_taps(network, taps, seed=1, first_day=MONDAY, days=DAYS).taps
    riders = reconstruct_riders(Taps(made.location, made.time, network, route=made.route), seed=1)
    trips = riders.trips("week")
    say(f"{riders.describe()}")
    epsilons, heights = ([0.5, 2.0], [3, 9]) if quick else ([0.5, 1.0, 1.25, 1.5, 2.0], [3, 6, 12, 9])
    queries = 5_000 if quick else 20_000
    rows, kept = count_queries(trips, epsilons, heights, queries)
    tables = {
        "count queries": rows,
        "top-k": top_k(trips, kept),
        "ways": ways(made, [epsilons[0], epsilons[-1]]),
        "buenos aires": buenos_aires([0.5, 1.0, 2.0]),
    }
    return [{"table": name, **row} for name, rows in tables.items() for row in rows]


if __name__ == "__main__":
    from bench.__main__ import show

    parser = argparse.ArgumentParser()
    parser.add_argument("--taps", type=int, default=STUDY_TAPS)
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    result = run(chosen.taps, chosen.quick)
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "tap_study.json").write_text(json.dumps(result, indent=2, default=str))
    for name in dict.fromkeys(row["table"] for row in result):
        show(name, [row for row in result if row["table"] == name])
    print(json.dumps(STUDY, indent=2))
