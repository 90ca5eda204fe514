"""The moment of every tap: one column, or a service date and a clock that may pass midnight."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.taps.columns import ColumnMap
from wayveil.trips.times import Form, read_times
from wayveil.world.timebins import DAY, HOUR

LAST_HOUR = 47  # a service day ends before the next one does
_CLOCK = (
    r"^(?<hour>\d{1,2}):(?<minute>[0-5]\d)(?::(?<second>[0-5]\d)(?:\.\d+)?)?"
    r"(?: ?(?<zone>Z|(?<sign>[+-])(?<zone_hour>\d{2}):?(?<zone_minute>\d{2})?))?$"
)
_PAST_MIDNIGHT = r"^\d{4}-\d{2}-\d{2}[T ](2[4-9]|3\d|4\d):"


@dataclass(frozen=True)
class Moments:
    """Wall seconds and zone offset of every row, which rows have no readable time, and which use another form."""

    wall: NDArray[np.int64]
    offset: NDArray[np.int32] | None
    unreadable: NDArray[np.bool_]
    other_form: NDArray[np.bool_]
    say: Callable[[int], str]


def read_moments(table: pl.DataFrame, columns: ColumnMap) -> Moments:
    """The times of a table of taps; the form that most rows share is the file's form."""
    return _in_one_column(table["time"]) if columns.date is None else _beside_a_date(table, columns)


def _in_one_column(column: pl.Series) -> Moments:
    times = read_times(column)
    usable = times.form > Form.UNREADABLE
    common = int(np.bincount(times.form[usable], minlength=len(Form)).argmax()) if usable.any() else 0
    text = column.cast(pl.String)

    def say(row: int) -> str:
        value = text[row]
        if value is None:
            return "no time"
        if pl.Series([value]).str.contains(_PAST_MIDNIGHT)[0]:
            return (
                f"time {value!r}: no date has this hour; for service days that run past midnight, give date and clock "
                "in two columns"
            )
        return f"time {value!r}"

    offset = times.offset if (times.form == Form.ZONED).any() else None
    return Moments(times.wall, offset, ~usable, usable & (times.form != common), say)


def _beside_a_date(table: pl.DataFrame, columns: ColumnMap) -> Moments:
    date, clock = table["date"].cast(pl.String), table["time"].cast(pl.String)
    day = date.str.to_date(columns.date_format, strict=False).cast(pl.Int64)
    if columns.clock == "hour":
        hour = clock.str.extract(r"^(\d{1,2})(?:\.0)?$").cast(pl.Int64)
        seconds, offset = hour * HOUR, None
    else:
        parts = clock.str.extract_groups(_CLOCK).struct.unnest()
        hour = parts["hour"].cast(pl.Int64)
        seconds = hour * HOUR + _number(parts["minute"]) * 60 + _number(parts["second"])
        east = _number(parts["zone_hour"]) * HOUR + _number(parts["zone_minute"]) * 60
        sign = np.where((parts["sign"] == "-").fill_null(False).to_numpy(), -1, 1)
        offset = (
            (east.to_numpy() * sign).astype(np.int32) if parts["zone"].null_count() < len(clock) else None
        )
    moment = day * DAY + seconds
    unreadable = (moment.is_null() | (hour > LAST_HOUR).fill_null(False)).to_numpy()
    return Moments(
        moment.fill_null(0).to_numpy(),
        offset,
        unreadable,
        np.zeros(len(unreadable), bool),
        lambda row: f"date {date[row]!r} with time {clock[row]!r}",
    )


def _number(text: pl.Series) -> pl.Series:
    return text.cast(pl.Int64).fill_null(0)
