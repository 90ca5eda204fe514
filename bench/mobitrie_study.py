"""The evaluation of the MobiTrie study, repeated with the repaired mechanism and what stands beside it.

    python -m bench.mobitrie_study --data msnbc berlin-10k berlin-1m --repetitions 5
    python -m bench.mobitrie_study --show

Each run is written to bench/results/mobitrie_study/ when it is done, and is not done again. Figures per run:
true and false positives and negatives over the public universe of 3-grams (without marks), precision, recall, F1;
fitness, the share of a raw trip's 3-grams that the trie has, mean over trips; and the mean relative error of
contiguous queries of up to 4..20 stops, answered by trips made from the trie. `leaking` noises observed n-grams only,
as the published code does: it is not private and exists here alone. `public` is the whole universe, without any data.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import polars as pl

from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mobitrie import MobiTrie, MobiTrieSearch
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.bits import secure_bits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate, NoisyCounts
from wayveil.privacy.units import Trip
from wayveil.progress import shown, track
from wayveil.trips.sequences import read_sequences
from wayveil.trips.trips import Trips
from wayveil.utility.subsequences import SubsequenceError
from wayveil.world.ngrams import NgramUniverse
from wayveil.world.world import World

RESULTS = Path(__file__).parent / "results" / "mobitrie_study"
DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
BERLIN = "52.34,13.09,52.68,13.76"
EPSILONS = ("0.1", "0.2", "0.5", "0.8", "1")
QUALITY = {"msnbc": "0.65", "berlin-10k": "0.65", "berlin-1m": "0.7"}  # as published, one per dataset
LENGTHS = (4, 8, 12, 16, 20)
# The study's tables 7.5 to 7.7 and 7.9 to 7.11: fitness, F1, error at length 4 and 20.
PUBLISHED = {
    "berlin-10k": {"0.1": (0.319, 0.415, 0.135, 0.027), "1": (0.663, 0.576, 0.085, 0.017)},
    "berlin-1m": {"0.1": (0.803, 0.605, 0.093, 0.019), "1": (0.987, 0.876, 0.083, 0.016)},
    "msnbc": {
        "0.1": (0.903, 0.516, 0.264, 0.059),
        "0.2": (0.939, 0.579, 0.247, 0.057),
        "0.5": (0.950, 0.668, 0.241, 0.056),
        "0.8": (0.976, 0.723, None, None),
        "1": (0.969, 0.749, 0.233, 0.054),
    },
}


class LeakingGate(Gate):
    """Answers about the cells that occur in the data and about no others. Not private at any epsilon."""

    def answer(self, question, exact):
        noisy = super().answer(question, exact)
        seen = np.isin(noisy.keys, exact.keys)
        return NoisyCounts(question, noisy.keys[seen], noisy.counts[seen])

    def inner(self, budget):
        return LeakingGate(self.unit, budget, self.bits)


def load(name: str) -> Trips:
    if name == "msnbc":
        world = World.of_symbols([str(page) for page in range(1, 18)])
        return read_sequences(DATA / "msnbc" / "msnbc990928.zip", world)
    from wayveil.simulate.city import simulate_city
    from wayveil.world.gtfs import read_gtfs

    riders = {"berlin-10k": 10_000, "berlin-1m": 1_000_000}[name]
    return simulate_city(
        read_gtfs(DATA / "berlin" / "gtfs.zip", bbox=BERLIN), riders, seed=1, times=False
    ).trips


def subjects(name: str):
    """Mechanisms and the gates they are measured with."""
    published = MobiTrieSearch(quality=QUALITY[name])
    return {
        "mobitrie": (MobiTrie(), Gate),
        "mobitrie, 10 % false": (MobiTrie(false_share=0.1, false_most=1e6), Gate),
        "mobitrie-lt": (published, Gate),
        "leaking": (published, LeakingGate),
        "markov": (Markov(), Gate),
        "variable-ngrams": (VariableNgrams(n_max=4, moves=40), Gate),
    }


class Study:
    """One dataset with everything about it that all runs share."""

    def __init__(self, name: str) -> None:
        self.name, self.raw = name, load(name)
        self.counter = LocalCounter(self.raw)
        self.universe = NgramUniverse(self.raw.world, 3)
        starts = np.flatnonzero(
            np.arange(self.raw.visits) + 3 <= np.repeat(self.raw.offsets[1:], self.raw.lengths)
        )
        ranks = self.universe.rank(self.raw.location[starts[:, None] + np.arange(3)])
        legal = ranks >= 0
        self.trip, self.rank = self.raw.trip_of_visit()[starts[legal]], ranks[legal]
        self.true = np.unique(self.rank)
        self.windows = np.bincount(self.trip, minlength=len(self.raw))
        self.error = SubsequenceError(self.raw, max_lengths=LENGTHS)

    def model_figures(self, kept: np.ndarray) -> dict:
        """Confusion over the universe, and fitness."""
        tp = len(np.intersect1d(kept, self.true))
        fp, fn = len(kept) - tp, len(self.true) - tp
        has = np.bincount(self.trip, np.isin(self.rank, kept), len(self.raw))
        return {
            "TP": tp,
            "FP": fp,
            "FN": fn,
            "TN": self.universe.size - tp - fp - fn,
            "precision": tp / max(len(kept), 1),
            "recall": tp / max(len(self.true), 1),
            "F1": 2 * tp / max(len(kept) + len(self.true), 1),
            "fitness": float(np.mean((has / np.maximum(self.windows, 1))[self.windows > 0])),
        }

    def trip_figures(self, private: Trips) -> dict:
        return {measure.key: measure.value for measure in self.error.measure(private)}

    def run(self, subject: str, epsilon: str, repetition: int) -> dict:
        row = {"data": self.name, "mechanism": subject, "epsilon": epsilon, "repetition": repetition}
        if subject == "public":
            return row | {"accepted": True} | self.model_figures(np.arange(self.universe.size))
        mechanism, kind = subjects(self.name)[subject]
        begin = time.perf_counter()
        gate = kind(Trip(), Budget(epsilon), secure_bits())
        model = mechanism.measure(self.counter, gate)
        row |= {"seconds": time.perf_counter() - begin, "accepted": getattr(model, "accepted", True)}
        if not row["accepted"]:
            return row
        private = model.generate(repetition)
        table = getattr(model, "grams", None) or next((t for t in model.tables if t.n == 3), None)
        grams = table.symbols if table is not None else np.zeros((0, 3), np.int64)
        if table is None:  # a model of moves: its 3-grams are those of its trips
            starts = np.flatnonzero(
                np.arange(private.visits) + 3 <= np.repeat(private.offsets[1:], private.lengths)
            )
            grams = private.location[starts[:, None] + np.arange(3)]
        inside = np.all(grams < self.raw.world.size, axis=1)
        return (
            row
            | self.model_figures(np.unique(self.universe.rank(grams[inside])))
            | self.trip_figures(private)
        )


def run(names: list[str], repetitions: int, epsilons: tuple[str, ...], wanted: list[str] | None) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in names:
        plan = [("public", "-", 0)] + [
            (subject, epsilon, repetition)
            for repetition in range(repetitions)
            for epsilon in epsilons
            for subject in wanted or subjects(name)
        ]
        files = {
            job: RESULTS / ("-".join([name, *map(str, job)]).replace(" ", "_") + ".parquet") for job in plan
        }
        todo = [job for job in plan if not files[job].exists()]
        study = Study(name) if todo else None
        for job in track(todo, name, len(todo)):
            frame = pl.DataFrame([study.run(*job)])
            temporary = files[job].with_suffix(".part")
            frame.write_parquet(temporary)
            temporary.rename(files[job])  # whole or not at all


def show() -> pl.DataFrame:
    """Means over repetitions beside the study's figures."""
    rows = pl.concat(
        [pl.read_parquet(file) for file in sorted(RESULTS.glob("*.parquet"))], how="diagonal_relaxed"
    )
    errors = [f"subsequence_error/{kind}/{length}" for kind in ("uniform", "non-empty") for length in (4, 20)]
    figures = ["fitness", "F1", "precision", "recall", "TP", "FP", "FN", "TN", *errors, "seconds"]
    table = rows.group_by("data", "mechanism", "epsilon").agg(
        pl.len().alias("runs"),
        pl.col("accepted").mean(),
        *[pl.col(figure).mean().round(4) for figure in figures if figure in rows.columns],
    )
    published = pl.DataFrame(
        [
            {
                "data": data,
                "epsilon": epsilon,
                "study fitness": f,
                "study F1": f1,
                "study 4": e4,
                "study 20": e20,
            }
            for data, by_epsilon in PUBLISHED.items()
            for epsilon, (f, f1, e4, e20) in by_epsilon.items()
        ]
    )
    return table.join(published, on=["data", "epsilon"], how="left").sort("data", "epsilon", "mechanism")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["msnbc", "berlin-10k", "berlin-1m"], choices=QUALITY)
    parser.add_argument("--repetitions", type=int, default=5, help="the study did 100")
    parser.add_argument("--epsilon", nargs="+", default=EPSILONS)
    parser.add_argument("--mechanism", nargs="+", help="only these")
    parser.add_argument("--show", action="store_true", help="only show what there is")
    options = parser.parse_args()
    if not options.show:
        with shown():
            run(options.data, options.repetitions, tuple(options.epsilon), options.mechanism)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=250, fmt_str_lengths=40):
        print(show())


if __name__ == "__main__":
    main()
