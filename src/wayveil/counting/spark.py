"""The engine `spark`: the same functions, mapped over the partitions of a cluster and summed there.

Only the DataFrame API is used, so that Connect and serverless clusters work. Executors see raw rows and send exact
partial counts; noise and budget stay with the gate, in the driver. Rows of a unit are brought into one partition, where
the unit is cut to its bound by keyed words: a task that is run again counts the same trips.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wayveil.counting.counter import EngineCounter
from wayveil.counting.levels import Start
from wayveil.counting.scratch import scratch_space
from wayveil.counting.spark_session import connected, said_in_a_sentence
from wayveil.counting.spark_tables import SparkRows, visits_table
from wayveil.counting.spark_tasks import PIECES, CountPieces, PreparePieces
from wayveil.counting.stream import RecountedLevels, needed_space, unit_column
from wayveil.counting.tally import Count
from wayveil.errors import ParameterError
from wayveil.privacy.gate import Gate, SparseCounts
from wayveil.progress import step
from wayveil.trips.files import TripFiles
from wayveil.trips.legality import LegalityRule
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
    """

    url: str = "local[*]"
    scratch: str | Path | None = None
    session: Any = field(default=None, compare=False)
    name = "spark"

    @contextmanager
    def open(self, trips: Trips | TripFiles, rule: LegalityRule, gate: Gate) -> Iterator["SparkCounter"]:
        """A counter of the bounded trips, as long as the block lasts. Everything is checked before it begins."""
        if isinstance(trips, Trips):
            raise ParameterError(
                "the engine `spark` counts files; give a TripFiles, or use the engine `memory`"
            )
        with ExitStack() as stack:
            session = stack.enter_context(connected(self.url, self.session))
            rows = visits_table(session, trips, unit_column(trips, gate.unit))
            work = PreparePieces(
                trips.world, rule, gate.unit, gate.choice_key(), rows.form, rows.zone, trips.on_unknown
            )
            pieces = rows.table.mapInArrow(work, PIECES)
            if self.scratch is not None:
                folder = stack.enter_context(scratch_space(self.scratch, needed_space(trips)))
                with step("Bringing each unit's trips together"), said_in_a_sentence(self.scratch):
                    pieces.write.parquet(str(folder / "pieces"))
                pieces = session.read.parquet(str(folder / "pieces"))
            with step("Checking trips"), said_in_a_sentence(self.scratch):
                _check(pieces, rows)
            yield SparkCounter(pieces, trips.world, timed=rows.form is not None)


class SparkCounter(EngineCounter):
    """Exact counts of pieces of trips in a table of Spark."""

    def __init__(self, pieces: Any, world: World, *, timed: bool) -> None:
        self.world, self.timed = world, timed
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


def _check(pieces: Any, rows: SparkRows) -> None:
    """The first problem as an error in the words of the reader, or a sentence that there is no trip."""
    from pyspark.sql import functions as sql

    found = (
        pieces.groupBy("problem")
        .agg(sql.sum("trips").alias("trips"), sql.min(sql.struct("file", "row", "what")).alias("first"))
        .collect()
    )
    problems = {row["problem"]: row["first"] for row in found if row["problem"] is not None}
    if "row" in problems:
        raise rows.row_error(*problems["row"])
    if "stop" in problems:
        raise rows.unknown_stop_error()
    if sum(row["trips"] or 0 for row in found) == 0:
        raise ParameterError("there are no trips to release")
