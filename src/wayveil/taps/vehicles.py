"""Public vehicle data: where which bus was, from the agency's own operations and not from anybody's tap."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError
from wayveil.trips.tables import read_table
from wayveil.trips.times import Form, read_times
from wayveil.world.timebins import HOUR


@dataclass(frozen=True)
class VehicleTable:
    """Rows of (vehicle, moment, stop, route), such as stop visits; without moments a row holds at all times.

    A tap takes the stop and the route of the last row of its vehicle at most `reach` seconds before it. That
    depends on the tap and on public data alone, so it is a sound rule before noise.
    """

    rows: pl.DataFrame  # vehicle, moment, stop, route
    timed: bool
    reach: int = HOUR

    @classmethod
    def of_file(cls, path: str | Path, *, reach: int = HOUR) -> "VehicleTable":
        """Read vehicle_id with stop_id, route_id or both, and event_time if positions change (parquet or csv)."""
        path = Path(path)
        table = read_table(path, None, ("vehicle_id",), ("event_time", "stop_id", "route_id"))
        if not {"stop_id", "route_id"} & set(table.columns):
            raise InputError("says neither stop_id nor route_id of its vehicles", file=path, tells=LAYOUT)
        timed = "event_time" in table.columns
        moment = np.zeros(table.height, np.int64)
        if timed:
            times = read_times(table["event_time"])
            wrong = np.flatnonzero(times.form <= Form.UNREADABLE)
            if len(wrong):
                row = int(wrong[0])
                raise InputError(
                    f"event_time {table['event_time'][row]!r} cannot be read",
                    file=path,
                    row=row + 1,
                    tells=LAYOUT,
                )
            moment = times.wall
        columns = {
            ours: table[theirs].cast(pl.String)
            if theirs in table.columns
            else pl.Series([None] * table.height)
            for ours, theirs in (("vehicle", "vehicle_id"), ("stop", "stop_id"), ("route", "route_id"))
        }
        rows = pl.DataFrame({**columns, "moment": moment}).with_columns(
            pl.col("stop", "route").cast(pl.String)
        )
        return cls(rows.sort("moment", maintain_order=True), timed, reach)

    def where(self, vehicle: pl.Series, time: NDArray[np.int64]) -> tuple[pl.Series, pl.Series]:
        """Stop and route of each tap's vehicle at that moment, null where unknown."""
        asked = pl.DataFrame({"vehicle": vehicle.cast(pl.String), "moment": time}).with_row_index("tap")
        if not self.timed:
            fixed = self.rows.drop("moment").unique("vehicle", keep="last", maintain_order=True)
            found = asked.join(fixed, on="vehicle", how="left", maintain_order="left")
        else:
            found = (
                asked.sort("moment")
                .join_asof(
                    self.rows,
                    on="moment",
                    by="vehicle",
                    strategy="backward",
                    tolerance=self.reach,
                    check_sortedness=False,
                )
                .sort("tap")
            )
        return found["stop"], found["route"]


def from_same_bus(
    value: pl.Series, vehicle: pl.Series, time: NDArray[np.int64], complete: NDArray[np.bool_]
) -> pl.Series:
    """For each row, the value of the complete row of the same bus that is nearest in time. LOOKS AT OTHER ROWS."""
    asked = pl.DataFrame({"vehicle": vehicle, "moment": time}).with_row_index("tap").sort("moment")
    given = pl.DataFrame({"vehicle": vehicle, "moment": time, "value": value}).filter(complete).sort("moment")
    return asked.join_asof(given, on="moment", by="vehicle", strategy="nearest", check_sortedness=False).sort(
        "tap"
    )["value"]
