"""Trips as rows, one per visit: what is written to files and shown as frames."""

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.trips.history import MARKS_NAME, marks_text

if TYPE_CHECKING:
    from wayveil.trips.trips import Trips


def visit_rows(trips: "Trips", *, riders: bool = True, first_trip: int = 1) -> pl.LazyFrame:
    """The visits as a lazy frame, so that text is made a piece at a time while the file is written."""
    stop = pl.col("stop_id").replace_strict(
        np.arange(trips.world.size, dtype=np.int32), trips.world.ids.tolist(), return_dtype=pl.String
    )
    columns: dict[str, NDArray[np.generic]] = {
        "trip_id": np.repeat(np.arange(len(trips), dtype=np.int32), trips.lengths),
        "seq": (np.arange(trips.visits) - np.repeat(trips.offsets[:-1], trips.lengths) + 1).astype(np.int32),
        "stop_id": trips.location,
    }
    expressions = [
        pl.col("trip_id").cast(pl.Int64) + first_trip,
        pl.col("seq"),
        stop,
    ]
    if trips.time is not None:
        columns["event_time"] = trips.time
        expressions.append(pl.from_epoch("event_time", time_unit="s").cast(pl.Datetime("us")))
    if riders and trips.rider is not None:
        columns["rider_id"] = np.repeat(trips.rider, trips.lengths)
        expressions.append(pl.when(pl.col("rider_id") >= 0).then("rider_id"))
    mark = marks_text(trips.history)
    if mark is not None:
        expressions.append(pl.lit(mark).alias(MARKS_NAME))
    return pl.LazyFrame(columns).select(expressions)
