"""The errors that Weave expects of its releases, held against those they have, on invented cities.

python -m bench.weave_expected [stops] [lines] [trips] [epsilons] [riders] [repetitions] [seed]

A ratio of one is right; above one, the release is better than it says of itself. The constants of the estimate were
chosen on the cities of seed 1 (160 stops with habit riders, 300 with shortest ones), so that other seeds are the test.
"""

import sys
from fractions import Fraction

import numpy as np

from bench.weave import RIDERS, city
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.measurements import ASKED_ABOUT, count_trips, expected_errors
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.trips.trips import Trips

# Relative errors are taken of at least this share of all trips, as in all figures.
LEAST_SHARE = 0.001


def compared(raw: Trips, epsilon: str, seed: int, weave: Weave | None = None) -> dict[str, tuple[float, ...]]:
    """Of one release, by question: expected and actual mean error in trips, expected and actual relative error."""
    gate = Gate(Trip(), Budget(Fraction(epsilon)), SeededBits(f"{epsilon} {seed}"))
    model = (weave or Weave(weakest=0)).measure(LocalCounter(raw), gate)
    released = model.generate(seed)
    expected = {error.question: error for error in expected_errors(model, released, seed)}
    true, private = count_trips(model, raw), count_trips(model, released)
    found = {}
    for name, question in ASKED_ABOUT.items():
        if question not in expected:
            continue
        fold = model.resolution.distances if name == "length" else 1
        sides = [side[name].riders.reshape(fold, -1).sum(axis=0) for side in (true, private)]
        seen = sides[1] > 0
        off = np.abs(sides[0] - sides[1])[seen]
        relative = off / np.maximum(sides[0][seen], LEAST_SHARE * len(raw))
        error = expected[question]
        found[question] = (error.off, float(off.mean()), error.relative, float(relative.mean()))
    return found


def main(arguments: list[str]) -> None:
    given = dict(enumerate(arguments))
    stops, lines, count = (int(given.get(place, size)) for place, size in enumerate((160, 10, 10_000)))
    epsilons, riders = given.get(3, "0.1,0.5,1,5").split(","), given.get(4, "habit")
    seed = int(given.get(6, 1))
    raw = RIDERS[riders](city(stops, lines, seed), count, seed)
    print(f"{stops} stops, {riders} riders, {count:,} trips\n")
    print("| epsilon | question | expected, trips | actual | ratio | expected, relative | actual | ratio |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for epsilon in epsilons:
        runs = [compared(raw, epsilon, seed) for seed in range(int(given.get(5, 5)))]
        for question in runs[0]:
            mean = np.mean([run[question] for run in runs], axis=0)
            cells = [f"{mean[at]:.3g} | {mean[at + 1]:.3g} | {mean[at] / mean[at + 1]:.2f}" for at in (0, 2)]
            print(f"| {epsilon} | {question} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
