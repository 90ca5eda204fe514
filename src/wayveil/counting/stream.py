"""The engine `stream`: files of any size on one machine, a piece at a time, out of core.

The files are read once. Every piece is checked, cut by the legality rule and the unit's bound, and put into scratch as
plain columns, which each count then passes over. Memory depends on the size of a piece and on what is counted, not on
how many trips there are.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import polars as pl

from wayveil.arrays import Ints
from wayveil.counting.counter import Counter
from wayveil.counting.file_checks import check_piece
from wayveil.counting.file_pieces import (
    NotInOrderError,
    VisitFiles,
    as_parquet,
    row_counts,
    sort_rows,
    whole_units,
)
from wayveil.counting.group_tables import GroupedLevels
from wayveil.counting.levels import Prefixes, Start, count_level
from wayveil.counting.local import pieces_of
from wayveil.counting.prepared import PreparedTrips
from wayveil.counting.protocol import Frontier, LevelCounter
from wayveil.counting.scratch import full_disk, scratch_space
from wayveil.counting.steps import Opened, RawFacts, Steps
from wayveil.counting.tally import WORKERS, Count, total
from wayveil.errors import ParameterError
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger.fingerprint import Fingerprinter
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.units import Rider, Unit, Window
from wayveil.privacy.weights import PARTS
from wayveil.progress import meter
from wayveil.trips.identity import Words
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.trips import Trips

# Visits of a written piece and of one that is counted; trips that walk a tree go on alike more often in a large piece.
PIECE = 1 << 18
WALKING = 1 << 23
# Memory that sorting may use before it spills.
SORTING = 2 << 30


@dataclass(frozen=True)
class StreamEngine:
    """Counts files that need not fit in memory.

    scratch  where temporary files go (default: the system's place for them). They hold raw rows: nobody else can read
             them, and they are removed in any case.

    >>> wv.StreamEngine().name
    'stream'
    """

    scratch: str | Path | None = None
    name = "stream"

    @contextmanager
    def open(
        self, trips: Trips | TripFiles, steps: Steps, gate: Gate, prints: Fingerprinter | None = None
    ) -> Iterator[Opened]:
        """The bounded trips in scratch, as long as the block lasts."""
        if isinstance(trips, Trips):
            raise ParameterError(
                "the engine `stream` counts files; give a TripFiles, or use the engine `memory`"
            )
        if find_spec("duckdb") is None:  # whatever the order of the rows, which may not need to be sorted
            raise ParameterError(
                "the engine `stream` needs DuckDB: pip install 'wayveil[stream]', or use the engine `memory`. Nothing "
                "was spent"
            )
        with scratch_space(self.scratch, needed_space(trips)) as folder:
            prepared, seen = prepare(trips, PieceWork(steps, gate.unit, gate.choice_key(), prints), folder)
            seen.require()
            gate.pay_for(steps.stability(seen, trips.world))
            yield Opened(lambda: StreamCounter(prepared, folder), seen.content)


class StreamCounter(Counter):
    """Exact counts of trips in scratch."""

    def __init__(self, trips: PreparedTrips, folder: Path) -> None:
        self.world, self.timed, self.weighted = trips.world, trips.timed, trips.weighted
        self._trips, self._folder = trips, folder

    def total(self, count: Count) -> SparseCounts:
        return total(count, self._trips.pieces(PIECE), self._trips.visits)

    def levels(self, start: Start) -> LevelCounter:
        if isinstance(start, Prefixes):
            parts = PARTS if self.weighted else None
            return GroupedLevels(start, lambda: self._trips.pieces(WALKING), self._folder, parts)
        return RecountedLevels(start, self)


class RecountedLevels:
    """A tree whose trips walk from the root again at every level."""

    def __init__(self, start: Start, counter: Counter) -> None:
        self._start, self._counter = start, counter
        self._above: tuple[tuple[Frontier, Ints], ...] = ()
        self._frontier: Frontier | None = None

    def count(self, frontier: Frontier) -> SparseCounts:
        self._frontier = frontier
        return self._counter.exact(count_level(self._start, frontier, self._above))

    def descend(self, kept: Ints) -> None:
        if self._frontier is not None:
            self._above = (*self._above, (self._frontier, kept))


@dataclass(frozen=True)
class PieceWork:
    """Work on every piece: looked at as a whole, put through the steps, cut to the unit's bound."""

    steps: Steps
    unit: Unit
    key: Words
    prints: Fingerprinter | None


def prepare(files: TripFiles, work: PieceWork, folder: Path) -> tuple[PreparedTrips, RawFacts]:
    """Read, check, cut and write every piece; sort the rows first where units do not stand together."""
    rows = as_parquet(files, folder)
    try:
        return _prepare(rows, work, folder / "in-order")
    except NotInOrderError:
        return _prepare(sort_rows(rows, folder, SORTING), work, folder / "sorted")


def unit_column(files: TripFiles, unit: Unit) -> str:
    """The column whose rows have to be in one piece: all of a rider's where some are chosen, else of a trip."""
    together = isinstance(unit, Rider | Window) and files.has_riders
    return "rider_id" if together else "trip_id"


def _prepare(rows: VisitFiles, work: PieceWork, folder: Path) -> tuple[PreparedTrips, RawFacts]:
    folder.mkdir(mode=0o700)
    form, files, steps = rows.form, rows.files, work.steps
    world, weighted = steps.world(files.world), work.unit.weighs
    prepared = PreparedTrips(folder, world, timed=form is not None, weighted=weighted)

    def take(table: pl.DataFrame) -> tuple[int, RawFacts]:
        trips = check_piece(table, rows, form)
        for piece in pieces_of(steps.bound(trips, work.unit, work.key), PIECE):
            if len(piece):
                prepared.add(piece)
        return table.height, steps.look(trips, work.prints)

    seen = RawFacts()
    waiting: deque[Future[tuple[int, RawFacts]]] = deque()
    with meter("Reading trips", sum(rows.counts)) as advance, ThreadPoolExecutor(WORKERS) as pool:
        try:
            for table in chain(whole_units(rows, unit_column(files, work.unit)), [None] * WORKERS):
                if table is not None:
                    waiting.append(pool.submit(take, table))
                # In order, so that the first problem of the table is the one that is told.
                while waiting and (table is None or len(waiting) > WORKERS):
                    height, found = waiting.popleft().result()
                    seen = seen.joined(found)
                    advance(height)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise full_disk(folder.parent.parent, error) from error
        finally:
            pool.shutdown(cancel_futures=True)
            prepared.finish()
    return prepared, seen


def needed_space(files: TripFiles) -> int:
    """Temporary space for the worst case: text written as Parquet, sorted once, and the columns that are counted."""
    rows = sum(row_counts(files.paths)) if files.parquet else files.bytes // 20
    return PreparedTrips.bytes_for(rows, "event_time" in files.names) + (0 if files.parquet else files.bytes)
