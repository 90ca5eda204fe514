"""The moment of every tap: one column, or a service date and a clock that may pass midnight."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.taps.columns import ColumnMap
from wayveil.taps.taps import NO_OFFSET
from wayveil.trips.times import Form, read_times
from wayveil.world.timebins import DAY, HOUR

LAST_HOUR = 47  # a service day ends before the next one does
_CLOCK = (
    r"^(?:(?<date>\d{4}-\d{2}-\d{2})[T ])?(?<hour>\d{1,2}):(?<minute>[0-5]\d)(?::(?<second>[0-5]\d)(?:\.\d+)?)?"
    r"(?: ?(?<zone>Z|(?<sign>[+-])(?<zone_hour>\d{2}):?(?<zone_minute>\d{2})?))?$"
)
_PAST_MIDNIGHT = r"^\d{4}-\d{2}-\d{2}[T ](2[4-9]|3\d|4\d):"


# What a file may be declared to hold; rows in another form are dropped, each for itself.
FORMS: dict[str, tuple[Form, ...]] = {
    "dated": (Form.LOCAL, Form.ZONED, Form.SECONDS),
    "local": (Form.LOCAL,),
    "zoned": (Form.ZONED,),
    "seconds": (Form.SECONDS,),
    "clock": (Form.CLOCK,),
}


@dataclass(frozen=True)
class Moments:
    """Wall seconds and zone offset of every row, which rows have no readable time, and which are in another form than
    the column map declares. What a row gives depends on that row and on the declaration alone.
    """

    wall: NDArray[np.int64]
    offset: NDArray[np.int32] | None
    unreadable: NDArray[np.bool_]
    other_form: NDArray[np.bool_]
    say: Callable[[int], str]


def read_moments(table: pl.DataFrame, columns: ColumnMap) -> Moments:
    """The times of a table of taps.

    Without a declared zone, a row's wall time is the one that it shows. With one, times that name their own zone are
    put on its clock, and times that name none are taken to be on it.
    """
    one = columns.service_date is None
    made = _in_one_column(table["event_time"], columns) if one else _beside_a_date(table, columns)
    if columns.zone is None or made.offset is None:
        return made
    zoned = made.offset != NO_OFFSET
    utc = np.where(zoned, made.wall - made.offset, made.wall)
    wall = np.where(zoned, _on_the_clock_of(columns.zone, utc), made.wall)
    return replace(made, wall=wall, offset=np.where(zoned, wall - utc, NO_OFFSET).astype(np.int32))


def _on_the_clock_of(zone: str, utc: NDArray[np.int64]) -> NDArray[np.int64]:
    moment = pl.from_epoch(pl.Series(utc), time_unit="s").dt.replace_time_zone("UTC")
    return moment.dt.convert_time_zone(zone).dt.replace_time_zone(None).dt.epoch("s").to_numpy()


def _in_one_column(column: pl.Series, columns: ColumnMap) -> Moments:
    times = read_times(column)
    usable = times.form > Form.UNREADABLE
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

    zoned = times.form == Form.ZONED
    offset = np.where(zoned, times.offset, NO_OFFSET).astype(np.int32) if zoned.any() else None
    return Moments(times.wall, offset, ~usable, usable & ~np.isin(times.form, FORMS[columns.form]), say)


def _beside_a_date(table: pl.DataFrame, columns: ColumnMap) -> Moments:
    date, clock = table["service_date"].cast(pl.String), table["event_time"].cast(pl.String)
    day = date.str.to_date(columns.date_format, strict=False).cast(pl.Int64)
    if columns.clock == "hour":
        hour = clock.str.extract(r"^(\d{1,2})(?:\.0)?$").cast(pl.Int64)
        seconds, offset = hour * HOUR, None
    else:
        parts = clock.str.extract_groups(_CLOCK).struct.unnest()
        own = parts["date"].str.to_date("%Y-%m-%d", strict=False).cast(pl.Int64)
        day = pl.select(pl.coalesce(own, day)).to_series()  # a time that has its date needs no other
        hour = parts["hour"].cast(pl.Int64)
        seconds = hour * HOUR + _number(parts["minute"]) * 60 + _number(parts["second"])
        east = _number(parts["zone_hour"]) * HOUR + _number(parts["zone_minute"]) * 60
        sign = np.where((parts["sign"] == "-").fill_null(False).to_numpy(), -1, 1)
        zoned = parts["zone"].is_not_null().to_numpy()
        offset = np.where(zoned, east.to_numpy() * sign, NO_OFFSET).astype(np.int32) if zoned.any() else None
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
