"""Compares constants of Weave on a network, one at a time, on invented cities only.

Weave is not judged on these cities. But that does not make its constants blind: some were also set with a look at
benchmark worlds, and this list of variants has not been run as a whole; docs/mechanisms/weave-notebook.md says which.

    python -m tuning.weave_tuning                 every variant below
    python -m tuning.weave_tuning rare anywhere   some of them

Each variant is scored on two cities with two kinds of riders at two epsilons; printed is the mean of the logarithm of
(figure of the variant / figure of the defaults) over the error figures: below zero is better.
"""

import sys
from fractions import Fraction

import numpy as np
from bench.weave import RIDERS, Examiner, city, release_of

from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.shares import Shares
from wayveil.privacy.units import Trip

CITIES = ((160, 10, 11), (300, 20, 12))
TRIPS = 10_000
ERRORS = ("are_nonempty", "are_uniform", "od_emd", "ngram_tv_2", "ngram_tv_3", "edges")


def _made(**constants: float) -> Weave:
    return Weave(generation=Generation(**constants))


def _shared(name: str, hundredths: int) -> Weave:
    return Weave(shares=Shares(**{name: Fraction(hundredths, 100)}))


VARIANTS: dict[str, tuple[Weave, ...]] = {
    "rare": tuple(_made(rare=value) for value in (0.0, 0.08, 0.25)),
    "anywhere": tuple(_made(anywhere=value) for value in (0.0, 0.3)),
    "sweeps": tuple(_made(sweeps=value) for value in (0, 3, 20)),
    "least_kinds": tuple(_made(least_kinds=value) for value in (4, 16)),
    "model_error": tuple(_made(model_error=value) for value in (0.05, 0.5)),
    "feedback": tuple(_made(feedback=value, feedback_weak=value) for value in (0.0, 1.0)),
    "support": tuple(_made(support=value) for value in (1.0, 6.0)),
    "off": tuple(_made(off=value) for value in (0.5, 2.0)),
    "ends_off": tuple(_made(ends_off=value) for value in (0.25, 1.0)),
    "full_cells": tuple(Weave(full_cells=value) for value in (2.0, 8.0)),
    "faint": tuple(Weave(faint=value) for value in (0.0, 0.2)),
    "fewest_inside": tuple(Weave(fewest_inside=value) for value in (0, 4, 16)),
    "triples_from": tuple(Weave(triples_from=value) for value in (1.0, 20.0)),
    "edges": tuple(_shared("edge", value) for value in (11, 44)),
    "pairs": tuple(_shared("pair", value) for value in (8, 32)),
    "origins": tuple(_shared("origin_if_dense", value) for value in (20, 90)),
}


def main(names: list[str]) -> None:
    chosen = {name: VARIANTS[name] for name in names or VARIANTS}
    cases = []
    for stops, lines, seed in CITIES:
        network = city(stops, lines, seed)
        for riders in RIDERS.values():
            raw = riders(network, TRIPS, seed)
            cases += [(raw, Examiner(raw), Fraction(epsilon)) for epsilon in ("1/5", "1")]

    def figures(weave: Weave) -> np.ndarray:
        return np.array(
            [
                [examine(release_of(weave, raw, epsilon, Trip(), 1))[key] for key in ERRORS]
                for raw, examine, epsilon in cases
            ]
        )

    base = figures(Weave())
    for name, variants in chosen.items():
        for weave in variants:
            ratio = figures(weave) / base
            changed = weave.generation.model_dump(exclude_defaults=True) or weave.model_dump(
                exclude_defaults=True
            )
            print(f"{name:12} {float(np.mean(np.log(ratio))):+.3f}  {changed}", flush=True)
    again = float(np.mean(np.log(figures(Weave()) / base)))
    print(f"the defaults once more: {again:+.3f}, which is how far chance alone moves this figure")


if __name__ == "__main__":
    main(sys.argv[1:])
