"""GPS traces, all mechanisms: the tables of the DP-Loc study beside its own figures, and the field's GPS set.

    python -m bench.gps_tables                              go on for 30 minutes at most, write docs/gps-measured.md
    python -m bench.gps_tables --minutes 0                  write the tables from what was measured before
    python -m bench.gps_tables streets-250 --trips 20000    one city, fewer trips

Cities are `streets-250`, `streets-500`, `wandering-250`, `wandering-500` (simulated, the box of the study) and
`shenzhen` (30 x 30 cells; needs WAYVEIL_DATA). One release is one cell, kept in bench/results/gps_tables (not in the
repository); a stopped run goes on where it was. A cell does not know which code made it: delete the folder after a
change. Cells of another copy of the repository can be put beside them. The published preset of dp-loc takes minutes of
training and one graph per destination and hour: it is measured where `--only` names it ("dp-loc published"), and draws
20,000 trips over cells of 250 m.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from bench.city_figures import CityFigures
from bench.weave_grids import read_city
from wayveil.errors import WayveilError
from wayveil.mechanisms.registry import mechanism
from wayveil.run import make_release as release
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.points import read_tracks
from wayveil.trips.tracks import Tracks
from wayveil.trips.trips import Trips
from wayveil.utility.figures import ceiling, empty, floor
from wayveil.world.grid import Grid

HERE = Path(__file__).parent
STORE, PAGE = HERE / "results" / "gps_tables", HERE.parent / "docs" / "gps-measured.md"
BEGIN, END = "<!-- tables: made by `python -m bench.gps_tables` -->", "<!-- end of tables -->"
CITIES = ("streets-250", "streets-500", "shenzhen", "wandering-250", "wandering-500")
SEED = 7
LINES = ("ceiling", "grid alone", "floor", "empty")
MECHANISMS = {
    "weave": {},
    "od-hops": {},
    "dp-loc": {},
    "markov": {},
    "variable-ngrams": {},
    "dp-loc published": {"preset": "published"},
}
# One graph per destination and hour: over many cells, all trips would take longer than the training.
DRAWN = {("dp-loc published", "streets-250"): 20_000, ("dp-loc published", "wandering-250"): 20_000}
# Figures that compare numbers of trips, not shares: of fewer trips than were given they say nothing.
OF_ALL_TRIPS = ("query", "pattern_support")
# Keeps jumps over cells, as the study does, and so makes trips that have them.
JUMPS = ("dp-loc published",)
USUAL = tuple(name for name in MECHANISMS if name != "dp-loc published")
PATTERNS = ("top 10", "top 20", "top 50", "top 100")
HOPS = ("loss", "accuracy", "metres")
SET = ("query", "coverage", "pattern_f1", "pattern_support", "trip_jsd", "diameter_jsd", "length_jsd")
# Tables 2, 3 and 5 of the study: top 10 to 100 of itself and of its n-grams; loss, accuracy and metres.
STUDY = {
    ("streets-250", "1"): ((0.5, 0.6, 0.71, 0.71), (0.8, 0.88, 1.0, 1.0), (3.1, 0.2419, 350.4)),
    ("streets-250", "2"): ((0.2, 0.6, 0.8, 0.8), (0.9, 0.9, 1.0, 1.0), (2.98, 0.2645, 333.19)),
    ("streets-500", "1"): ((0.4, 0.25, 0.3, 0.22), (0.9, 0.95, 0.76, 1.0), (1.42, 0.7352, 237.71)),
    ("streets-500", "2"): ((0.4, 0.3, 0.2, 0.15), (0.9, 0.95, 0.78, 0.79), (1.28, 0.7528, 220.26)),
}


@dataclass(frozen=True)
class Cell:
    """One release, or a line without a mechanism."""

    city: str
    trips: int
    who: str
    epsilon: str
    number: int

    @property
    def path(self) -> Path:
        return STORE / f"{self.city}-{self.trips}-{self.who}-{self.epsilon}-{self.number}.json".replace(
            " ", "-"
        )


def plan(cities: list[str], trips: int, epsilons: list[str], releases: int) -> Iterator[Cell]:
    """One release of everything first, then more: a run that is stopped has something on everything."""
    for number in range(releases):
        for city in cities:
            if number == 0:
                yield from (Cell(city, trips, who, "", 0) for who in LINES)
            for epsilon in epsilons:
                yield from (Cell(city, trips, who, epsilon, number) for who in MECHANISMS)


@cache
def city_of(name: str, trips: int) -> tuple[Trips, Tracks]:
    if name == "shenzhen":
        return read_city("shenzhen", "30x30", 0, 0)
    drivers, _, metres = name.partition("-")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "points.parquet"
        simulate_taxis(trips, drivers=drivers, seed=SEED).write(file)
        return read_tracks(file, Grid.of_metres(STUDY_BOX, int(metres)))


@cache
def figures_of(name: str, trips: int, *, filled: bool = True) -> CityFigures:
    return CityFigures(*city_of(name, trips), filled=filled)


def measure(cell: Cell) -> dict:
    """The figures of a cell; a refusal is a result."""
    raw, _ = city_of(cell.city, cell.trips)
    judge = figures_of(cell.city, cell.trips, filled=cell.who not in JUMPS)
    begin = time.process_time()
    if cell.who in LINES:
        made = {
            "ceiling": lambda: ceiling(judge.raw, 1),
            "grid alone": lambda: raw,
            "floor": lambda: floor(raw.world, len(raw), 1),
            "empty": lambda: empty(raw.world),
        }[cell.who]()
        return judge.measure(made) if len(made) else {}
    kind = mechanism(cell.who.split()[0])(**MECHANISMS[cell.who])
    try:
        seed, drawn = 500 + cell.number, DRAWN.get((cell.who, cell.city))
        made = release(raw, kind, epsilon=cell.epsilon, seed=seed, trips_out=drawn)
    except WayveilError as error:
        return {"refused": str(error)}
    spent = time.process_time() - begin
    found = judge.measure(made.trips, made.model)
    if drawn is not None:
        found = {key: value for key, value in found.items() if key not in OF_ALL_TRIPS}
    return {**found, "CPU seconds": spent}


def table(city: str, trips: int, columns: tuple[str, ...]) -> list[str]:
    """Means over the releases that are there and their standard errors, in Markdown; the study's own rows first."""
    rows: list[tuple[str, str, str, dict[str, str]]] = []
    own = {1: PATTERNS, 2: HOPS}
    for (name, epsilon), printed in STUDY.items() if columns != SET else ():
        if name == city:
            study = dict(zip(own[1] + own[2], map(_short, printed[0] + printed[2]), strict=True))
            rows.append(("the study", epsilon, "", study))
            rows.append(("its n-grams", epsilon, "", dict(zip(own[1], map(_short, printed[1]), strict=True))))
    found: dict[tuple[str, str], list[dict]] = {}
    for path in sorted(STORE.glob(f"{city}-{trips}-*.json")):
        kept = json.loads(path.read_text())
        found.setdefault((kept["who"], kept["epsilon"]), []).append(kept["figures"])
    order = [*LINES, *MECHANISMS]
    for (who, epsilon), cells in sorted(found.items(), key=lambda one: (order.index(one[0][0]), one[0][1])):
        measured = [cell for cell in cells if "refused" not in cell and (not cell or {*columns} & {*cell})]
        shown = {key: _mean([cell[key] for cell in measured if key in cell]) for key in _keys(measured)}
        rows.append((who, epsilon, str(len(measured)), shown))
    lines = [f"| | epsilon | releases | {' | '.join(columns)} |", "|---|---|---:|" + "---:|" * len(columns)]
    for who, epsilon, count, shown in rows:
        values = [shown.get(key, "") for key in columns]
        lines.append(f"| {who} | {epsilon} | {count} | {' | '.join(values)} |")
    return lines


def _mean(values: list[float]) -> str:
    """The mean, and its standard error where there are several values."""
    if len(values) < 2:
        return _short(values[0])
    # Rounding of the mean leaves a trace of a deviation where values are equal.
    deviation = np.std(values, ddof=1) if np.ptp(values) > 0 else 0.0
    return f"{_short(float(np.mean(values)))} ±{_short(deviation / np.sqrt(len(values)), 1)}"


def _short(value: float, digits: int = 3) -> str:
    text = f"{value:.{digits}g}"
    return f"{value:,.0f}" if "e+" in text else text


def _keys(cells: list[dict]) -> list[str]:
    return list(dict.fromkeys(key for cell in cells for key in cell))


def write_page() -> None:
    """Put the tables of everything measured between the marks of docs/gps-measured.md."""
    seen = sorted({(kept["city"], kept["trips"]) for kept in map(_load, STORE.glob("*.json"))})
    lines = [BEGIN, ""]
    for city, trips in sorted(seen, key=lambda one: (CITIES.index(one[0]), one[1])):
        about = "" if city == "shenzhen" else f", {trips:,} trips"
        lines += [f"**{city}{about}: patterns and next hop**", "", *table(city, trips, PATTERNS + HOPS), ""]
        lines += [f"**{city}{about}: the GPS set**", "", *table(city, trips, SET), ""]
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(before + "\n".join([*lines, END]) + rest.partition(END)[2], encoding="utf-8")


def _load(path: Path) -> dict:
    return json.loads(path.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cities", nargs="*", default=list(CITIES))
    parser.add_argument("--trips", type=int, default=120_000)
    parser.add_argument("--epsilon", default="1,2,0.5")
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--only", default=",".join(USUAL), help="mechanisms to measure")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--page", choices=["yes", "no"], default="yes")
    chosen = parser.parse_args()
    STORE.mkdir(parents=True, exist_ok=True)
    until, only = time.monotonic() + 60 * chosen.minutes, {*LINES, *chosen.only.split(",")}
    for cell in plan(chosen.cities, chosen.trips, chosen.epsilon.split(","), chosen.releases):
        if time.monotonic() >= until:
            break
        if cell.who not in only or cell.path.exists():
            continue
        found = measure(cell)
        draft = cell.path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({**vars(cell), "figures": found}))
        draft.replace(cell.path)
        short = {key: round(value, 3) for key, value in found.items() if isinstance(value, float)}
        print(cell.city, cell.who, cell.epsilon, cell.number, short or found, flush=True)
    if chosen.page == "yes":
        write_page()


if __name__ == "__main__":
    main()
