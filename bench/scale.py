"""A billion visits on one machine: whole releases by the engine `stream`, as ratios to DuckDB counting the same files.

    python -m bench scale                                       a million trips, simulated here
    python -m bench.scale FOLDER 1000000 10000000 100000000     trips in FOLDER/trips-N, simulated if they are missing
    python -m bench.scale FOLDER 100000000 stream weave         one part only; `bench.scale_parts` lists them
    python -m bench.scale FOLDER year                           a year of London, computed from what was measured so far

Every part has a process of its own, so that its peak of memory is its own, and leaves FOLDER/measured-*.json: a run
that was stopped goes on where it was, and a part is measured again when its file is gone. The smallest size is also
released by `memory` and `spark`, for the cost of a visit. Exponents compare the processor seconds of counting with
those of the smallest size: 1 is in proportion. Rows go to bench/results/scale.json.
"""

import json
import subprocess
import sys
import tempfile
from math import log
from pathlib import Path

from bench.scale_parts import Row

RESULTS = Path(__file__).parent / "results" / "scale.json"
BASELINES = {"noisy-prefix-tree": ("prefixes",), "weave": ("edges", "pairs")}
# London: about twenty million taps a day.
YEAR = 365 * 20_000_000
# What `stream` writes into scratch, in bytes: places and times of visits, lengths and names of trips.
BYTES_PER_VISIT, BYTES_PER_TRIP = 10, 12


def part(folder: Path, trips: int, *what: str) -> Row:
    """What a part measured, now or before."""
    kept = folder / f"measured-{'-'.join([str(trips), *what])}.json"
    if not kept.exists():
        command = [sys.executable, "-m", "bench.scale_parts", folder, trips, *what]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(what)} of {trips:,} trips: {done.stderr}")
        kept.write_text(done.stdout.splitlines()[-1])
    found: Row = json.loads(kept.read_text())
    print(json.dumps({"trips": trips, "part": " ".join(what), **found}), file=sys.stderr, flush=True)
    return found


def measure(folder: Path, sizes: list[int]) -> list[Row]:
    sizes = sorted(sizes)
    made = {trips: part(folder, trips, "simulate") for trips in sizes}
    warm(folder, sizes[0])
    rows = []
    for name, baselines in BASELINES.items():
        first = 0.0
        for trips in sizes:
            found = part(folder, trips, "stream", name)
            exact = [part(folder, trips, "duckdb", what) for what in baselines]
            wall, busy = (sum(each[unit] for each in exact) for unit in ("s", "CPU s"))
            first = first or found["counting, CPU s"]
            grown = (
                log(found["counting, CPU s"] / first) / log(trips / sizes[0]) if trips > sizes[0] else None
            )
            rows.append(
                {
                    "figure": f"{name} by stream, {trips:,} trips, {made[trips]['visits']:,} visits",
                    "value": found["counting, CPU s"],
                    "unit": "CPU s",
                    "baseline": f"duckdb, exact {' and '.join(baselines)} from the same files",
                    "ratio": found["counting, CPU s"] / busy,
                    "ratio of clocks": found["counting, s"] / wall,
                    "exponent": grown,
                    "duckdb, CPU s": busy,
                    "duckdb, peak GB": max(each["peak resident set, GB"] for each in exact),
                    **found,
                }
            )
    return [*rows, *costs_of_visits(folder, sizes[0]), *year_of_london(folder)]


def warm(folder: Path, trips: int) -> None:
    """Compile what is not cached yet, so that no part is timed while it does."""
    if not list(folder.glob("measured-*-stream-*")):
        for name in BASELINES:
            command = [sys.executable, "-m", "bench.scale_parts", folder, trips, "stream", name]
            subprocess.run(list(map(str, command)), capture_output=True, check=True)


def costs_of_visits(folder: Path, trips: int) -> list[Row]:
    """Millionths of a processor second for each visit, in each engine, from the same trips."""
    visits = part(folder, trips, "simulate")["visits"]
    rows = []
    for engine in ("memory", "stream", "spark"):
        for name in BASELINES:
            found = part(folder, trips, engine, name)
            read, counted = found["reading, CPU s"], found["counting, CPU s"]
            rows.append(
                {
                    "table": "cost of a visit, in millionths of a processor second",
                    "figure": f"{name} by {engine}, {trips:,} trips",
                    "reading": read / visits * 1e6,
                    "counting": (counted - read) / visits * 1e6,
                    "peak resident set, GB": found["peak resident set, GB"],
                }
            )
    return rows


def year_of_london(folder: Path) -> list[Row]:
    """Computed, not measured: what a year would take at the cost of a visit that the largest size measured here had."""
    rows = []
    for engine in ("stream", "spark"):
        for name in BASELINES:
            sizes = [int(path.name.split("-")[1]) for path in folder.glob(f"measured-*-{engine}-{name}.json")]
            if not sizes:
                continue
            trips = max(sizes)
            visits, found = part(folder, trips, "simulate")["visits"], part(folder, trips, engine, name)
            rows.append(
                {
                    "table": f"a year of London, {YEAR:,} visits: computed, not measured",
                    "figure": f"{name} by {engine}, from {trips:,} trips",
                    "CPU minutes": found["counting, CPU s"] / visits * YEAR / 60,
                    "GB of scratch, trips as simulated": _scratch(visits / trips),
                    "GB of scratch, two visits a trip": _scratch(2),
                }
            )
    return rows


def _scratch(visits_per_trip: float) -> float:
    return YEAR * (BYTES_PER_VISIT + BYTES_PER_TRIP / visits_per_trip) / 1e9


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder), [1_000_000])


def main(arguments: list[str]) -> None:
    folder, sizes = Path(arguments[0]), [int(text) for text in arguments[1:] if text.isdigit()]
    what = [text for text in arguments[1:] if not text.isdigit()]
    if what == ["year"]:
        print(*map(json.dumps, year_of_london(folder)), sep="\n")
        return
    if what:
        part(folder, sizes[0], *what)
        return
    rows = measure(folder, sizes)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main(sys.argv[1:])
