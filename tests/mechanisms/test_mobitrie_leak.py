"""What the published trie study measured: the figures of its leak. `wayveil lab study mobitrie` shows them too.

python tests/mechanisms/test_mobitrie_leak.py     the figures of 100 runs at every epsilon
"""

import os
from pathlib import Path

import numpy as np
import pytest

from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.mobitrie.mobitrie_datasets import (
    EPSILONS,
    FIGURES,
    METRICS,
    PAGES,
    datasets,
    found_share,
)
from wayveil.lab.studies.mobitrie.mobitrie_trials import Bench, ChosenOnce, metrics_of, subjects
from wayveil.lab.studies.observed_gate import ObservedOnlyGate
from wayveil.privacy.bits import SeededBits, secure_bits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.trips.trips import Trips
from wayveil.world.world import World

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[3] / "shared" / "data"))


def published(data, epsilon):
    """The study's figures per trie that was found."""
    row = dict(zip(FIGURES, METRICS[data][epsilon], strict=True))
    return {name: value / found_share(data, epsilon) for name, value in row.items()}


def figures(data, bench, epsilon, runs):
    """Mean fitness, F1 and precision of the tries that were found, and the share of runs that found one."""
    mechanism, counter = subjects(data)["mobitrie-lt"], ChosenOnce(bench.raw)
    models = [
        mechanism.measure(counter, ObservedOnlyGate(Trip(), Budget(epsilon), SeededBits(f"{epsilon} {run}")))
        for run in range(runs)
    ]
    found = [metrics_of(bench.ngrams.score(model.ngrams(3)[0])) for model in models if model.accepted]
    means = {key: float(np.mean([each[key] for each in found])) for key in ("fitness", "F1", "precision")}
    return means | {"found": len(found) / runs}


def test_a_leaking_gate_never_shows_what_did_not_happen():
    trips = Trips.of_lists([[0, 1, 2]] * 50, World(list("abcdef")))
    mechanism = subjects(PAGES)["mobitrie-lt"].model_copy(update={"quality": 0.01})
    accepted = []
    for seed in range(5):
        gates = [kind(Trip(), Budget(1), SeededBits(seed)) for kind in (ObservedOnlyGate, Gate)]
        leaking, sound = (mechanism.measure(LocalCounter(trips), gate) for gate in gates)
        assert set(map(tuple, leaking.grams.symbols.tolist())) <= {(6, 0, 1), (0, 1, 2), (1, 2, 7)}
        # A search may end with nothing; where it finds a trie, noise shows in it.
        assert len(sound.grams) > 3 or not sound.accepted
        accepted.append(sound.accepted)
    assert sum(accepted) >= 3


def test_a_gate_that_leaks_takes_no_secure_noise():
    with pytest.raises(ParameterError, match="from a seed"):
        ObservedOnlyGate(Trip(), Budget(1), secure_bits())


@pytest.mark.data
def test_the_study_printed_the_figures_of_its_leak():
    if not (DATA / "msnbc").exists():
        pytest.skip(f"{DATA / 'msnbc'} is not there; set WAYVEIL_DATA to the folder of the public data sets")
    bench = Bench(datasets(Lab(scale="full", data=DATA)).trips[PAGES](), queries=100)
    for epsilon in ("0.1", "1"):
        means = figures(PAGES, bench, epsilon, 20)
        assert means["precision"] == 1
        assert means["fitness"] == pytest.approx(published(PAGES, epsilon)["fitness"], abs=0.02)
        assert means["F1"] == pytest.approx(published(PAGES, epsilon)["F1"], abs=0.1)


if __name__ == "__main__":
    for name, load in datasets(Lab(scale="full", data=DATA)).trips.items():
        whole = Bench(load(), queries=100)
        for each in EPSILONS:
            means = figures(name, whole, each, 100)
            print(name, each, {key: round(value, 3) for key, value in means.items()}, flush=True)
