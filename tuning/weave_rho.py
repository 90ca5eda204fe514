"""What zCDP brings to Weave at equal (epsilon, delta): pure epsilon, rho with L1 weights of flows, rho with L2 weights.

python -m tuning.weave_rho sim:STOPS:LINES:SEED:RIDERS:TRIPS 0.5,1,2 3      an invented city, epsilons, repetitions
python -m tuning.weave_rho tube 0.5,1 3                                     a case of pages.results
"""

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
from bench.weave import RIDERS, city
from pages.results import CASES

from wayveil.counting.local import LocalCounter
from wayveil.lab.comparison.run_cells import Examiner, Settings
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.zcdp import rho_for
from wayveil.world.walk_blocks import Resolution
from wayveil.world.zones import Geography

DELTA = Fraction(1, 10**6)
FIGURES = (
    "count_query_error/non-empty",
    "count_query_error/uniform",
    "stop_error",
    "edge_error",
    "ngram_tv_3",
    "patterns/contiguous/100/f1",
    "trip_length_jsd",
    "od_zone_jsd",
    "od_emd",
)
LINES = ("epsilon", "rho, L1", "rho")


def examiner(case: str) -> Examiner:
    if not case.startswith("sim:"):
        return Examiner(CASES[case].trips(), CASES[case].settings)
    _, stops, lines, seed, riders, trips = case.split(":")
    raw = RIDERS[riders](city(int(stops), int(lines), int(seed)), int(trips), int(seed))
    return Examiner(raw, Settings(queries=1_000, most_pairs=300, unasked=("Feasibility",)))


class WeaveWithL1(Weave):
    """In rho, flows keep the weights of pure epsilon."""

    def plan_questions(
        self, gate: Gate, geography: Geography, times: int, trips: int
    ) -> tuple[dict[str, Fraction], Resolution]:
        prices, look = super().plan_questions(gate, geography, times, trips)
        return prices, replace(look, euclidean=0)


def figures(examine: Examiner, line: str, epsilon: str, seed: int) -> dict[str, float]:
    """The figures of one release."""
    price = Fraction(epsilon)
    budget = Budget(price) if line == "epsilon" else Budget(rho_for(price, DELTA), currency="rho")
    mechanism = (WeaveWithL1 if line == "rho, L1" else Weave)(weakest=0)
    gate = Gate(examine.unit, budget, SeededBits(f"rho {seed} {epsilon}"))
    counter = LocalCounter(gate.bound(examine.raw, mechanism.rule(examine.raw.world)))
    released = mechanism.measure(counter, gate).generate(seed)
    found = {m.key: m.value for question in examine.questions for m in question.measure(released)}
    return {key: found[key] for key in FIGURES if key in found}


def main(arguments: list[str]) -> None:
    case, epsilons, repetitions = arguments
    examine = examiner(case)
    for epsilon in epsilons.split(","):
        for line in LINES:
            runs = [figures(examine, line, epsilon, seed) for seed in range(int(repetitions))]
            means = [f"{key} {np.mean([run[key] for run in runs]):.4g}" for key in runs[0]]
            print(f"{case} | epsilon {epsilon} | {line} | " + " | ".join(means), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
