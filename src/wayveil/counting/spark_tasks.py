"""Tasks of executors: make pieces of bounded trips out of raw rows, and count pieces."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from wayveil.counting.file_checks import RowError, trips_of_piece
from wayveil.counting.file_pieces import ROW, UNIT, cut_between_units
from wayveil.counting.stream import PieceWork
from wayveil.counting.tally import Count, total
from wayveil.errors import ParameterError, UnknownStopError
from wayveil.trips.history import History
from wayveil.trips.matching import OnUnknown
from wayveil.trips.times import Form
from wayveil.trips.trips import Trips
from wayveil.world.world import World

FILE = "file of the row"
# Rows that are looked at together; Spark sends them in smaller batches.
ROWS = 1 << 19
# A piece of bounded trips, its columns as bytes, or a problem: what is wrong, and in which row of which file.
PIECES = (
    "location binary, length binary, time binary, name binary, weight binary, seen binary, "
    "problem string, file string, row bigint, what string"
)


@dataclass(frozen=True)
class PreparePieces:
    """Rows of a partition, sorted so that units stand together, to pieces of bounded trips."""

    world: World
    work: PieceWork
    form: Form | None
    zone: str | None
    history: History
    on_unknown: OnUnknown

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for table in cut_between_units(_tables(batches, self.zone), UNIT):
            yield self._piece(table)

    def _piece(self, table: pl.DataFrame) -> Any:
        # Rows are numbered within their files; the files of a piece one after the other.
        files = table[FILE].unique().sort().cast(pl.String)
        place = files.search_sorted(table[FILE].cast(pl.String)).cast(pl.Int64)
        numbered = table.drop(FILE).with_columns((place * (1 << 40) + table[ROW]).alias(ROW))
        try:
            trips = trips_of_piece(numbered, self.world, self.form, self.history, self.on_unknown)
            bounded = self.work.steps.bound(trips, self.work.unit, self.work.key)
        except RowError as error:
            file, row = divmod(error.row, 1 << 40)
            return _batch(problem="row", file=files[file], row=row, what=error.text)
        except UnknownStopError:
            return _batch(problem="stop")
        except ParameterError as error:
            return _batch(problem="unit", what=str(error))
        return _batch(
            location=bounded.location.tobytes(),
            length=bounded.lengths.tobytes(),
            time=None if bounded.time is None else bounded.time.tobytes(),
            name=bounded.names().tobytes(),
            weight=None if bounded.weight is None else bounded.weight.tobytes(),
            seen=pickle.dumps(self.work.steps.look(trips, self.work.prints)),
        )


@dataclass(frozen=True)
class CountPieces:
    """Pieces of trips to cells and whole numbers, summed over a partition."""

    count: Count
    world: World
    timed: bool

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        counted = total(self.count, self._trips(batches), 1 << 26, workers=1)
        columns = [pa.array(counted.keys), pa.array(counted.counts)]
        yield pa.RecordBatch.from_arrays(columns, names=["cell", "amount"])

    def _trips(self, batches: Iterator[Any]) -> Iterator[Trips]:
        for batch in batches:
            for piece in batch.to_pylist():
                if piece["location"] is None:
                    continue
                lengths = np.frombuffer(piece["length"], np.int64)
                yield Trips(
                    np.frombuffer(piece["location"], np.int32),
                    np.concatenate([[0], np.cumsum(lengths)]),
                    self.world,
                    np.frombuffer(piece["time"], np.int64) if self.timed else None,
                    name=np.frombuffer(piece["name"], np.uint64),
                    weight=None if piece["weight"] is None else np.frombuffer(piece["weight"], np.int64),
                )


def _tables(batches: Iterator[Any], zone: str | None) -> Iterator[pl.DataFrame]:
    """Batches of a partition as larger tables, text as categories, times in the zone that the files name."""
    import pyarrow as pa

    waiting: list[Any] = []

    def table() -> pl.DataFrame:
        frame = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(waiting)))
        if zone is not None:
            frame = frame.with_columns(pl.col("event_time").dt.convert_time_zone(zone))
        return frame.with_columns(pl.selectors.string().cast(pl.Categorical))

    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= ROWS:
            yield table()
            waiting = []
    if waiting:
        yield table()


def _batch(**given: Any) -> Any:
    """One row of PIECES."""
    import pyarrow as pa

    kinds = {"binary": pa.binary(), "bigint": pa.int64(), "string": pa.string()}
    columns = [column.split() for column in PIECES.split(", ")]
    arrays = [pa.array([given.get(name)], kinds[kind]) for name, kind in columns]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in columns])
