"""The readers' checks on one piece of a table, with the file and row of the whole."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.counting.file_pieces import ROW, UNIT, VisitFiles
from wayveil.disclosures import BAD_ROW, UNKNOWN_STOP
from wayveil.errors import InputError, UnknownStopError
from wayveil.trips.findings import Findings
from wayveil.trips.history import History
from wayveil.trips.matching import OnUnknown, unknown_stop
from wayveil.trips.times import Form
from wayveil.trips.trips import Trips
from wayveil.trips.visits import trips_of_table
from wayveil.world.locating import find_places
from wayveil.world.world import World

_NO_FILE = Path("trips")


@dataclass
class PieceFindings(Findings):
    """Says the first problem of a piece, and at which row of the whole table it is."""

    numbers: NDArray[np.int64] | None = None

    def rows(
        self,
        problem: str,
        rows: NDArray[np.integer],
        say: Callable[[int], str],
        error: Callable[[], InputError] | None = None,
    ) -> None:
        if len(rows) == 0 or self.numbers is None:
            return
        if error is not None:  # an unknown stop, of which the sentence tells more than a piece knows
            raise UnknownStopError("unknown stop", row=int(self.numbers[rows].min()), tells=UNKNOWN_STOP)
        place = int(rows[np.argmin(self.numbers[rows])])
        raise RowError(say(place), int(self.numbers[place]))


class RowError(Exception):
    """Error of a row of the whole table, whose file is not known yet."""

    def __init__(self, text: str, row: int) -> None:
        super().__init__(text, row)
        self.text, self.row = text, row


def check_piece(table: pl.DataFrame, rows: VisitFiles, form: Form | None) -> Trips:
    """The trips of a piece that holds whole trips, or the first problem as an error."""
    files = rows.files
    try:
        return trips_of_piece(table, files.world, form, files.history, files.on_unknown)
    except RowError as error:
        file, row = rows.place(error.row)
        raise InputError(error.text, file=file, row=row, tells=BAD_ROW) from None
    except UnknownStopError:
        raise first_unknown_stop(rows) from None


def trips_of_piece(
    table: pl.DataFrame, world: World, form: Form | None, history: History, on_unknown: OnUnknown
) -> Trips:
    """Do that where files are out of reach: problems come as `RowError` and `UnknownStopError`."""
    findings = PieceFindings(_NO_FILE, strict=True, numbers=table[ROW].to_numpy())
    gone = [ROW, *(name for name in (UNIT,) if name in table.columns)]
    if form is None and "event_time" in table.columns:
        gone.append("event_time")
    return trips_of_table(table.drop(gone), world, findings, history, on_unknown, form)


def first_unknown_stop(rows: VisitFiles) -> InputError:
    """The sentence for the first unknown stop of all files, which tells how many there are."""
    world, stop = rows.files.world, pl.col(rows.names["stop_id"]).cast(pl.String)
    table = pl.scan_parquet(list(rows.paths)).select(stop.alias("stop"))
    distinct = table.unique().collect(engine="streaming")["stop"].drop_nulls()
    distinct = distinct.filter(distinct != "")
    unknown = distinct.filter(pl.Series(find_places(distinct, world) < 0))
    listed = pl.col("stop").is_in(unknown.implode())
    number = pl.col(ROW) if rows.unit is not None else pl.int_range(pl.len(), dtype=pl.Int64)
    where = (
        pl.scan_parquet(list(rows.paths))
        .select(stop.alias("stop"), number.alias(ROW))
        .filter(listed)
        .select(pl.all().sort_by(ROW).first())
        .collect()
    )
    file, row = rows.place(int(where[ROW][0]))
    return unknown_stop(where["stop"][0], row, len(unknown), len(distinct), world, file)
