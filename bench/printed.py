"""Do intervals hold as they are printed, and are verdicts right: over all rows, at the top of lists, at the maximum?

    python -m bench.printed WORLD [MECHANISM] [UNIT] [RELEASES]

One piece a call: some releases of one world (see `printed_worlds`) by one mechanism at epsilon 1 for one unit, asked
through the same door as users ask. Every release is added to docs/figures/printed.json, so that a run may be stopped
and pieces may run at any time; `python -m bench.printed_page` shows all of them. Of a world that constants are set on
(`hubs-60k-304`) nothing is kept: its rows are printed.
"""

import fcntl
import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType

import numpy as np
import polars as pl

from bench.printed_page import STORE, is_changed, write_store
from bench.printed_worlds import REAL, TRIPS_OF_RIDER, judged_world, setting_world
from wayveil.accuracy.accuracy import Accuracy
from wayveil.accuracy.distances import distance
from wayveil.accuracy.numbers import Numbers, judge_numbers
from wayveil.accuracy.verdicts import SINGLE
from wayveil.answers.totals import judge_total
from wayveil.errors import WayveilError
from wayveil.lab.studies.sources import Sources, noted, sources_of
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.units import Event, Rider, Trip, Unit
from wayveil.releases.release import Release
from wayveil.run import make_release
from wayveil.synthesis.model import Model, OfTaps
from wayveil.synthesis.public_knowledge import floor
from wayveil.synthesis.tallies import KINDS, Tally, tally
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins

NUMBERS = {"answer", "low", "high", "best_rank", "worst_rank", "seats", "per_seat"}
PARTS = {"all": slice(None), "top20": slice(0, 20), "top50": slice(0, 50), "max": slice(0, 1)}
# Rooms in which numbers are made and judged: records know which functions of these they were made with.
MADE_IN = ("accuracy/", "answers/", "counting/", "mechanisms/", "privacy/", "synthesis/", "trips/", "world/")
# Rows of lists that have no end.
MOST = 100_000


@dataclass(frozen=True, eq=False)
class Raw(Model):
    """Raw trips in the place of a model: they are asked what the release is asked."""

    trips: Trips

    def generate(self, seed: int | None = None) -> Trips:
        return self.trips

    def table(self) -> pl.DataFrame:
        return pl.DataFrame()


def asked_of(raw: Trips, *, taps: bool) -> dict[str, tuple[str, dict]]:
    """The kinds of question; districts and zones are squares of a map, nine and sixteen of them."""
    if taps:
        return {name: (name, {}) for name in ("total", "stops", "hours", "stop-hours")}
    kinds: dict[str, tuple[str, dict]] = {
        name: (name, {}) for name in ("boardings", "alightings", "stops", "lengths", "total", "journeys")
    }
    kinds["triples"] = ("triples", {})
    if raw.time is not None:
        kinds |= {name: (name, {}) for name in ("hours", "stop-hours")}
        kinds |= {f"{name} by hour": (name, {"by": "hour"}) for name in ("boardings", "journeys")}
    world = raw.world
    if isinstance(world, Network):
        kinds["through"] = ("through", {})
        kinds |= {name: ("districts", {"districts": squares(world, n)}) for name, n in SQUARES.items()}
    if isinstance(world, Network) and len(world.route_ids):
        lines = ("routes", "line-load", "transfers", "durations", "distances")
        kinds |= {name: (name, {}) for name in lines}
    return kinds


SQUARES = {"districts": 3, "zones": 4}


def squares(world: Network, side: int) -> dict[str, list[str]]:
    """Which stop lies in which square of a map."""
    place = [
        np.searchsorted(np.quantile(axis, np.arange(1, side) / side), axis) for axis in (world.lat, world.lon)
    ]
    return {"stop_id": world.ids.tolist(), "district": [f"{a}-{b}" for a, b in zip(*place, strict=True)]}


def measure(made: Release, raw: Trips, question: str, options: dict) -> dict:
    """One question to a release as it is printed, beside the raw answer."""
    silent = replace(made, trips=raw, model=Raw(raw), known_accuracy=Accuracy({}, (), None))
    try:
        shown = made.ask(question, top=MOST, **options).table
    except WayveilError as error:
        return {"refused": 1, "why": str(error)[:90]}
    truth = silent.ask(question, anyway=True, top=MOST, **options).table
    ways = ("from", "to") if question == "line-load" else ()
    keys = [name for name in shown.columns if name not in (*NUMBERS, *ways)]
    true = truth.select(*keys, true="answer")
    both = shown.join(true, on=keys, how="left", maintain_order="left") if keys else shown.hstack(true)
    both = both.with_columns(pl.col("true").fill_null(0)).sort("answer", descending=True, maintain_order=True)
    both = both.head(500) if question == "triples" else both
    value, low, high, true = (
        both[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("answer", "low", "high", "true")
    )
    known, inside = ~np.isnan(low), (low <= true) & (true <= high)
    useful = known & (high - low < 0.3 * np.maximum(value, 1e-9))
    held = {
        name: [int(inside[part][known[part]].sum()), int(known[part].sum())] for name, part in PARTS.items()
    }
    # Fewer than half of the 50 largest without an interval: of this kind there are some.
    told = int(known[:50].sum() * 2 >= min(len(known), 50))
    return {**held, "useful": [int(useful[:50].sum()), min(len(value), 50)], "told": told}


def judge_verdicts(made: Release, raw: Trips) -> Iterator[dict]:
    """Every verdict of a release: whether it says that the release is better, whether it is, and both errors.

    Numbers are those that are printed: as the judge has them, cell by cell.
    """
    bins = None if raw.time is None else TimeBins.hour_of_day()
    public = floor(raw.world, min(len(raw), 20_000), 1, bins=bins)
    for verdict in made.accuracy.verdicts:
        kind = verdict.kind
        true, told = tally(kind, raw), tally(kind, public)
        if kind in SINGLE and not isinstance(made.model, OfTaps):
            value = judge_total(made, kind, anyway=True)[0]
            shown = Tally(np.zeros(1, np.int64), np.array([value]))
        else:
            cells = np.union1d(true.cells, tally(kind, made.trips).cells)
            asked = Numbers(kind, tally(kind, made.trips).at(cells), kind, cells)
            shown = Tally(cells, np.maximum(judge_numbers(made, asked, anyway=True).values, 0))
        size = max(float(true.values.sum()), 1.0)
        told = Tally(told.cells, told.values * size / max(float(told.values.sum()), 1.0))
        off, floor_off = distance(true, shown), distance(true, told) if KINDS[kind].public else size
        yield {
            "kind": kind,
            "better": int(off < min(floor_off, size)),
            "said": int(verdict.says_more),
            "errors": [round(verdict.error, 5), round(off / size, 5), 1] if verdict.sure else [0, 0, 0],
        }


def add_to_store(part: str, rows: list[dict], code: Sources) -> None:
    """Add what was measured to the sums of its cells, or put it in the place of what earlier code showed.

    Several runs may do so at once. Every row names the code that it was measured with.
    """
    with Path(__file__).open(encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        store = json.loads(STORE.read_text(encoding="utf-8"))
        made = hashlib.sha256(json.dumps(code).encode()).hexdigest()[:12]
        store["made"][made] = code
        name = "question" if part == "numbers" else "kind"
        known = {key_of(row, name): row for row in store[part] if not is_changed(store, row)}
        new = {key_of(row, name): add_rows(known.get(key_of(row, name), {"made": made}), row) for row in rows}
        every = {key_of(row, name): row for row in store[part]} | new
        store[part] = [every[key] for key in sorted(every)]
        used = {row.get("made") for row in (*store["numbers"], *store["verdicts"])}
        store["made"] = {key: each for key, each in store["made"].items() if key in used}
        write_store(store)


def known_code(cell: dict) -> Sources:
    """Return the code of this mechanism and unit where some of it was measured as it is today; else nothing."""
    store = json.loads(STORE.read_text(encoding="utf-8"))
    alike = [
        row for row in store["numbers"] if all(row[each] == cell[each] for each in ("mechanism", "unit"))
    ]
    found = next((row["made"] for row in alike if not is_changed(store, row)), None)
    return {} if found is None else store["made"][found]


def key_of(row: dict, name: str) -> tuple[str, ...]:
    """The cell that a row is of."""
    return row["world"], row["mechanism"], row["unit"], row[name]


def add_rows(one: dict, two: dict) -> dict:
    """Both together: numbers are added, those of lists one by one."""
    found = {**two, **one}
    for name in one.keys() & two.keys():
        mine, theirs = one[name], two[name]
        if isinstance(mine, list):
            found[name] = [round(a + b, 5) for a, b in zip(mine, theirs, strict=True)]
        elif isinstance(mine, int):
            found[name] = mine + theirs
    return found


def run(world: str, name: str, unit: str, releases: int) -> None:
    """Make releases of one world, and keep what was measured of each."""
    judged = world in REAL or world.count("-") == 1
    raw, chosen = (judged_world if judged else setting_world)(world), mechanism(name)()
    taps = issubclass(chosen.makes, OfTaps)
    rider = raw.rider
    if unit == "trip" or rider is None or len(np.unique(rider)) == len(raw):
        rider = np.arange(len(raw)) // (TRIPS_OF_RIDER if unit == "rider" else 1)
    raw = Trips(raw.location, raw.offsets, raw.world, raw.time, rider, history=AS_READ)
    whose: Unit = Event() if taps else Rider(max_trips=TRIPS_OF_RIDER) if unit == "rider" else Trip()
    cell = {"world": world, "mechanism": name, "unit": "tap" if taps else unit, "releases": 1}
    code = known_code(cell)
    for _ in range(releases):
        # A tracer notes which functions are called, once for a mechanism and unit: it takes time.
        with nullcontext(set[CodeType]()) if code else noted() as called:
            made = make_release(raw, chosen, epsilon=1, unit=whose)
            asked = asked_of(raw, taps=taps)
            rows = [{**cell, "question": name, **measure(made, raw, *each)} for name, each in asked.items()]
            verdicts = [{**cell, **each} for each in judge_verdicts(made, raw)]
        if not judged:
            print(*map(json.dumps, [*rows, *verdicts]), sep="\n", flush=True)
            continue
        code = code or {file: each for file, each in sources_of(called).items() if file.startswith(MADE_IN)}
        add_to_store("numbers", rows, code)
        add_to_store("verdicts", verdicts, code)
        print(*cell.values(), {row["question"]: row.get("top50", row.get("why")) for row in rows}, flush=True)


if __name__ == "__main__":
    place, how, who, many = (sys.argv[1:] + ["", "weave", "trip", "1"][len(sys.argv) - 1 :])[:4]
    run(place, how, who, int(many))
