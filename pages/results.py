"""Every mechanism on every benchmark world: the tables and plots of docs/results.md.

    python -m pages.results                       run for at most 35 minutes, then write the page
    python -m pages.results --minutes 0           write the page from what was measured before
    python -m pages.results tube flights          some of the worlds
    python -m pages.results --only weave          one mechanism, for instance after a change; `--without` for the others
    python -m pages.results --page no             measure only, beside another run that writes the page

Cells that are measured stay in bench/results/compare (not in the repository); a stopped run goes on where it was. A
cell does not know which code made it: delete the cells of a mechanism that has changed (`--forget weave`). One
repetition at epsilon 1 comes first everywhere, then the other epsilons, the grids, and more repetitions.
"""

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from bench.worlds import WORLDS, MissingDataError

from wayveil.lab.comparison.compare import compare
from wayveil.lab.comparison.comparison_cells import ComparisonCell
from wayveil.lab.comparison.comparison_results import Comparison
from wayveil.lab.comparison.run_cells import Settings
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import ready_mechanisms
from wayveil.privacy.units import Rider, Unit
from wayveil.trips.trips import Trips

HERE = Path(__file__).parents[1] / "bench"
STORE = HERE / "results" / "compare"
EPSILONS = ("1/10", "1/2", "1", "2")
REPETITIONS = 5
ROUNDS = 7
# Not asked: whether moves are feasible, which takes as long as all other figures together.
UNASKED = ("Feasibility",)
# Not asked of a million trips either: minutes per release, and not in the tables.
UNASKED_OF_MANY = (*UNASKED, "Subsequences by maximum length", "Replay fitness", "GPS standard set")
# Parameters without which a mechanism refuses: how many visits of a trip may count.
NEEDED = {"tap-counts": {"max_visits": 8}}
# Each rival is also run with these settings and scored at the best, figure by figure: more than any user could have.
GRID: dict[str, tuple[dict[str, int | str], ...]] = {
    "noisy-prefix-tree": ({"height": 4}, {"height": 8}),
    "markov": ({"order": 2}, {"lengths_share": "1/10"}),
    "mobitrie": ({"most": 8},),
    "variable-ngrams": ({"n_max": 3}, {"moves": 8}),
    "safepath": ({"height": 4},),
    "seqpt": ({"height": 4},),
    "ppdp": ({"height": 4},),
    "tap-counts": ({"max_visits": 32},),
}
TIMED = ("safepath", "seqpt", "tap-counts")
# What is left out, and why; the page says so.
LEFT_OUT = {
    ("buenos-aires", "mobitrie"): "minutes per release: 1,200 cells without a network",
    ("buenos-aires", "mobitrie-lt"): "minutes per release: 1,200 cells without a network",
    ("flights", "mobitrie-lt"): "its search takes minutes and ends without a result",
}
# It releases boardings by stop, route and time, not trips; docs/taps.md measures it.
NO_TRIPS = ("tap-margins",)


@dataclass(frozen=True)
class Case:
    """One table of the page: a world, how many of its trips, and how they are measured."""

    world: str
    most_trips: int | None = 50_000
    unit: Unit | None = None
    queries: int = 2_000
    most_pairs: int = 300
    unasked: tuple[str, ...] = UNASKED
    epsilons: Sequence[str] = EPSILONS
    repetitions: int = REPETITIONS
    only: Sequence[str] = ()
    grid: bool = True
    weekly: bool = False

    @property
    def settings(self) -> Settings:
        """How the cells of this case are measured."""
        return Settings(
            queries=self.queries, most_pairs=self.most_pairs, unit=self.unit, unasked=self.unasked
        )

    def trips(self) -> Trips:
        """At most so many trips, drawn without replacement, so that all of it ends within hours."""
        trips = WORLDS[self.world]()
        if self.most_trips is None or len(trips) <= self.most_trips:
            return trips
        chosen = np.random.default_rng(1).choice(len(trips), self.most_trips, replace=False)
        return trips.take(np.sort(chosen))


ONE_TRIP = Rider(max_trips=1)  # in these worlds a rider has one trip
MAIN = ("weave", "noisy-prefix-tree", "mobitrie", "markov", "variable-ngrams")
# Worlds without a network that were measured for the first time when everything was set.
HELD_OUT = ("bikeshare", "gazelle")
SOME = ("weave", "noisy-prefix-tree", "markov", "variable-ngrams")
CASES = {
    "berlin-10k": Case("berlin-10k", unit=ONE_TRIP),
    "berlin-10k-habit": Case("berlin-10k-habit", unit=ONE_TRIP),
    "tube": Case("tube"),
    "oyster": Case("oyster"),
    "montreal-week": Case("montreal-week", unit=ONE_TRIP, weekly=True),
    "buenos-aires": Case("buenos-aires", unit=ONE_TRIP),
    "flights": Case("flights"),
    "msnbc": Case("msnbc"),
    **{world: Case(world, only=SOME) for world in HELD_OUT},
    **{
        f"berlin-riders-{m}": Case("berlin-riders", unit=Rider(max_trips=m), epsilons=("1",), only=MAIN)
        for m in (1, 2, 4)
    },
    "berlin-1m": Case(
        "berlin-1m",
        most_trips=None,
        unit=ONE_TRIP,
        queries=500,
        unasked=UNASKED_OF_MANY,
        grid=False,
    ),
}


class OutOfTimeError(Exception):
    """The time that this run was given is over; what is measured is kept."""


def candidates(case: str, wanted: Sequence[str], *, grid: bool) -> list[Mechanism]:
    """The wanted mechanisms with their defaults, but those left out; with the settings of their grids, if asked."""
    about = CASES[case]
    chosen = []
    for name, kind in ready_mechanisms().items():
        if name not in wanted or name in NO_TRIPS or (case, name) in LEFT_OUT:
            continue
        if about.only and name not in about.only:
            continue
        fixed: dict[str, object] = dict(NEEDED.get(name, {}))
        if about.weekly and name in TIMED:
            fixed["time"] = "hour-of-week"
        if about.weekly and name == "weave":
            fixed["period"] = "week"
        more = GRID.get(name, ()) if grid and about.grid else ()
        chosen += [kind(**{**fixed, **setting}) for setting in ({}, *more)]
    return chosen


def rounds(about: Case) -> Iterator[tuple[Sequence[str], int, bool]]:
    """What to do first: epsilons, repetitions, and whether with grids."""
    yield ("1",), 1, False
    yield about.epsilons, 1, False
    yield about.epsilons, 1, True
    for repetitions in (min(3, about.repetitions), about.repetitions):
        yield ("1",), repetitions, True
        yield about.epsilons, repetitions, True


def measure(cases: Sequence[str], wanted: Sequence[str], minutes: float) -> Iterator[str]:
    """Run what is missing; yields a line of news now and then."""
    end = time.monotonic() + 60 * minutes
    data: dict[str, Trips] = {}
    missing: set[str] = set()

    def watch(cell: ComparisonCell, status: str) -> None:
        if status != "kept" and time.monotonic() > end:
            raise OutOfTimeError

    for turn in range(ROUNDS):
        for case in cases:
            about = CASES[case]
            epsilons, repetitions, grid = list(rounds(about))[turn]
            chosen = candidates(case, wanted, grid=grid)
            if not chosen or case in missing:
                continue
            if time.monotonic() > end:
                return
            try:
                if about.world not in data:
                    data[about.world] = about.trips()
                compare(
                    data[about.world],
                    chosen,
                    epsilons,
                    repetitions=repetitions,
                    settings=about.settings,
                    out=STORE / case,
                    workers=int(os.environ.get("WAYVEIL_WORKERS", "1")),
                    on_cell=watch,
                )
            except MissingDataError as error:
                missing.add(case)
                yield f"{case}: left out, {error}"
            except OutOfTimeError:
                yield f"out of time at {case}, epsilon {', '.join(epsilons)}; what was measured is kept"
                return
            else:
                yield f"{case}: epsilon {', '.join(epsilons)}, {repetitions} repetitions{', grids' * grid}"


def measured(case: str) -> Comparison | None:
    """What a run, finished or stopped, has on a case."""
    files = sorted((STORE / case / "cells").glob("*.parquet"))
    if not files:
        return None
    table = pl.concat([pl.read_parquet(file) for file in files])
    order = ["mechanism", "parameters", "epsilon", "repetition"]
    return Comparison(table.sort(order, maintain_order=True))


def forget(name: str, cases: Sequence[str]) -> int:
    """Delete the kept cells of one mechanism; returns how many."""
    files = [file for case in cases for file in (STORE / case / "cells").glob("*.parquet")]
    gone = [file for file in files if pl.read_parquet(file)["mechanism"][0] == name]
    for file in gone:
        file.unlink()
    return len(gone)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "cases", nargs="*", metavar="case", help=f"of {', '.join(CASES)}; all of them if none is named"
    )
    parser.add_argument("--minutes", type=float, default=35)
    parser.add_argument("--only", nargs="+", default=list(ready_mechanisms()))
    parser.add_argument("--without", nargs="+", default=[])
    parser.add_argument("--forget", metavar="MECHANISM")
    parser.add_argument("--page", choices=("yes", "no"), default="yes")
    given = parser.parse_args()
    given.cases = given.cases or list(CASES)
    if unknown := set(given.cases) - set(CASES):
        parser.error(f"there is no case {', '.join(sorted(unknown))}")
    if given.forget:
        print(f"{forget(given.forget, given.cases)} cells of {given.forget} deleted")
    wanted = [name for name in given.only if name not in given.without]
    for news in measure(given.cases, wanted, given.minutes):
        print(time.strftime("%H:%M:%S"), news, flush=True)
    if given.page == "yes":
        from pages.results_page import write_page

        write_page({case: found for case in CASES if (found := measured(case)) is not None})


if __name__ == "__main__":
    main()
