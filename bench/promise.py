"""Whether what `wayveil plan` promises is reached, on worlds that its simulator did not make.

    python -m bench.promise            all worlds
    python -m bench.promise tube       some of them
    python -m bench.promise time       CPU seconds of `wayveil plan` on a city of 800 stops, twice

The promise is the median error of a need from simulated riders, of whom only the number is told. Reached is the median
error of the same cells when the world's own trips are counted with the noise of a release. Ratio: reached / promised; 1
where they differ by less than half a ride of the typical cell, as numbers are whole. Then each need alone, at the least
epsilon that is said to meet it in nine of ten tries: the share of tries that do.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from bench.needs import RIDES, network, simulate
from bench.worlds import MissingDataError, buenos_aires, oyster, tube
from wayveil.counting.local import LocalCounter
from wayveil.errors import RefusedError
from wayveil.mechanisms.all_rows import measure
from wayveil.plan.need_cells import count_cells
from wayveil.plan.needs import Need, parts_of
from wayveil.plan.ordering import size_of_world
from wayveil.plan.outlook import Forecast
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip
from wayveil.releases.order import default_mechanism
from wayveil.simulate.crowd import Crowd
from wayveil.simulate.feed import write_city
from wayveil.simulate.habit import simulate_habit
from wayveil.trips.trips import Trips

EPSILONS = (0.5, 1.0, 2.0)
NEEDS = (
    Need(question="boardings", top=50, within=0.1),
    Need(question="alightings", top=20, within=0.15),
    Need(question="hours", within=0.1),
)
BLOCKS = {"boardings": "origin", "alightings": "destination", "hours": "hour"}
TRIES = 20


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


def plan_for(trips: Trips, needs: list[Need], crowd: Crowd, epsilon: float) -> Forecast:
    """Plan as `wayveil plan` does: riders with several trips are weighed, with the bound that suits."""
    mechanism = default_mechanism(trips.world, parts_of(needs, size_of_world(trips.world)))
    if crowd.trips.rider is None or crowd.rides == len(np.unique(crowd.trips.rider)):
        return Forecast(trips.world, crowd, mechanism, Trip())
    unit = Rider(max_trips=2, bounding="weights")
    return Forecast(trips.world, crowd, mechanism, unit).with_best_bound(needs, epsilon)


def reach(trips: Trips, told: Forecast, needs: list[Need], epsilon: float) -> dict[Need, list[float]]:
    """Median errors of the needs in so many tries."""
    off: dict[Need, list[float]] = {need: [] for need in needs}
    for _ in range(TRIES):
        gate = Gate(told.unit, Budget(Fraction(str(round(epsilon, 4)))))
        bounded = gate.bound(trips, told.mechanism.rule(trips.world))
        try:
            model = measure(told.mechanism, LocalCounter(bounded), gate)
        except RefusedError:  # nothing is answered
            for need in needs:
                off[need].append(1.0)
            continue
        for need in needs:
            truth = count_cells(need, trips)
            block = model.noisy.get(BLOCKS[need.question])
            shown = np.zeros(len(truth)) if block is None else np.maximum(block.in_trips().value, 0)
            asked = np.argsort(-truth)[: need.top or int((truth > 0).sum())]
            error = np.minimum(np.abs(shown - truth)[asked] / np.maximum(truth[asked], 1), 1)
            off[need].append(float(np.median(error)))
    return off


def least(trips: Trips, need: Need, crowd: Crowd) -> tuple[float, Forecast] | None:
    """The least epsilon that is said to meet a need in nine of ten tries."""
    for epsilon in np.geomspace(0.05, 10, 24):
        told = plan_for(trips, [need], crowd, float(epsilon))
        if told.at([need], float(epsilon))[0].suffices:
            return float(epsilon), told
    return None


def run_world(name: str) -> list[dict]:
    """Promised and reached errors of one world, per need and epsilon, and tries that meet each need alone."""
    trips = WORLDS[name]()
    needs = [need for need in NEEDS if trips.time is not None or need.question != "hours"]
    riders = len(trips) if trips.rider is None else len(np.unique(trips.rider))
    crowd = Crowd.simulate(trips.world, len(trips), riders)
    rows = []
    for epsilon in EPSILONS:
        told = plan_for(trips, needs, crowd, epsilon)
        reached = reach(trips, told, needs, epsilon)
        for each in told.at(needs, epsilon):
            found = float(np.median(reached[each.need]))
            cells = np.sort(count_cells(each.need, trips))[::-1]
            half_a_ride = 0.5 / np.median(cells[: each.need.top or int((cells > 0).sum())])
            ratio = 1.0 if abs(found - each.median) < half_a_ride else found / max(each.median, 1e-9)
            promised = {"promised": each.median, "reached": found, "ratio": ratio}
            rows.append({"world": name, "need": str(each.need), "epsilon": epsilon, **promised})
            print({**rows[-1], "bound": told.bound}, flush=True)
    for need in needs:
        enough = least(trips, need, crowd)
        if enough is not None:
            tries = reach(trips, enough[1], [need], enough[0])[need]
            met = float(np.mean(np.array(tries) <= need.within))
            rows.append({"world": name, "need": str(need), "epsilon": enough[0], "met": met})
            print(rows[-1], flush=True)
    return rows


def time_plan() -> list[float]:
    """CPU seconds of a plan for three needs, which is then known: the file is not there, as it is not opened."""
    with tempfile.TemporaryDirectory() as folder:
        feed = write_city(Path(folder) / "city.zip", seed=7, stops=800, lines=50)
        said = [part for need in NEEDS for part in ("--need", str(need))]
        size = ["--with", "rides=30000", "--with", "people=5400"]
        asked = ["plan", "rides.csv", "--world", str(feed), "--rows", "pairs", *said, *size]
        found = []
        for _ in range(2):
            before = os.times()
            subprocess.run(
                [sys.executable, "-m", "wayveil", *asked],
                cwd=folder,
                env=os.environ | {"HOME": folder, "XDG_DATA_HOME": folder},
                stdout=subprocess.DEVNULL,
            )
            after = os.times()
            found.append(sum(after[2:4]) - sum(before[2:4]))
    print("wayveil plan: {:.1f} CPU s, the second time {:.1f}".format(*found))
    return found


def run(worlds: list[str] | None = None) -> list[dict]:
    """All worlds that are at hand."""
    rows = []
    for name in worlds or WORLDS:
        try:
            rows += run_world(name)
        except MissingDataError as error:
            print(f"{name}: {error}")
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    met = [row["met"] for row in rows if "met" in row]
    if ratios:
        near = np.mean([0.75 <= each <= 1.25 for each in ratios])
        print(f"{near:.0%} of {len(ratios)} cells are reached within 25 % of the promise")
        print(f"'nine of ten tries' is true in {np.mean(met):.0%} of them ({len(met)} needs, {TRIES} tries)")
    return rows


if __name__ == "__main__":
    time_plan() if sys.argv[1:] == ["time"] else run(sys.argv[1:])
