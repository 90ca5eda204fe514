"""A billion visits on one machine: whole releases by the engine `stream`, as ratios to DuckDB counting the same files.

    python -m bench scale                                 a million trips, simulated here
    python -m bench.scale FOLDER 1000000 10000000 ...     trips in FOLDER/trips-N, simulated if they are missing

Every release and every baseline has a process of its own, so that its peak of memory is its own. Counting is everything
from opening the files to the last exact count: reading, checking, bounding, counting. Processor seconds of all threads
are given beside the clock, as other work on the machine stretches the latter. Exponents compare each size with the
first: 1 is in proportion. Rows go to bench/results/scale.json, in place of earlier ones of the same size.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "scale.json"
STOPS, TRIPS_PER_RIDER, HEIGHT, DRAWN = 300, 2, 12, 100_000
BASELINES = {"noisy-prefix-tree": ("prefixes",), "weave": ("edges", "pairs")}
Row = dict[str, Any]


@dataclass(frozen=True)
class TimedEngine:
    """An engine whose counter is watched from opening to closing."""

    engine: Any
    clock: dict[str, float]
    name = "stream"

    @contextmanager
    def open(self, *given):
        begin = time.perf_counter(), time.process_time()
        with self.engine.open(*given) as counter:
            self.clock["reading, s"] = time.perf_counter() - begin[0]
            self.clock["reading, CPU s"] = time.process_time() - begin[1]
            yield counter
        self.clock["counting, s"] = time.perf_counter() - begin[0]
        self.clock["counting, CPU s"] = time.process_time() - begin[1]


def simulate(folder: Path, trips: int) -> None:
    """The trips of that size, unless they are there already."""
    from bench.weave import city
    from wayveil.simulate.city import simulate_city_in_parts
    from wayveil.trips.visits import write_parts

    network = city(STOPS, STOPS // 20, 2)
    if not (folder / "city.npz").exists():
        network.save(folder / "city.npz")
    if not (folder / f"trips-{trips}").exists():
        parts = simulate_city_in_parts(network, trips, seed=0, trips_per_rider=TRIPS_PER_RIDER)
        write_parts(parts, folder / f"trips-{trips}", riders=True)


def release_one(folder: Path, trips: int, name: str) -> Row:
    """One whole release, saved; times and the peak of memory."""
    from wayveil.counting.stream import StreamEngine
    from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
    from wayveil.mechanisms.weave import Weave
    from wayveil.privacy.units import Rider
    from wayveil.releases.release import release
    from wayveil.trips.files import TripFiles
    from wayveil.world.opening import open_world

    world = open_world(folder / "city.npz")
    files = TripFiles.at(folder / f"trips-{trips}", world)
    mechanism = Weave() if name == "weave" else NoisyPrefixTree(height=HEIGHT)
    clock: dict[str, float] = {}
    begin = time.perf_counter(), time.process_time()
    made = release(
        files,
        mechanism,
        epsilon=1,
        unit=Rider(max_trips=TRIPS_PER_RIDER),
        counter=TimedEngine(StreamEngine(folder), clock),
        trips_out=DRAWN,
    )
    with tempfile.TemporaryDirectory(dir=folder) as out:
        made.save(Path(out) / "release")
    return {
        **clock,
        "release, s": time.perf_counter() - begin[0],
        "release, CPU s": time.process_time() - begin[1],
        "peak resident set, GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def count_with_duckdb(folder: Path, trips: int, what: str) -> Row:
    """The same exact counts from the same files, with the quickest of the queries that we found."""
    import duckdb

    source = f"read_parquet('{folder}/trips-{trips}/*.parquet')"
    places = [f"s{i}" for i in range(1, HEIGHT + 1)]
    stops = ", ".join(f"max(stop_id) FILTER (seq = {i}) AS s{i}" for i in range(1, HEIGHT + 1))
    queries = {
        "prefixes": f"WITH trips AS (SELECT {stops} FROM {source} WHERE seq <= {HEIGHT} GROUP BY trip_id) "
        f"SELECT {', '.join(places)}, count(*) AS trips FROM trips GROUP BY ROLLUP ({', '.join(places)})",
        "edges": "SELECT source, target, count(*) AS moves FROM (SELECT stop_id AS source, "
        f"lead(stop_id) OVER (PARTITION BY trip_id ORDER BY seq) AS target FROM {source}) "
        "WHERE target IS NOT NULL GROUP BY ALL",
        "pairs": "SELECT origin, destination, count(*) AS trips FROM (SELECT arg_min(stop_id, seq) AS origin, "
        f"arg_max(stop_id, seq) AS destination FROM {source} GROUP BY trip_id) GROUP BY ALL",
    }
    with tempfile.TemporaryDirectory(dir=folder) as spill, duckdb.connect() as connection:
        connection.execute(f"SET temp_directory = '{spill}'")
        connection.execute("SET memory_limit = '5GB'")
        connection.execute("SET preserve_insertion_order = false")
        begin = time.perf_counter(), time.process_time()
        connection.execute(f"CREATE TABLE counted AS {queries[what]}")
        return {
            "s": time.perf_counter() - begin[0],
            "CPU s": time.process_time() - begin[1],
            "peak resident set, GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        }


def alone(*command: object) -> Row:
    """A row from a process of its own."""
    text = subprocess.run(
        [sys.executable, "-m", "bench.scale", *map(str, command)], check=True, capture_output=True, text=True
    ).stdout
    return json.loads(text.splitlines()[-1])


def measure(folder: Path, sizes: list[int]) -> list[Row]:
    rows: list[Row] = []
    first: dict[str, tuple[int, float]] = {}
    for trips in sizes:
        simulate(folder, trips)
        alone("release", folder, min(sizes), "weave") if trips == sizes[
            0
        ] else None  # compiles what is not cached
        for name, baselines in BASELINES.items():
            found = alone("release", folder, trips, name)
            exact = [alone("duckdb", folder, trips, what) for what in baselines]
            wall, busy = (sum(each[unit] for each in exact) for unit in ("s", "CPU s"))
            row = {
                "figure": f"{name} by stream, {trips:,} trips",
                "value": found["counting, s"],
                "unit": "s",
                "baseline": f"duckdb, exact {' and '.join(baselines)} from the same files",
                "ratio": found["counting, s"] / wall,
                "ratio of CPU time": found["counting, CPU s"] / busy,
                "duckdb, s": wall,
                "duckdb, CPU s": busy,
                **found,
            }
            if name in first:
                before, seconds = first[name]
                row["exponent"] = log(found["counting, CPU s"] / seconds) / log(trips / before)
            else:
                first[name] = trips, found["counting, CPU s"]
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    return rows


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder), [1_000_000])


def main(arguments: list[str]) -> None:
    if arguments[0] == "release":
        print(json.dumps(release_one(Path(arguments[1]), int(arguments[2]), arguments[3])))
    elif arguments[0] == "duckdb":
        print(json.dumps(count_with_duckdb(Path(arguments[1]), int(arguments[2]), arguments[3])))
    else:
        rows = measure(Path(arguments[0]), [int(text) for text in arguments[1:]])
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
        figures = {row["figure"] for row in rows}
        RESULTS.parent.mkdir(exist_ok=True)
        both = [row for row in kept if row["figure"] not in figures] + rows
        RESULTS.write_text(json.dumps(both, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
