"""The evaluation of the MobiTrie study, repeated with the repaired mechanism and what stands beside it.

    python -m bench.mobitrie_study --data msnbc berlin-10k berlin-1m --repetitions 100
    python -m bench.mobitrie_study --show

Each run is a line of bench/results/mobitrie_study/<data>.jsonl once it is done, and is not done again. Figures per run:
true and false positives and negatives over the public universe of 3-grams (without marks), precision, recall, F1;
fitness, the share of a raw trip's 3-grams that the trie has, mean over trips; and the mean relative error of
contiguous queries of up to 4..20 stops, answered by trips made from the trie. `public` is the whole universe, without
any data.

Which n-grams a trip counts for is drawn once per repetition, for all mechanisms and epsilons of it: each run by itself
is a release as in life, and runs of different repetitions are independent.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.mobitrie_tables import table
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mobitrie import MobiTrie, MobiTrieSearch
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate, SparseCounts
from wayveil.privacy.units import Trip
from wayveil.progress import shown, track
from wayveil.trips.sequences import read_sequences
from wayveil.trips.trips import Trips
from wayveil.utility.subsequences import SubsequenceError
from wayveil.world.marked_ngrams import MarkedNgrams
from wayveil.world.ngrams import NgramUniverse
from wayveil.world.world import World

RESULTS = Path(__file__).parent / "results" / "mobitrie_study"
DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
BERLIN = "52.34,13.09,52.68,13.76"
EPSILONS = ("0.1", "0.2", "0.5", "0.8", "1")
QUALITY = {"msnbc": "0.65", "berlin-10k": "0.65", "berlin-1m": "0.7"}  # as published, one per dataset
LENGTHS = (4, 8, 12, 16, 20)
PIECE = 50_000  # trips whose windows are written out at a time


def load(name: str) -> Trips:
    """The dataset. A simulated city is kept beside the results, so that all runs are about the same one."""
    if name == "msnbc":
        world = World.of_symbols([str(page) for page in range(1, 18)])
        return read_sequences(DATA / "msnbc" / "msnbc990928.zip", world)
    from wayveil.simulate.city import simulate_city
    from wayveil.world.gtfs import read_gtfs

    riders = {"berlin-10k": 10_000, "berlin-1m": 1_000_000}[name]
    network = read_gtfs(DATA / "berlin" / "gtfs.zip", bbox=BERLIN)
    kept = RESULTS / f"{name}.npz"
    if not kept.exists():
        trips = simulate_city(network, riders, seed=1, times=False).trips
        np.savez(kept, location=trips.location, offsets=trips.offsets)
    with np.load(kept) as arrays:
        return Trips(arrays["location"], arrays["offsets"], network)


def subjects(name: str) -> dict:
    """The mechanisms by name; those of the study first."""
    return {
        "mobitrie": MobiTrie(),
        "mobitrie-lt": MobiTrieSearch(quality=QUALITY[name]),
        "mobitrie, 10 % false": MobiTrie(false_share=0.1, false_most=1e6),
        "markov": Markov(),
        "variable-ngrams": VariableNgrams(n_max=4, moves=40),
    }


class ChosenOnce(LocalCounter):
    """Chooses each trip's n-grams the first time it is asked, and then stays with that choice."""

    def __init__(self, trips: Trips) -> None:
        super().__init__(trips)
        self._chosen: dict[tuple[int, int], SparseCounts] = {}

    def capped_ngrams(self, universe: MarkedNgrams, most: int, bits: Bits) -> SparseCounts:
        key = universe.n, most
        if key not in self._chosen:
            self._chosen[key] = super().capped_ngrams(universe, most, bits)
        return self._chosen[key]


def windows(trips: Trips) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The 3-grams of the trips, piece by piece, and the trip of each."""
    for begin in range(0, len(trips), PIECE):
        part = trips.take(np.arange(begin, min(begin + PIECE, len(trips))))
        starts = np.flatnonzero(np.arange(part.visits) + 3 <= np.repeat(part.offsets[1:], part.lengths))
        yield part.location[starts[:, None] + np.arange(3)], part.trip_of_visit()[starts]


class Study:
    """One dataset with everything about it that all runs share."""

    def __init__(self, name: str) -> None:
        self.name, self.raw = name, load(name)
        self.universe = NgramUniverse(self.raw.world, 3)
        # Fitness is a mean over trips of shares of their 3-grams, so each 3-gram has a weight in it.
        self.weight, trips = np.zeros(self.universe.size), 0
        for grams, trip in windows(self.raw):
            rank = self.universe.rank(grams)
            trip, rank = trip[rank >= 0], rank[rank >= 0]
            sizes = np.bincount(trip)
            self.weight += np.bincount(rank, 1 / sizes[trip], self.universe.size)
            trips += np.count_nonzero(sizes)
        self.weight /= trips
        self.true = int(np.count_nonzero(self.weight))
        self._error: SubsequenceError | None = None
        self._counter, self._repetition = ChosenOnce(self.raw), -1

    def model_figures(self, kept: np.ndarray) -> dict:
        """Confusion over the universe, and fitness, of distinct 3-grams given by their ranks."""
        tp = int(np.count_nonzero(self.weight[kept]))
        fp, fn = len(kept) - tp, self.true - tp
        return {
            "TP": tp,
            "FP": fp,
            "FN": fn,
            "TN": int(self.universe.size) - tp - fp - fn,
            "precision": tp / max(len(kept), 1),
            "recall": tp / max(self.true, 1),
            "F1": 2 * tp / max(len(kept) + self.true, 1),
            "fitness": float(self.weight[kept].sum()),
        }

    def trip_figures(self, private: Trips) -> dict:
        self._error = self._error or SubsequenceError(self.raw, max_lengths=LENGTHS)
        return {measure.key: measure.value for measure in self._error.measure(private)}

    def ranks(self, model, private: Trips | None) -> np.ndarray:
        """The 3-grams of a model without marks; those of its trips, where it has no 3-grams of its own."""
        table = getattr(model, "grams", None) or next((t for t in model.tables if t.n == 3), None)
        if table is None:
            return np.unique(np.concatenate([self.universe.rank(grams) for grams, _ in windows(private)]))
        return np.unique(self.universe.rank(table.symbols[(table.symbols < self.raw.world.size).all(axis=1)]))

    def run(self, subject: str, epsilon: str, repetition: int, errors: bool) -> dict:
        row = {"data": self.name, "mechanism": subject, "epsilon": epsilon, "repetition": repetition}
        if subject == "public":
            return row | {"accepted": True} | self.model_figures(np.arange(self.universe.size))
        if repetition != self._repetition:
            self._counter, self._repetition = ChosenOnce(self.raw), repetition
        begin = time.process_time()
        mechanism = subjects(self.name)[subject]
        model = mechanism.measure(self._counter, Gate(Trip(), Budget(epsilon), secure_bits()))
        row |= {"accepted": getattr(model, "accepted", True)}
        if row["accepted"]:
            private = model.generate(repetition) if errors or not hasattr(model, "grams") else None
            row |= self.model_figures(self.ranks(model, private))
            row |= self.trip_figures(private) if errors else {}
        return row | {"seconds": time.process_time() - begin}


def run(names: list[str], repetitions: int, epsilons: list[str], wanted: list[str], errors: int) -> None:
    """What has not been done yet; queries are asked in the first repetitions only, because trips take longest."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = RESULTS / f"{name}.jsonl"
        done = {(r["mechanism"], r["epsilon"], r["repetition"]) for r in rows(path)}
        plan = [("public", "-", 0)] + [
            (subject, epsilon, repetition)
            for repetition in range(repetitions)
            for epsilon in epsilons
            for subject in wanted
        ]
        todo = [job for job in plan if job not in done]
        study = Study(name) if todo else None
        for job in track(todo, name, len(todo)):
            line = json.dumps(study.run(*job, errors=job[2] < errors))
            with path.open("a") as file:
                file.write(line + "\n")


def rows(path: Path) -> list[dict]:
    """The runs of a file; a line that was cut off by a crash is none."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(QUALITY), choices=QUALITY)
    parser.add_argument("--repetitions", type=int, default=100, help="as many as the study did")
    parser.add_argument("--errors", type=int, default=100, help="ask queries in so many repetitions")
    parser.add_argument("--epsilon", nargs="+", default=EPSILONS)
    parser.add_argument("--mechanism", nargs="+", default=["mobitrie", "mobitrie-lt"])
    parser.add_argument("--show", action="store_true", help="only show what there is")
    options = parser.parse_args()
    if not options.show:
        with shown():
            run(options.data, options.repetitions, options.epsilon, options.mechanism, options.errors)
    print(table([row for path in sorted(RESULTS.glob("*.jsonl")) for row in rows(path)]))


if __name__ == "__main__":
    main()
