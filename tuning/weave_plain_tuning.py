"""Compares constants of Weave without a network, one at a time, on invented sequences only.

Most of these constants were set with benchmark worlds in view; docs/mechanisms/weave-notebook.md says which.

    python -m tuning.weave_plain_tuning                every variant below
    python -m tuning.weave_plain_tuning doubtful move  some of them

Three worlds: weeks of taps to and fro, clicks that remember two pages, and days among a thousand places of which few
are busy; two epsilons each. Printed is the mean of the logarithm of (figure of the variant / figure of the defaults):
below zero is better, first over all figures, then for each. Where more is better, one minus the figure is taken.
"""

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from bench.weave import city

from wayveil.lab.comparison.run_cells import Examiner, Settings
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.run import make_release as release
from wayveil.simulate.week import simulate_week
from wayveil.trips.trips import Trips
from wayveil.world.world import World

ERRORS = (
    "count_query_error/non-empty",
    "count_query_error/uniform",
    "stop_error",
    "edge_error",
    "ngram_tv_3",
    "trip_length_jsd",
    "od_zone_jsd",
    "operations/stop",
)
SCORES = ("ngram_3/f1", "patterns/contiguous/100/f1", "patterns/gapped/100/f1")
SETTINGS = Settings(
    queries=1_000, most_pairs=2, unit=Trip(), unasked=("Feasibility", "Origin-destination distance")
)


def weeks(seed: int) -> Trips:
    """Taps of a week to and fro, over stations without a network between them."""
    raw = simulate_week(city(80, 6, seed), 30_000, seed=seed)
    return Trips(raw.location, raw.offsets, World(raw.world.ids.tolist()))


def clicks(seed: int, pages: int = 15, count: int = 30_000) -> Trips:
    """Sessions in which the last two pages decide about the next one, and many stay where they are."""
    rng = np.random.default_rng(seed)
    likely = rng.dirichlet(np.full(pages, 0.3), (pages, pages))
    first = rng.dirichlet(np.full(pages, 0.5))
    lists = []
    for length in np.minimum(rng.zipf(1.7, count), 300).tolist():
        session = [int(rng.choice(pages, p=first))]
        stays = rng.beta(1, 1)
        while len(session) < length:
            row = likely[session[-2] if len(session) > 1 else 0, session[-1]]
            goes = rng.random() >= stays
            session.append(
                int(np.searchsorted(np.cumsum(row), rng.random())) % pages if goes else session[-1]
            )
        lists.append(session)
    return Trips.of_lists(lists, World([f"p{page:02d}" for page in range(pages)]))


def days(seed: int, places: int = 1_000, count: int = 10_000) -> Trips:
    """A day each between a few of the many places, most of which hardly anybody visits."""
    rng = np.random.default_rng(seed)
    busy = rng.permutation(rng.pareto(0.7, places) * (rng.random(places) < 0.4) + 1e-9)
    own = rng.choice(places, (count, 3), p=busy / busy.sum())
    length = rng.geometric(0.4, count).clip(max=15)
    lists = [
        [int(mine[at]) for at in rng.choice(3, many, p=(0.5, 0.35, 0.15))]
        for mine, many in zip(own, length.tolist(), strict=True)
    ]
    return Trips.of_lists(lists, World([f"d{place:04d}" for place in range(places)]))


WORLDS: dict[str, Callable[[int], Trips]] = {"weeks": weeks, "clicks": clicks, "days": days}
EPSILONS = ("1/5", "1")

SHARES: dict[str, tuple[int, ...]] = {
    "move": (210, 840),
    "visit": (5, 20),
    "memory": (7, 28),
    "origin": (20, 80),
    "length": (27, 108),
    "pairs": (10, 40),
}
CONSTANTS: dict[str, tuple[float, ...]] = {
    "doubtful": (0.2, 0.5),
    "alike": (20, 200),
    "visits_off": (0.35, 1.4),
    "unsure_moves": (1.0, 6.0),
}


def variants() -> Iterator[tuple[str, object, Weave]]:
    """Every constant with every other value, and Weave with it."""
    for name, values in CONSTANTS.items():
        for value in values:
            yield name, value, Weave(generation={name: value})
    for name, weights in SHARES.items():
        for weight in weights:
            yield name, weight, Weave(shares={"on_list": {name: weight}})


def main(names: list[str]) -> None:
    cases = []
    for name, make in WORLDS.items():
        raw = make(3)
        cases += [(name, raw, Examiner(raw, SETTINGS), epsilon) for epsilon in EPSILONS]

    def figures(mechanism: Mechanism) -> np.ndarray:
        rows = []
        for name, raw, examiner, epsilon in cases:
            bits = SeededBits(f"{name} {epsilon}")
            private = release(raw, mechanism, epsilon=Fraction(epsilon), unit=Trip(), bits=bits, seed=1).trips
            found = {m.key: m.value for question in examiner.questions for m in question.measure(private)}
            rows.append([found[key] for key in ERRORS] + [1.001 - found[key] for key in SCORES])
        return np.array(rows, float)

    def report(name: str, value: object, found: np.ndarray) -> None:
        apart = np.log(np.maximum(found, 1e-6) / np.maximum(base, 1e-6))
        each = " ".join(f"{part:+.2f}" for part in apart.mean(axis=0))
        print(f"{name:14} {value!s:>6} {apart.mean():+.3f}   {each}", flush=True)

    base = figures(Weave())
    print("figures:", ", ".join((*ERRORS, *SCORES)))
    if not names:
        report("markov", "", np.minimum(figures(Markov()), figures(Markov(lengths_share=Fraction(1, 10)))))
    for name, value, weave in variants():
        if not names or name in names:
            report(name, value, figures(weave))


if __name__ == "__main__":
    main(sys.argv[1:])
