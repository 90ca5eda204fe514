"""One trial of the study: a trie of one dataset at one epsilon, and everything that the study measures of it.

Which n-grams a trip counts for is drawn once per repetition, for all mechanisms and epsilons of it: each trial by
itself is a release as in life, and trials of different repetitions are independent.
"""

from collections.abc import Mapping
from math import nan
from typing import Any

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.counting.local import LocalCounter
from wayveil.lab.studies.lab import Datasets
from wayveil.lab.studies.mobitrie.mobitrie_datasets import CODE_SANITY, EPSILONS, LENGTHS, PAGES, QUALITY
from wayveil.lab.studies.mobitrie.searched import SearchedNgrams
from wayveil.lab.studies.observed_gate import ObservedOnlyGate
from wayveil.lab.studies.study import CellOutcome, Setting, figures
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.mobitrie import MobiTrie, MobiTrieSearch
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.bits import Bits, SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.units import Trip
from wayveil.synthesis.model import HoldsNgrams, Model
from wayveil.synthesis.public_knowledge import empty
from wayveil.trips.trips import Trips
from wayveil.trips.windows import gram_counts
from wayveil.utility.model_ngrams import ModelNgrams, ModelScore, trie_errors
from wayveil.utility.ngram_figures import SubsequenceError
from wayveil.world.marked_ngrams import MarkedNgrams

N = 3
DRAWN = 5  # repetitions whose trips are drawn and asked as well
BY_TRIE, BY_TRIPS, BY_TRIPS_DRAWN = "by the trie", "by trips", "by trips, queries drawn from raw trips"
AS_CODED = "by the trie, asked as in the study's code"
BASE_COUNT = "mobitrie-lt, base count 1"
RETURNS = "mobitrie-lt, 3-grams that turn back at once too"
LEAK = "mobitrie-lt, noise on observed 3-grams only (not private)"
VARIED = "variable-ngrams, with the search"
CODED = ("mobitrie-lt", LEAK)  # those that are asked as in the study's code too
BASELINE, UNIVERSE = "baseline (no privacy)", "the universe, no data"


def subjects(data: str) -> dict[str, Mechanism | SearchedNgrams]:
    """The mechanisms by name; that of the study first, then ours, then what else there is."""
    back = turns_back(data)
    return {
        "mobitrie-lt": MobiTrieSearch(quality=QUALITY[data], returns=back),
        "mobitrie": MobiTrie(returns=back),
        RETURNS: MobiTrieSearch(quality=QUALITY[data]),
        LEAK: MobiTrieSearch(quality=QUALITY[data], returns=back),
        BASE_COUNT: MobiTrieSearch.published(quality=QUALITY[data], returns=back),
        "markov": Markov(),
        "variable-ngrams": VariableNgrams(n_max=4, moves=40),
        VARIED: SearchedNgrams(
            MobiTrieSearch(quality=QUALITY[data], returns=back), VariableNgrams(n_max=4, moves=40)
        ),
    }


def turns_back(data: str) -> bool:
    """Tell whether n-grams that turn back at once are possible: of pages they are, of riders they are not.

    That the study leaves them out is an inference: its riders take shortest ways, which never turn back, and yet have
    93 to 99 % of all 3-grams that are possible to it.
    """
    return data == PAGES


class ChosenOnce(LocalCounter):
    """Chooses each trip's n-grams by bits of its own, and stays with that choice whoever asks first."""

    def __init__(self, trips: Trips, seed: str = "") -> None:
        super().__init__(trips)
        self._seed = seed
        self._chosen: dict[tuple[int, int, int], SparseCounts] = {}

    def capped_ngrams(self, universe: MarkedNgrams, most: int, bits: Bits) -> SparseCounts:
        key = universe.n, universe.size, most
        if key not in self._chosen:
            own = SeededBits(f"{self._seed} {key}")
            self._chosen[key] = super().capped_ngrams(universe, most, own)
        return self._chosen[key]


class Bench:
    """One dataset with everything about it that all trials share."""

    def __init__(self, raw: Trips, queries: int, *, returns: bool = True) -> None:
        self.raw = raw
        self.ngrams = ModelNgrams(raw, n=N, returns=returns)
        # The study counts how often a query occurs, not in how many trips.
        self.errors = SubsequenceError(
            raw, queries=queries, max_lengths=tuple(map(int, LENGTHS)), occurrences=True
        )
        self._counter, self._repetition = ChosenOnce(raw), -1

    def counter(self, repetition: int) -> ChosenOnce:
        """The counter of a repetition; only the last one is kept."""
        if repetition != self._repetition:
            self._counter, self._repetition = ChosenOnce(self.raw, f"choice {repetition}"), repetition
        return self._counter


class MobiTrieTrials:
    """Runs trials, and prepares each dataset once."""

    def __init__(self, data: Datasets, queries: int) -> None:
        self.data, self.queries = data, queries
        self._benches: dict[str, Bench] = {}

    def bench(self, data: str) -> Bench:
        """The dataset, ready for trials."""
        if data not in self._benches:
            raw = self.data.trips[data]()
            self._benches[data] = Bench(raw, self.queries, returns=turns_back(data))
        return self._benches[data]

    def facts(self, setting: Setting, repetition: int) -> CellOutcome:
        """Table 7.1: how large the dataset is."""
        raw = self.data.trips[setting["data"]]()
        values = {
            "trajectories": float(len(raw)),
            "locations": float(len(np.unique(raw.location))),
            "longest": float(raw.lengths.max()),
            "mean length": float(raw.lengths.mean()),
        }
        return CellOutcome(figures(values, mechanism="ours"))

    def lines(self, setting: Setting, repetition: int) -> CellOutcome:
        """The baseline trie of all n-grams without noise, and the public universe without data."""
        bench = self.bench(setting["data"])
        counted = gram_counts(bench.raw, N)
        exact = trie_errors(bench.errors, counted.grams, counted.count.astype(np.float64))
        rows: list[dict[str, Any]] = []
        for epsilon in EPSILONS:
            place = {"epsilon": epsilon}
            rows += figures(metrics_of(bench.ngrams.score(counted.grams)), mechanism=BASELINE, **place)
            rows += figures(metrics_of(bench.ngrams.everything()), mechanism=UNIVERSE, **place)
            rows += error_rows(BASELINE, {BY_TRIE: by_length(exact, "uniform")}, **place)
        return CellOutcome(rows)

    def release(self, setting: Setting, repetition: int) -> Model:
        """Measure with noise from a seed: these models never leave the process."""
        data, name, epsilon = setting["data"], setting["mechanism"], setting["epsilon"]
        bits = SeededBits(f"{data} {name} {epsilon} {repetition}")
        counter = self.bench(data).counter(repetition)
        gate = ObservedOnlyGate if name == LEAK else Gate
        return subjects(data)[name].measure(counter, gate(Trip(), Budget(epsilon), bits))

    def trial(self, setting: Setting, repetition: int) -> CellOutcome:
        """One release. A search that found nothing has only that to say."""
        model = self.release(setting, repetition)
        accepted = getattr(model, "accepted", True)
        rows = figures({"found": float(accepted)})
        if accepted:
            rows += self.judge(setting["mechanism"], self.bench(setting["data"]), model, repetition)
        return CellOutcome(rows)

    def judge(self, name: str, bench: Bench, model: Model, repetition: int) -> list[dict[str, Any]]:
        """Confusion and fitness of the trie, and the errors of its own answers and of trips made from it."""
        held = own_ngrams(model)
        # What the study measures is answered by the trie; trips take many times as long.
        drawn = held is None or repetition < DRAWN
        private = model.generate(repetition) if drawn else empty(bench.raw.world)
        grams, count = held or grams_of(private)
        rows = figures(metrics_of(bench.ngrams.score(grams)))
        errors = {BY_TRIE: by_length(trie_errors(bench.errors, grams, count), "uniform")}
        if name in CODED:
            coded = trie_errors(
                bench.errors, grams, count, leaves_only=True, sanity=CODE_SANITY * len(bench.raw)
            )
            errors[AS_CODED] = by_length(coded, "uniform")
        if name != LEAK and drawn:
            by_trips = bench.errors.measure(private)
            errors[BY_TRIPS] = by_length(by_trips, "uniform")
            errors[BY_TRIPS_DRAWN] = by_length(by_trips, "non-empty")
        return rows + error_rows(name, errors)


Grams = tuple[Ints, Floats]


def own_ngrams(model: Model) -> Grams | None:
    """The 3-grams that a model holds, without marks; None where it has none of its own."""
    return model.ngrams(N) if isinstance(model, HoldsNgrams) else None


def grams_of(trips: Trips) -> Grams:
    """The 3-grams of trips."""
    counted = gram_counts(trips, N)
    return counted.grams.astype(np.int64), counted.count.astype(np.float64)


def metrics_of(score: ModelScore) -> dict[str, float | None]:
    """The study's figures of a trie."""
    seen = score.confusion
    return {
        "fitness": score.fitness,
        "F1": seen.f1,
        "precision": seen.precision,
        "recall": seen.recall,
        "accuracy": seen.accuracy,
        "Jaccard": seen.jaccard,
        "FNR": seen.false_negative_rate,
        "TP": float(seen.true_positive),
        "FN": float(seen.false_negative),
        "FP": float(seen.false_positive),
        "TN": float(seen.true_negative),
    }


def by_length(measures: Any, workload: str) -> dict[str, float]:
    """Length -> error of one workload."""
    prefix = f"subsequence_error/{workload}/"
    found = {one.key: one.value for one in measures}
    return {length: found.get(prefix + length, nan) for length in LENGTHS}


def error_rows(
    name: str, errors: Mapping[str, Mapping[str, float]], **coordinates: str
) -> list[dict[str, Any]]:
    """Rows with the length and who answered how."""
    return [
        row
        for answered, values in errors.items()
        for length, value in values.items()
        for row in figures({"error": value}, length=length, answered=f"{name} {answered}", **coordinates)
    ]
