"""Times as people write them, read as seconds of local wall time since 1970-01-01 00:00."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.sources.categories import distinct_values
from wayveil.sources.quick_moments import LOCAL, read_quickly

_FORMS = (
    "an ISO date and time (2021-04-20T08:15:00, with or without zone), a clock (08:15:00) or whole seconds"
)
_CLOCK = r"^(?<hour>\d{1,3}):(?<minute>[0-5]\d)(?::(?<second>[0-5]\d))?$"
_DATED = (
    r"^(?<date>\d{4}-\d{2}-\d{2})[T ](?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d)"
    r"(?::(?<second>[0-5]\d)(?:\.\d+)?)?"
    r"(?: ?(?<zone>Z|(?<sign>[+-])(?<zone_hour>\d{2}):?(?<zone_minute>\d{2})?))?$"
)


_LOCAL = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$"
# Years outside 1900 to 2100 are no times of trips: most often somebody's milliseconds were taken for seconds.
_FIRST_SECOND, _LAST_SECOND = -2_208_988_800, 4_102_444_800
_SMALLER = {1_000: "milliseconds", 1_000_000: "microseconds", 1_000_000_000: "nanoseconds"}


class Form(IntEnum):
    """The ways in which a file may give times; one file uses one of them."""

    MISSING = 0
    UNREADABLE = 1
    SECONDS = 2
    CLOCK = 3
    LOCAL = 4
    ZONED = 5


_NAMES = {
    Form.SECONDS: "whole seconds",
    Form.CLOCK: "a clock time",
    Form.LOCAL: "a date and time without zone",
    Form.ZONED: "a date and time with zone",
}


@dataclass(frozen=True)
class Times:
    """One column of times: `wall` seconds, zone `offset` in seconds (0 without zone), `form` of each row.

    `given` is the form that the file began with, where the column is a later piece of it.
    """

    wall: NDArray[np.int64]
    offset: NDArray[np.int32]
    form: NDArray[np.uint8]
    given: Form | None = None

    @property
    def expected(self) -> Form:
        """The form of the first row that can be read, which all others must share."""
        if self.given is not None:
            return self.given
        readable = self.form > Form.UNREADABLE
        return Form(int(self.form[int(np.argmax(readable))])) if readable.any() else Form.UNREADABLE

    def wrong_rows(self) -> NDArray[np.int64]:
        """The rows without a usable time."""
        return np.flatnonzero(self.form != max(self.expected, Form.SECONDS))

    def say(self, row: int, value: object) -> str:
        """Return what is wrong with a row whose text is `value`."""
        form = Form(int(self.form[row]))
        if form == Form.MISSING:
            return "has no event_time; give every visit a time, or leave the column out"
        if form == Form.UNREADABLE:
            return f"event_time {str(value)!r} cannot be read; write {_FORMS}"
        return (
            f"event_time {str(value)!r} is {_NAMES[form]}, but the file began with {_NAMES[self.expected]}; "
            "use one form throughout"
        )

    def seconds(
        self, order: Callable[[NDArray[Any]], NDArray[Any]], offsets: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Wall seconds in the order of trips; the zone of a trip's first visit holds for the whole trip.

        So a trip through the hour that the end of summer time repeats does not go back in time.
        """
        wall: NDArray[np.int64] = order(self.wall)
        if len(self.offset) == 0 or (self.offset == self.offset[0]).all():
            return wall
        offset = order(self.offset)
        kept: NDArray[np.int64] = wall + np.repeat(offset[offsets[:-1]], np.diff(offsets)) - offset
        return kept


def impossible_years(wall: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows before 1900 or after 2100."""
    return np.flatnonzero((wall < _FIRST_SECOND) | (wall >= _LAST_SECOND))


def say_year(wall: int) -> str:
    """Return what is wrong with such a time."""
    unit = next((name for parts, name in _SMALLER.items() if 10**9 <= wall // parts < _LAST_SECOND), None)
    if unit is not None:
        return f"event_time {wall} looks like {unit}; give whole seconds, or an ISO date and time"
    return f"event_time {wall} (seconds since 1970) is outside the years 1900 to 2100"


def read_times(column: pl.Series) -> Times:
    """Read a column of numbers, moments, durations or text."""
    kind = column.dtype
    if kind == pl.String:
        return _of_plain_text(column)
    if isinstance(kind, pl.Categorical | pl.Enum) or kind == pl.Date:
        return _of_text(
            column.cast(pl.Categorical) if kind != pl.Date else column.cast(pl.String).cast(pl.Categorical)
        )
    missing = column.is_null().to_numpy()
    offset = np.zeros(len(column), np.int32)
    if kind.is_integer():
        wall, form = column.cast(pl.Int64), Form.SECONDS
    elif isinstance(kind, pl.Datetime):
        wall = column.dt.replace_time_zone(None).dt.epoch("s")
        form = Form.LOCAL if kind.time_zone is None else Form.ZONED
        if kind.time_zone is not None:
            away = (column.dt.base_utc_offset() + column.dt.dst_offset()).dt.total_seconds()
            offset = away.fill_null(0).cast(pl.Int32).to_numpy()
    elif isinstance(kind, pl.Duration):
        wall, form = column.dt.total_seconds(), Form.CLOCK
    elif kind == pl.Time:
        wall, form = column.cast(pl.Int64) // 1_000_000_000, Form.CLOCK
    else:
        wall, form = pl.zeros(len(column), pl.Int64, eager=True), Form.UNREADABLE
    return Times(wall.fill_null(0).to_numpy(), offset, np.where(missing, Form.MISSING, form).astype(np.uint8))


def _of_plain_text(text: pl.Series) -> Times:
    """Read dates and times without a zone byte by byte, and what else there is by its distinct texts."""
    moments, kind = read_quickly(text, order="year-month-day", zoned=False)
    left = np.flatnonzero((kind != LOCAL) | ~text.str.contains(_LOCAL).fill_null(False).to_numpy())
    wall, offset = moments // 1_000_000, np.zeros(len(text), np.int32)
    form = np.full(len(text), Form.LOCAL, np.uint8)
    if len(left):
        other = _of_text(text.gather(left).cast(pl.Categorical))
        wall[left], offset[left], form[left] = other.wall, other.offset, other.form
    return Times(wall, offset, form)


def _of_text(column: pl.Series) -> Times:
    """Parse every distinct text once: a day of 44 million visits has 86,400 of them."""
    distinct, code = distinct_values(column)
    distinct = distinct.str.strip_chars()
    number = distinct.cast(pl.Int64, strict=False)
    clock = distinct.str.extract_groups(_CLOCK).struct.unnest()
    dated = distinct.str.extract_groups(_DATED).struct.unnest()
    day = dated["date"].str.to_date("%Y-%m-%d", strict=False).cast(pl.Int64) * 86_400
    zone = _integer(dated["zone_hour"]) * 3_600 + _integer(dated["zone_minute"]) * 60
    zone = zone * np.where((dated["sign"] == "-").fill_null(False).to_numpy(), -1, 1)
    parsed = pl.DataFrame(
        {
            "number": number,
            "clock": pl.select(pl.when(clock["hour"].is_not_null()).then(_clock_seconds(clock))).to_series(),
            "dated": day + _clock_seconds(dated),
            "zoned": dated["zone"].is_not_null(),
            "offset": zone.cast(pl.Int32),
        }
    ).select(
        wall=pl.coalesce("number", "clock", "dated", pl.lit(0, pl.Int64)),
        offset="offset",
        form=pl.when(pl.col("number").is_not_null())
        .then(pl.lit(int(Form.SECONDS)))
        .when(pl.col("clock").is_not_null())
        .then(pl.lit(int(Form.CLOCK)))
        .when(pl.col("dated").is_null())
        .then(pl.lit(int(Form.UNREADABLE)))
        .when("zoned")
        .then(pl.lit(int(Form.ZONED)))
        .otherwise(pl.lit(int(Form.LOCAL)))
        .cast(pl.UInt8),
    )
    missing = pl.DataFrame({"wall": 0, "offset": 0, "form": int(Form.MISSING)}, schema=parsed.schema)
    wall, offset, form = (series.to_numpy()[code] for series in pl.concat([parsed, missing]))
    return Times(wall, offset, form)


def _integer(text: pl.Series) -> pl.Series:
    return text.cast(pl.Int64).fill_null(0)


def _clock_seconds(parts: pl.DataFrame) -> pl.Series:
    return _integer(parts["hour"]) * 3_600 + _integer(parts["minute"]) * 60 + _integer(parts["second"])
