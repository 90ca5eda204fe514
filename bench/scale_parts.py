"""The parts of `bench.scale`, each run in a process of its own: trips of one size, a release of them, a baseline.

    python -m bench.scale_parts FOLDER 1000000 simulate
    python -m bench.scale_parts FOLDER 1000000 stream weave              or memory, or spark; or noisy-prefix-tree
    python -m bench.scale_parts FOLDER 1000000 duckdb prefixes           or edges, or pairs

Prints one line of JSON. Counting is everything from opening the files to the last noisy count: reading, checking,
bounding, counting. Processor seconds are of all threads and of all processes that were started for it.
"""

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STOPS, TRIPS_PER_RIDER, HEIGHT, DRAWN = 300, 2, 12, 100_000
Row = dict[str, Any]


def main(folder: Path, trips: int, engine: str, what: str = "") -> Row:
    if engine == "simulate":
        return simulate(folder, trips)
    return (
        count_with_duckdb(folder, trips, what) if engine == "duckdb" else release(folder, trips, engine, what)
    )


def simulate(folder: Path, trips: int) -> Row:
    """Trips of that size as Parquet parts. Where they are there already, they are not made again."""
    from bench.weave import city
    from wayveil.simulate.city import simulate_city_in_parts
    from wayveil.trips.visits import write_parts

    begin = time.perf_counter(), time.process_time()
    network = city(STOPS, STOPS // 20, 2)
    if not (folder / "city.npz").exists():
        network.save(folder / "city.npz")
    written = folder / f"trips-{trips}"
    if not written.exists():
        parts = simulate_city_in_parts(network, trips, seed=0, trips_per_rider=TRIPS_PER_RIDER)
        write_parts(parts, written, riders=True)
    paths = list(written.iterdir())
    return {
        **_since(begin),
        "visits": count_visits(written),
        "parts": len(paths),
        "GB on disk": sum(path.stat().st_size for path in paths) / 1e9,
    }


def count_visits(written: Path) -> int:
    from wayveil.counting.file_pieces import row_counts

    return sum(row_counts(tuple(written.iterdir())))


@dataclass(frozen=True)
class TimedEngine:
    """An engine whose counter is watched from opening to closing."""

    engine: Any
    clock: Row

    @property
    def name(self) -> str:
        return self.engine.name

    @contextmanager
    def open(self, *given: Any) -> Iterator[Any]:
        begin = time.perf_counter(), processor_seconds()
        with self.engine.open(*given) as counter:
            self._note("reading", begin)
            yield counter
            self._note("counting", begin)

    def _note(self, what: str, begin: tuple[float, float]) -> None:
        for unit, seconds in _since(begin, peak=False).items():
            self.clock[f"{what}, {unit}"] = seconds


def release(folder: Path, trips: int, engine: str, name: str) -> Row:
    """One whole release, saved; times and the peak of memory."""
    from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
    from wayveil.mechanisms.weave import Weave
    from wayveil.privacy.units import Rider
    from wayveil.run import make_release as release
    from wayveil.trips.trip_files import TripFiles
    from wayveil.world.opening import open_world

    world = open_world(folder / "city.npz")
    mechanism = Weave() if name == "weave" else NoisyPrefixTree(height=HEIGHT)
    path, clock = folder / f"trips-{trips}", Row()
    if engine == "memory":
        path = in_one_file(path)
    with ExitStack() as stack:
        counter = stack.enter_context(engine_named(engine, folder))
        begin = time.perf_counter(), processor_seconds()
        made = release(
            TripFiles.at(path, world),
            mechanism,
            epsilon=1,
            unit=Rider(max_trips=TRIPS_PER_RIDER),
            counter=TimedEngine(counter, clock),
            trips_out=DRAWN,
        )
        out = stack.enter_context(tempfile.TemporaryDirectory(dir=folder))
        made.save(Path(out) / "release")
        whole = _since(begin)
    peak = whole.pop("peak resident set, GB")
    return {
        **clock,
        **{f"release, {unit}": seconds for unit, seconds in whole.items()},
        "peak resident set, GB": peak,
    }


@contextmanager
def engine_named(name: str, folder: Path) -> Iterator[Any]:
    """An engine. Spark runs here on one core and is started before anything is timed."""
    from wayveil.counting.engines import make_engine

    if name != "spark":
        yield make_engine(name, scratch=folder if name == "stream" else None)
        return
    from wayveil.counting.spark import SparkEngine
    from wayveil.counting.spark_session import connected

    with connected("local[1]") as session:
        yield SparkEngine(scratch=folder, session=session)


def in_one_file(written: Path) -> Path:
    """The same rows in one file, as the engine `memory` reads them."""
    import polars as pl

    whole = written.with_suffix(".parquet")
    if not whole.exists():
        pl.scan_parquet(written / "*.parquet").sink_parquet(whole)
    return whole


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
        return _since(begin)


def processor_seconds() -> float:
    """Of this process, and of those that it started and that still run."""
    parents, spent = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            parents[int(folder.name)] = int(fields[1])
            spent[int(folder.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    ours, new = set(), {os.getpid()}
    while new:
        ours |= new
        new = {child for child, parent in parents.items() if parent in new} - ours
    return time.process_time() + sum(spent[child] for child in ours - {os.getpid()})


def _since(begin: tuple[float, float], *, peak: bool = True) -> Row:
    found = {"s": time.perf_counter() - begin[0], "CPU s": processor_seconds() - begin[1]}
    if peak:
        found["peak resident set, GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])))
