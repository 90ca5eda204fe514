"""Whether what `wayveil plan` promises is reached, on worlds that its simulator did not make.

    python -m bench.promise            all worlds
    python -m bench.promise tube       some of them

The promise is the median error of a need from simulated riders, of whom only the number is told. Reached is the median
error of the same cells when the world's own trips are counted with the noise of a release. Ratio: reached / promised.
"""

import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from bench.needs import RIDES, network, simulate
from bench.worlds import MissingDataError, buenos_aires, oyster, tube
from wayveil.counting.local import LocalCounter
from wayveil.plan.needs import Need, parts_of
from wayveil.plan.ordering import size_of_world
from wayveil.plan.outlook import Crowd, Forecast, find_cells, rides_of
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip
from wayveil.releases.order import default_mechanism
from wayveil.simulate.habit import simulate_habit
from wayveil.trips.trips import Trips

EPSILONS = (0.5, 1.0, 2.0)
NEEDS = (
    Need(question="boardings", top=50, within=0.1),
    Need(question="alightings", top=20, within=0.15),
    Need(question="hours", within=0.1),
)
BLOCKS = {"boardings": "origin", "alightings": "destination", "hours": "hour"}
TRIES = 10


def city(name: str, seed: int) -> Callable[[], Trips]:
    return lambda: simulate(network(name), RIDES[name], seed)


def some(make: Callable[[], Trips], count: int) -> Callable[[], Trips]:
    """So many trips of a world, drawn at random: as many as a middling agency has."""

    def draw() -> Trips:
        trips = make()
        return trips.take(
            np.sort(np.random.default_rng(1).choice(len(trips), min(count, len(trips)), replace=False))
        )

    return draw


WORLDS: dict[str, Callable[[], Trips]] = {
    "tube": some(tube, 60_000),
    "oyster": some(oyster, 60_000),
    "buenos-aires": buenos_aires,
    "line riders, cairns": lambda: simulate_habit(network("cairns"), 15_000, seed=2),
    "line riders, victoria": lambda: simulate_habit(network("victoria"), 30_000, seed=3),
    "cairns": city("cairns", 11),
    "victoria": city("victoria", 12),
    "invented": city("invented", 13),
}


def run_world(name: str) -> list[dict]:
    """Promised and reached errors of one world, per need and epsilon."""
    trips = WORLDS[name]()
    needs = [need for need in NEEDS if trips.time is not None or need.question != "hours"]
    riders = len(trips) if trips.rider is None else len(np.unique(trips.rider))
    bound = None if riders == len(trips) else rides_of(len(trips) / riders)
    unit = Trip() if bound is None else Rider(max_trips=bound)
    mechanism = default_mechanism(trips.world, parts_of(needs, size_of_world(trips.world)))
    told = Forecast(trips.world, Crowd.simulate(trips.world, len(trips), riders), mechanism, unit, bound)
    rows = []
    for epsilon in EPSILONS:
        promised = told.at(needs, epsilon)
        off = {need: [] for need in needs}
        for _ in range(TRIES):
            gate = Gate(unit, Budget(Fraction(str(epsilon))))
            bounded = gate.bound(trips, mechanism.rule(trips.world))
            model = mechanism.measure(LocalCounter(bounded), gate)
            for need in needs:
                block = model.noisy.get(BLOCKS[need.question])
                cell, size = find_cells(need, trips)
                truth = np.bincount(cell, minlength=size).astype(float)
                scale = len(trips) / max(len(bounded), 1)
                shown = np.zeros(size) if block is None else np.maximum(block.in_trips().value, 0) * scale
                asked = np.argsort(-truth)[: need.top or int((truth > 0).sum())]
                error = np.minimum(np.abs(shown - truth)[asked] / np.maximum(truth[asked], 1), 1)
                off[need].append(float(np.median(error)))
        for need, each in zip(needs, promised, strict=True):
            reached = float(np.median(off[need]))
            rows.append(
                {
                    "world": name,
                    "need": str(need),
                    "epsilon": epsilon,
                    "promised": each.median,
                    "reached": reached,
                    "ratio": reached / max(each.median, 1e-9),
                    "promised to meet": each.met,
                    "met": float(np.mean(np.array(off[need]) <= need.within)),
                }
            )
            print(rows[-1], flush=True)
    return rows


def run(worlds: list[str] | None = None) -> list[dict]:
    """All worlds that are at hand."""
    rows = []
    for name in worlds or WORLDS:
        try:
            rows += run_world(name)
        except MissingDataError as error:
            print(f"{name}: {error}")
    near = np.mean([0.75 <= row["ratio"] <= 1.25 for row in rows]) if rows else 0.0
    print(f"{near:.0%} of {len(rows)} cells are reached within 25 % of the promise")
    return rows


if __name__ == "__main__":
    run(sys.argv[1:])
