"""Where trips are counted: in memory, piece by piece from files, or on Spark. All engines give the same answers."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wayveil.counting.file_pieces import row_counts
from wayveil.counting.local import LocalCounter
from wayveil.counting.steps import Opened, Steps
from wayveil.counting.stream import StreamEngine
from wayveil.disclosures import ENGINE_SIZE, discloses
from wayveil.errors import ParameterError
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger.fingerprint import Fingerprinter
from wayveil.progress import step
from wayveil.sources.bad_rows import needs_whole_table
from wayveil.sources.formats import format_of
from wayveil.sources.opening import Place, expand_places, open_table
from wayveil.sources.reading import Reading
from wayveil.trips.read import VISITS, holds_visits, is_table, kind_of, read_trips
from wayveil.trips.tables import TABLE_SUFFIXES, require_file, table_header
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.trips import Trips
from wayveil.trips.visits import column_map, read_visits
from wayveil.world.world import World

ENGINES = ("auto", "memory", "stream", "spark")
# Reading takes about so many bytes of memory a row while it lasts, and a row of csv about so many of the file.
READING = 120
CSV_ROW = 20


class Engine(Protocol):
    """A way to count."""

    @property
    def name(self) -> str:
        """Return the name that the command line uses."""

    def open(
        self, trips: Trips | TripFiles, steps: Steps, gate: Gate, prints: Fingerprinter | None = None
    ) -> AbstractContextManager[Opened]:
        """The trips, read and checked, and a counter of them after all steps and the bound of the gate's unit.

        What it needs beside them is gone when the block ends.
        """


@dataclass(frozen=True)
class MemoryEngine:
    """Counts trips that are held in memory."""

    name = "memory"

    @contextmanager
    def open(
        self, trips: Trips | TripFiles, steps: Steps, gate: Gate, prints: Fingerprinter | None = None
    ) -> Iterator[Opened]:
        raw = trips if isinstance(trips, Trips) else read_files(trips)
        seen = steps.look(raw, prints)
        seen.require()
        on_ways = steps.on_ways(raw)

        def counter() -> LocalCounter:
            with step("cutting trips to their bounds"):
                return LocalCounter(gate.bound(on_ways, steps.rule))

        yield Opened(counter, seen.content)


def engine_for(trips: Trips | TripFiles, wish: "str | Engine | None" = None) -> Engine:
    """The engine that was asked for; else memory for trips that are there already, and streaming for files."""
    if wish is None:
        return MemoryEngine() if isinstance(trips, Trips) else StreamEngine()
    return make_engine(wish) if isinstance(wish, str) else wish


def make_engine(name: str, *, spark: str | None = None, scratch: str | Path | None = None) -> Engine:
    """An engine by its name. `spark` is the address of a cluster, `scratch` a folder for temporary files."""
    if spark is not None and name != "spark":
        raise ParameterError(f"spark gives the address of a cluster, but the engine is `{name}`")
    if name == "memory":
        if scratch is not None:
            raise ParameterError("the engine `memory` writes no temporary files; omit scratch")
        return MemoryEngine()
    if name == "stream":
        return StreamEngine(scratch)
    if name == "spark":
        from wayveil.counting.spark import SparkEngine

        return SparkEngine(spark or "local[*]", scratch)
    raise ParameterError(f"unknown engine {name!r}; choose one of {', '.join(ENGINES)}")


@discloses(ENGINE_SIZE)
def choose_engine(files: TripFiles, *, scratch: str | Path | None = None) -> tuple[Engine, str]:
    """Memory where the files fit well, else streaming; and why, in a sentence. Spark only when asked for."""
    rows = sum(row_counts(files.paths)) if files.parquet else files.bytes // CSV_ROW
    needed, free = rows * READING, free_memory()
    sizes = (
        f"about {rows:,} visits need {needed / 2**30:.1f} GB to be read, and {free / 2**30:.1f} GB are free"
    )
    if needed <= free // 2 and (needed or files.table is None):
        return MemoryEngine(), f"engine: memory, as {sizes}"
    parts = "" if len(files.paths) == 1 else f"there are {len(files.paths)} files, and "
    return StreamEngine(scratch), f"engine: stream, as {parts}{sizes}"


def open_source(
    places: Path | Sequence[Place],
    world: World,
    engine: str = "auto",
    *,
    reading: Reading | None = None,
    spark: str | None = None,
    scratch: str | Path | None = None,
) -> tuple[Trips | TripFiles, Engine, str]:
    """Return what to release, the engine that counts it, and a sentence on why that one was chosen (empty if it was
    named).

    Into memory come the files that are counted there, and those that no other engine reads: sequences and pairs.
    """
    chosen = None if engine == "auto" else make_engine(engine, spark=spark, scratch=scratch)
    if chosen is None and spark is not None:
        chosen = make_engine("spark", spark=spark, scratch=scratch)
    reading = Reading() if reading is None else reading
    paths = expand_places([places] if isinstance(places, Path) else places)
    plain = reading.plain and all(
        isinstance(path, Path) and format_of(path) in TABLE_SUFFIXES for path in paths
    )
    alone = paths[0] if len(paths) == 1 and isinstance(paths[0], Path) and reading == Reading() else None
    other = alone is not None and not plain and not is_table(alone)
    if other or (plain and len(paths) == 1):
        return _open_file(Path(paths[0]), world, chosen, reading, scratch)
    if chosen is not None and chosen.name == "spark" and not plain:
        raise ParameterError(
            "the engine `spark` reads csv and Parquet whose values are as ours, with columns that may be mapped, and "
            "this plan rewrites rows; use the engine `stream`, or write the rows as Parquet first"
        )
    table = open_table(paths, reading, world)
    if isinstance(chosen, MemoryEngine) or not holds_visits(table) or needs_whole_table(reading.rules):
        _require_memory(chosen, table.name)
        return read_trips(table, world), MemoryEngine(), ""
    if plain:
        files = TripFiles.at([Path(path) for path in paths], world, columns=reading.columns or None)
    else:
        files = TripFiles.of_table(table, world)
    if chosen is None:
        chosen, why = choose_engine(files, scratch=scratch)
        return (read_trips(table, world) if isinstance(chosen, MemoryEngine) else files), chosen, why
    return files, chosen, ""


def _open_file(
    path: Path, world: World, chosen: Engine | None, reading: Reading, scratch: str | Path | None
) -> tuple[Trips | TripFiles, Engine, str]:
    """Open one file as this package writes it, or one that is no table."""
    columns = dict(reading.columns) or None
    options = {} if columns is None else {"columns": columns}
    if isinstance(chosen, MemoryEngine) or not in_pieces(path, columns):
        _require_memory(chosen, path)
        return read_trips(path, world, **options), MemoryEngine(), ""
    files, why = TripFiles.at(path, world, columns=columns), ""
    if chosen is None:
        chosen, why = choose_engine(files, scratch=scratch)
    return (read_trips(path, world, **options) if isinstance(chosen, MemoryEngine) else files), chosen, why


def _require_memory(chosen: Engine | None, path: Path | str) -> None:
    if chosen is not None and not isinstance(chosen, MemoryEngine):
        raise ParameterError(
            f"the engine `{chosen.name}` reads tables of visits whose trips have ids of their own, without rules for "
            f"bad rows of a whole trip; {path} is none: omit --engine"
        )


def in_pieces(path: Path, columns: Mapping[str, str] | None = None) -> bool:
    """Tell whether a file can be counted without being held: a table of visits whose trips have ids of their own."""
    if format_of(path) not in TABLE_SUFFIXES or kind_of(path, columns) != VISITS:
        return False
    return column_map(path, table_header(path), columns).get("trip_id") != "tid"


def size_of(place: Place) -> int:
    """Bytes of a file of rows, of a folder of parts or of all files of a pattern; 0 for a database elsewhere."""
    total = 0
    for path in expand_places([place]):
        if isinstance(path, Path):
            require_file(path)
            total += path.stat().st_size
    return total


def free_memory() -> int:
    """Bytes that programs may still take, in this container where it has a limit of its own."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        with open("/proc/meminfo") as file:
            known = dict(line.split(":", 1) for line in file)
        free = int(known["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass  # not Linux: pages that are free now, which is less
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        free = min(free, max(limit - used, 0))
    except (OSError, ValueError):
        pass  # no limit
    return free


def read_files(files: TripFiles) -> Trips:
    """All trips of the files, into memory."""
    table = files.table or open_table(files.paths, Reading(columns=files.columns), files.world)
    return read_visits(table, files.world, on_unknown=files.on_unknown)
