"""The engine `spark`: the same functions, mapped over the partitions of a cluster and summed there.

Only the DataFrame API is used, so that Connect and serverless clusters work. Executors see raw rows and send exact
partial counts; noise and budget stay with the gate, in the driver. Rows of a unit are brought into one partition, where
the unit is cut to its bound by keyed words: a task that is run again counts the same trips.
"""

import pickle
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from wayveil.counting.counter import Counter
from wayveil.counting.levels import Start
from wayveil.counting.scratch import scratch_space
from wayveil.counting.spark_session import connected, said_in_a_sentence
from wayveil.counting.spark_tables import SparkRows, visits_table
from wayveil.counting.spark_tasks import PIECES, CountPieces, PreparePieces
from wayveil.counting.steps import Opened, RawFacts, Steps
from wayveil.counting.stream import PieceWork, RecountedLevels, needed_space, unit_column
from wayveil.counting.tally import Count
from wayveil.errors import ParameterError
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger.fingerprint import Fingerprinter
from wayveil.privacy.questions import SparseCounts
from wayveil.progress import step
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.trips import Trips
from wayveil.world.world import World

COUNTS = "cell bigint, amount bigint"


@dataclass(frozen=True)
class SparkEngine:
    """Counts files on Apache Spark.

    url      local[2], spark://host:7077, or sc://host:15002 (Connect)
    scratch  a folder that this machine and all executors see, for bounded trips, which are then made once. Without it
             they are made again for every count. Nobody else can read it, and it is removed in any case.
    session  a session that is already there, in the place of an address

    >>> wv.SparkEngine("local[2]").name
    'spark'
    """

    url: str = "local[*]"
    scratch: str | Path | None = None
    session: Any = field(default=None, compare=False)
    name = "spark"

    @contextmanager
    def open(
        self, trips: Trips | TripFiles, steps: Steps, gate: Gate, prints: Fingerprinter | None = None
    ) -> Iterator[Opened]:
        """The bounded trips on the cluster, as long as the block lasts. Everything is checked before it begins."""
        if isinstance(trips, Trips):
            raise ParameterError(
                "the engine `spark` counts files; give a TripFiles, or use the engine `memory`"
            )
        with ExitStack() as stack:
            session = stack.enter_context(connected(self.url, self.session))
            rows = visits_table(session, trips, unit_column(trips, gate.unit))
            work = PieceWork(steps, gate.unit, gate.choice_key(), prints)
            prepare = PreparePieces(trips.world, work, rows.form, rows.zone, trips.history, trips.on_unknown)
            pieces = rows.table.mapInArrow(prepare, PIECES)
            if self.scratch is not None:
                folder = stack.enter_context(scratch_space(self.scratch, needed_space(trips)))
                with step("Bringing each unit's trips together"), said_in_a_sentence(self.scratch):
                    pieces.write.parquet(str(folder / "pieces"))
                pieces = session.read.parquet(str(folder / "pieces"))
            with step("Checking trips"), said_in_a_sentence(self.scratch):
                seen = _check(pieces, rows)
            seen.require()
            gate.pay_for(steps.stability(seen, trips.world))
            world, timed = steps.world(trips.world), rows.form is not None
            weighted = gate.unit.weighs
            yield Opened(lambda: SparkCounter(pieces, world, timed=timed, weighted=weighted), seen.content)


class SparkCounter(Counter):
    """Exact counts of pieces of trips in a table of Spark."""

    def __init__(self, pieces: Any, world: World, *, timed: bool, weighted: bool = False) -> None:
        self.world, self.timed, self.weighted = world, timed, weighted
        self._pieces = pieces

    def total(self, count: Count) -> SparseCounts:
        with said_in_a_sentence(None):
            work = CountPieces(count, self.world, self.timed)
            counted = self._pieces.mapInArrow(work, COUNTS).groupBy("cell").sum("amount").toArrow()
        cells = np.asarray(counted.column(0), np.int64)
        order = np.argsort(cells)
        amounts = np.asarray(counted.column(1), np.int64)[order]
        return SparseCounts(count.universe, cells[order][amounts != 0], amounts[amounts != 0])

    def levels(self, start: Start) -> RecountedLevels:
        return RecountedLevels(start, self)


def _check(pieces: Any, rows: SparkRows) -> RawFacts:
    """Return what was seen of all pieces, or the first problem as an error in the words of the reader.

    A piece sends a few thousand hashes at most, whatever its size, and only where a ledger asks for them.
    """
    found = pieces.select("seen", "problem", "file", "row", "what").collect()
    problems = {
        kind: [(row["file"], row["row"], row["what"]) for row in found if row["problem"] == kind]
        for kind in ("row", "stop", "unit")
    }
    if problems["row"]:
        raise rows.row_error(*min(problems["row"]))
    if problems["stop"]:
        raise rows.unknown_stop_error()
    if problems["unit"]:
        raise ParameterError(problems["unit"][0][2])
    return reduce(RawFacts.joined, (pickle.loads(row["seen"]) for row in found), RawFacts())
