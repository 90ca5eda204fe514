"""What the study decides without a measurement: rolling or static 3-grams, and the base count of one."""

import numpy as np

from wayveil.lab.studies.mobitrie.mobitrie_trials import (
    BY_TRIE,
    MobiTrieTrials,
    N,
    by_length,
    error_rows,
    metrics_of,
)
from wayveil.lab.studies.mobitrie.tries import static_grams, static_trie
from wayveil.lab.studies.study import CellOutcome, Setting, figures
from wayveil.utility.model_ngrams import trie_errors

STATIC_TRIE, STATIC_BASELINE = "mobitrie, static 3-grams", "static baseline (no privacy)"
VARIANTS = (STATIC_BASELINE, STATIC_TRIE)


def static_trial(trials: MobiTrieTrials, setting: Setting, repetition: int) -> CellOutcome:
    """Static 3-grams, with privacy and without, judged like rolling ones: by all 3-grams of the trips."""
    bench, name, epsilon = trials.bench(setting["data"]), setting["mechanism"], setting["epsilon"]
    if name == STATIC_BASELINE:
        counted = static_grams(bench.raw, N)
        grams, count = counted.grams.astype(np.int64), counted.count.astype(np.float64)
    else:
        seed = f"{setting['data']} static {epsilon} {repetition}"
        grams, count = static_trie(bench.raw, epsilon, seed)
    rows = figures(metrics_of(bench.ngrams.score(grams)))
    errors = by_length(trie_errors(bench.errors, grams, count), "uniform")
    return CellOutcome(rows + error_rows(name, {BY_TRIE: errors}))
