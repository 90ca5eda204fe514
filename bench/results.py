"""Every mechanism on every benchmark world: the tables and plots of docs/results.md.

    python -m bench.results                    run for at most 35 minutes, then write the page
    python -m bench.results --minutes 0        write the page from what was measured before
    python -m bench.results tube flights       some of the worlds

Cells that are measured stay in bench/results/compare (not in the repository); a stopped run goes on where it was.
One repetition of everything quick comes first, so that a short run has something on every world.
"""

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from bench.worlds import WORLDS, MissingDataError
from wayveil.comparison.cells import Cell
from wayveil.comparison.compare import compare
from wayveil.comparison.examiner import Settings
from wayveil.comparison.results import Comparison
from wayveil.mechanisms.mechanism import Mechanism, mechanisms
from wayveil.privacy.units import Rider
from wayveil.trips.trips import Trips

HERE = Path(__file__).parent
STORE = HERE / "results" / "compare"
RAN = ("berlin-10k", "flights", "tube", "msnbc", "buenos-aires")
EPSILONS = ("1/2", "1", "2")
REPETITIONS = 5
MOST_TRIPS = 100_000
SETTINGS = Settings(queries=4_000, most_pairs=300)
ONE_TRIP_RIDERS = replace(SETTINGS, unit=Rider(max_trips=1))  # in these worlds a rider has one trip
# Parameters without which a mechanism refuses: how many visits of a trip may count.
NEEDED = {"tap-counts": {"max_visits": 8}}
# Minutes per release where the others take seconds: these come when every world has the others.
SLOW = ("weave",)
# What is left out, and why; the page says so.
LEFT_OUT = {
    ("buenos-aires", "mobitrie"): "minutes per release: 1,200 cells without a network",
    ("buenos-aires", "mobitrie-lt"): "minutes per release: 1,200 cells without a network",
    ("flights", "mobitrie-lt"): "its search takes minutes and ends without a result",
}


class OutOfTimeError(Exception):
    """The time that this run was given is over; what is measured is kept."""


def candidates(world: str, *, slow: bool) -> list[Mechanism]:
    """All slow or all quick mechanisms with their defaults, but those left out."""
    return [
        kind(**NEEDED.get(name, {}))
        for name, kind in mechanisms().items()
        if (world, name) not in LEFT_OUT and (name in SLOW) == slow
    ]


def thinned(trips: Trips) -> Trips:
    """At most 100,000 trips, drawn without replacement, so that all of it ends within the hour."""
    if len(trips) <= MOST_TRIPS:
        return trips
    chosen = np.random.default_rng(1).choice(len(trips), MOST_TRIPS, replace=False)
    return trips.take(np.sort(chosen))


def measure(worlds: list[str], minutes: float) -> Iterator[str]:
    """Run what is missing; yields a line of news now and then."""
    end = time.monotonic() + 60 * minutes
    data: dict[str, Trips] = {}

    def watch(cell: Cell, status: str) -> None:
        if status != "kept" and time.monotonic() > end:
            raise OutOfTimeError

    rounds = [(1, False), (3, False), (1, True), (REPETITIONS, False), (3, True), (REPETITIONS, True)]
    for repetitions, slow in rounds:
        for world in worlds:
            try:
                if world not in data:
                    data[world] = thinned(WORLDS[world]())
                compare(
                    data[world],
                    candidates(world, slow=slow),
                    EPSILONS,
                    repetitions=repetitions,
                    settings=SETTINGS if data[world].rider is None else ONE_TRIP_RIDERS,
                    out=STORE / world,
                    workers=int(os.environ.get("WAYVEIL_WORKERS", "1")),
                    on_cell=watch,
                )
            except MissingDataError as error:
                worlds = [other for other in worlds if other != world]
                yield f"{world}: left out, {error}"
            except OutOfTimeError:
                yield f"out of time at repetition {repetitions} of {world}; what was measured is kept"
                return
            else:
                yield f"{world}: {repetitions} repetitions of all {'slow' if slow else 'quick'} mechanisms"


def measured(world: str) -> Comparison | None:
    """What a run, finished or stopped, has on a world."""
    files = sorted((STORE / world / "cells").glob("*.parquet"))
    if not files:
        return None
    table = pl.concat([pl.read_parquet(file) for file in files])
    order = ["mechanism", "parameters", "epsilon", "repetition"]
    return Comparison(table.sort(order, maintain_order=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("worlds", nargs="*", default=list(RAN), choices=[*WORLDS, []])
    parser.add_argument("--minutes", type=float, default=35)
    wanted = parser.parse_args()
    for news in measure(wanted.worlds, wanted.minutes):
        print(time.strftime("%H:%M:%S"), news, flush=True)
    from bench.results_page import write_page

    write_page({world: found for world in wanted.worlds if (found := measured(world)) is not None})


if __name__ == "__main__":
    main()
