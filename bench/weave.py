"""Weave beside the other mechanisms and the reference lines, on invented cities with two kinds of riders.

python -m bench.weave [stops] [lines] [seed] [trips] [epsilons] [riders] [repetitions] [most trips of a rider]
python -m bench.weave 360 24 0 20000 0.1,0.5,1,2 habit 3 2

Takes long. Without the last number the unit is the trip. How long Weave takes is measured by bench/weave_speed.py.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from wayveil.counting.local import LocalCounter
from wayveil.errors import WayveilError
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip, Unit
from wayveil.simulate.city import simulate_city
from wayveil.simulate.feed import write_city
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.public_knowledge import empty, floor
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import CountQueryError
from wayveil.utility.edges import EdgeFigures
from wayveil.utility.figures import ceiling
from wayveil.utility.ngram_figures import NgramFigures
from wayveil.utility.origin_destination import OriginDestinationDistance
from wayveil.utility.patterns import top_contiguous_patterns
from wayveil.utility.stop_figures import LengthDivergence
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network

RESULTS = Path(__file__).parent / "results"

# Each rival gets a small grid and is scored by its best setting, figure by figure: more than any user could have.
RIVALS: dict[str, tuple[Mechanism, ...]] = {
    "noisy-prefix-tree": tuple(NoisyPrefixTree(height=height) for height in (4, 8)),
    "mobitrie": tuple(MobiTrie(most=most) for most in (8, 20)),
    "markov": (Markov(), Markov(order=2)),
}
RIDERS: dict[str, Callable[[Network, int, int], Trips]] = {
    "shortest": lambda city, count, seed: simulate_city(city, count, seed=seed).trips,
    "habit": lambda city, count, seed: simulate_habit(city, count, seed=seed),
}


@dataclass(frozen=True)
class Column:
    """One figure: its name in the table, its key, and whether more is better."""

    name: str
    key: str
    higher: bool = False


COLUMNS = (
    Column("ARE", "are_nonempty"),
    Column("ARE uniform", "are_uniform"),
    Column("top 50", "top_50", higher=True),
    Column("length JSD", "length"),
    Column("OD m", "od_emd"),
    Column("F1", "f1", higher=True),
    Column("TV 2", "ngram_tv_2"),
    Column("TV 3", "ngram_tv_3"),
    Column("edges", "edges"),
    Column("n", "number"),
)


class Examiner:
    """All figures of the table against fixed raw trips."""

    def __init__(self, raw: Trips, *, queries: int = 4_000) -> None:
        self.raw = raw
        self.queries = CountQueryError(raw, queries=queries)
        self.lengths, self.ngrams, self.edges = LengthDivergence(raw), NgramFigures(raw), EdgeFigures(raw)
        self.ends = OriginDestinationDistance(raw.without_times(), most_pairs=1_000)
        self.patterns = {pattern for pattern, _ in top_contiguous_patterns(raw, 50)}

    def __call__(self, private: Trips) -> dict[str, float]:
        private = private.without_times()
        parts = (self.queries, self.lengths, self.ngrams, self.edges, self.ends)
        named = {pattern for pattern, _ in top_contiguous_patterns(private, 50)}
        found = {m.key: m.value for part in parts for m in part.measure(private)}
        return {
            "are_nonempty": found["count_query_error/non-empty"],
            "are_uniform": found["count_query_error/uniform"],
            "top_50": len(named & self.patterns) / len(self.patterns),
            "length": found["trip_length_jsd"],
            "od_emd": found["od_emd"],
            "f1": found["ngram_3/f1"],
            "ngram_tv_2": found["ngram_tv_2"],
            "ngram_tv_3": found["ngram_tv_3"],
            "edges": found["edge_error"],
            "number": abs(len(private) - len(self.raw)) / len(self.raw),
        }


def release_of(mechanism: Mechanism, raw: Trips, epsilon: Fraction, unit: Unit, seed: int) -> Trips:
    """Private trips, with noise as in a release."""
    gate = Gate(unit, Budget(epsilon))
    counter = LocalCounter(gate.bound(raw, mechanism.rule(raw.world)))
    return mechanism.measure(counter, gate).generate(seed)


def city(stops: int, lines: int, seed: int) -> Network:
    """An invented city."""
    with tempfile.TemporaryDirectory() as folder:
        return read_gtfs(write_city(Path(folder) / f"city-{stops}.zip", seed, stops=stops, lines=lines))


def rows(
    raw: Trips,
    epsilons: Iterable[str],
    repetitions: int,
    unit: Unit,
    mechanisms: dict[str, tuple[Mechanism, ...]],
) -> list[dict[str, object]]:
    """One row per line of the table: means over the repetitions, of the best setting for each figure."""
    examine = Examiner(raw)
    public = {"ceiling": ceiling(raw, 1), "floor": floor(raw.world, len(raw), 2), "empty": empty(raw.world)}
    found: list[dict[str, object]] = [{"line": name, **examine(trips)} for name, trips in public.items()]
    for epsilon in epsilons:
        for name, settings in mechanisms.items():
            scores = []
            begin = time.process_time()
            for mechanism in settings:
                try:
                    runs = [
                        examine(release_of(mechanism, raw, Fraction(epsilon), unit, seed))
                        for seed in range(repetitions)
                    ]
                except WayveilError as error:
                    print(f"{name} at {epsilon}: {error}", file=sys.stderr)
                    continue
                scores.append({key: float(np.mean([run[key] for run in runs])) for key in runs[0]})
                spread = {f"{key} ±": float(np.std([run[key] for run in runs])) for key in runs[0]}
            if not scores:
                continue
            best = {
                column.key: (max if column.higher else min)(score[column.key] for score in scores)
                for column in COLUMNS
            }
            seconds = (time.process_time() - begin) / (len(scores) * repetitions)
            found.append({"epsilon": epsilon, "line": name, **best, **spread, "seconds": seconds})
            print(show(found[-1:]), flush=True)
    return found


def show(table: list[dict[str, object]]) -> str:
    """Rows as Markdown."""
    lines = []
    for row in table:
        cells = [f"{row[c.key]:.0f}" if c.key.startswith("od") else f"{row[c.key]:.3f}" for c in COLUMNS]
        lines.append(f"| {row.get('epsilon', '')} | {row['line']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def head() -> str:
    names = [column.name for column in COLUMNS]
    return "| epsilon | line | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 2)


def main(arguments: list[str]) -> None:
    given = dict(enumerate(arguments))
    stops, lines, seed, count = (
        int(given.get(place, default)) for place, default in enumerate((360, 24, 0, 20_000))
    )
    epsilons, riders = given.get(4, "0.1,0.5,1,2").split(","), given.get(5, "shortest")
    repetitions = int(given.get(6, 3))
    unit: Unit = Rider(max_trips=int(given[7])) if 7 in given else Trip()
    raw = RIDERS[riders](city(stops, lines, seed), count, seed + 100)
    table = rows(raw, epsilons, repetitions, unit, {**RIVALS, "weave": (Weave(),)})
    RESULTS.mkdir(exist_ok=True)
    name = f"weave-{stops}-{riders}-{count}-{unit.name}.json"
    (RESULTS / name).write_text(json.dumps(table, indent=2))
    print(f"\n{stops} stops, {riders} riders, {count:,} trips, unit {unit}\n\n{head()}\n{show(table)}")


if __name__ == "__main__":
    main(sys.argv[1:])
