"""What the published trie study measured: the figures of its leak, computed here and nowhere else.

python tests/mechanisms/test_mobitrie_leak.py     the figures of 100 runs at every epsilon
"""

import numpy as np
import pytest
from bench.mobitrie_study import DATA, EPSILONS, ChosenOnce, Study, subjects
from bench.mobitrie_tables import published

from wayveil.counting.local import LocalCounter
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate, NoisyCounts
from wayveil.privacy.units import Trip
from wayveil.trips.trips import Trips
from wayveil.world.world import World


class LeakingGate(Gate):
    """Answers about the cells that occur in the data and about no others. Not private at any epsilon."""

    def answer(self, question, exact):
        noisy = super().answer(question, exact)
        seen = np.isin(noisy.keys, exact.keys)
        return NoisyCounts(question, noisy.keys[seen], noisy.counts[seen])

    def inner(self, budget):
        return LeakingGate(self.unit, budget, self.bits)


def figures(study, epsilon, runs):
    """Mean fitness, F1 and precision of the tries that were found, and the share of runs that found one."""
    mechanism, counter = subjects(study.name)["mobitrie-lt"], ChosenOnce(study.raw)
    models = [
        mechanism.measure(counter, LeakingGate(Trip(), Budget(epsilon), SeededBits(f"{epsilon} {run}")))
        for run in range(runs)
    ]
    found = [study.model_figures(study.ranks(model, None)) for model in models if model.accepted]
    means = {key: float(np.mean([each[key] for each in found])) for key in ("fitness", "F1", "precision")}
    return means | {"found": len(found) / runs}


def test_a_leaking_gate_never_shows_what_did_not_happen():
    trips = Trips.of_lists([[0, 1, 2]] * 50, World(list("abcdef")))
    mechanism = subjects("msnbc")["mobitrie-lt"].model_copy(update={"quality": 0.01})
    accepted = []
    for seed in range(5):
        gates = [kind(Trip(), Budget(1), SeededBits(seed)) for kind in (LeakingGate, Gate)]
        leaking, sound = (mechanism.measure(LocalCounter(trips), gate) for gate in gates)
        assert set(map(tuple, leaking.grams.symbols.tolist())) <= {(6, 0, 1), (0, 1, 2), (1, 2, 7)}
        # A search may end with nothing; where it finds a trie, noise shows in it.
        assert len(sound.grams) > 3 or not sound.accepted
        accepted.append(sound.accepted)
    assert sum(accepted) >= 3


@pytest.mark.data
def test_the_study_printed_the_figures_of_its_leak():
    if not (DATA / "msnbc").exists():
        pytest.skip(f"{DATA / 'msnbc'} is not there; set WAYVEIL_DATA to the folder of the public data sets")
    study = Study("msnbc")
    for epsilon in ("0.1", "1"):
        means = figures(study, epsilon, 20)
        assert means["precision"] == 1
        assert means["fitness"] == pytest.approx(published("msnbc", epsilon)["fitness"], abs=0.02)
        assert means["F1"] == pytest.approx(published("msnbc", epsilon)["F1"], abs=0.1)


if __name__ == "__main__":
    for name in ("msnbc", "berlin-10k", "berlin-1m"):
        whole = Study(name)
        for each in EPSILONS:
            print(
                name,
                each,
                {key: round(value, 3) for key, value in figures(whole, each, 100).items()},
                flush=True,
            )
