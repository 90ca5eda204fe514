"""Public time bins: where on a repeating day or week a moment falls.

Times are integer seconds of local wall time since 1970-01-01 00:00, which was a Thursday.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from wayveil.arrays import AnyInts, Int32s, Ints
from wayveil.errors import ParameterError

HOUR: Final = 3_600
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONDAY_BEFORE_EPOCH = 3 * DAY


class TimeBins:
    """Bins [edge_i, edge_i+1) that cover one period (a day or a week, or all of time when it does not repeat).

    A week begins on Monday 00:00. `start` and `end` are seconds since the beginning of the period.

    >>> wv.TimeBins.every(3600).count
    24
    """

    def __init__(self, edges: Sequence[int] | AnyInts, *, period: int | None = DAY) -> None:
        self.edges: Ints = np.asarray(edges, np.int64)
        self.period = period
        if period not in (None, DAY, WEEK):
            raise ParameterError(
                f"time bins repeat every day ({DAY} s), every week ({WEEK} s) or never, not {period}"
            )
        if self.edges.ndim != 1 or len(self.edges) < 2 or np.any(np.diff(self.edges) <= 0):
            raise ParameterError(
                "time bins need at least two edges, in seconds, each later than the one before"
            )
        if period is not None and (self.edges[0] != 0 or self.edges[-1] != period):
            raise ParameterError(
                f"edges of repeating time bins must go from 0 to {period}, so that every moment has a bin; "
                f"these go from {self.edges[0]} to {self.edges[-1]}"
            )

    @classmethod
    def hour_of_day(cls) -> "TimeBins":
        """24 bins."""
        return cls(np.arange(25) * HOUR)

    @classmethod
    def hour_of_week(cls) -> "TimeBins":
        """168 bins, from Monday 00:00."""
        return cls(np.arange(169) * HOUR, period=WEEK)

    @classmethod
    def every(cls, seconds: int, *, period: int = DAY) -> "TimeBins":
        """Equal bins of `seconds`, which must divide the period."""
        if seconds <= 0 or period % seconds:
            raise ParameterError(f"bins of {seconds} s do not divide a period of {period} s evenly")
        return cls(np.arange(period // seconds + 1) * seconds, period=period)

    @property
    def count(self) -> int:
        """Number of bins."""
        return len(self.edges) - 1

    @property
    def start(self) -> Ints:
        """First second of each bin."""
        return self.edges[:-1]

    @property
    def end(self) -> Ints:
        """The second after the last one of each bin."""
        return self.edges[1:]

    def bin_of(self, seconds: ArrayLike) -> Int32s:
        """The bin of each moment; -1 outside all bins, which can only be when the bins do not repeat."""
        moment = np.asarray(seconds, np.int64)
        if self.period is not None:
            moment = (moment + (_MONDAY_BEFORE_EPOCH if self.period == WEEK else 0)) % self.period
        found = np.searchsorted(self.edges, moment, side="right") - 1
        return np.where(found < self.count, found, -1).astype(np.int32)

    @property
    def labels(self) -> list[str]:
        """Return what to print for each bin: `08:00-09:00`, `Mon 08:00-09:00`, or seconds if bins do not repeat."""
        if self.period is None:
            return [f"{start}-{end} s" for start, end in zip(self.start, self.end, strict=True)]
        return [self._label(int(start), int(end)) for start, end in zip(self.start, self.end, strict=True)]

    def _label(self, start: int, end: int) -> str:
        if self.period == DAY:
            return f"{_clock(start)}-{_clock(end)}"
        day, moment = divmod(start, DAY)
        last_day, last = divmod(end, DAY)
        if last == 0:
            last_day, last = last_day - 1, DAY
        until = _clock(last) if last_day == day else f"{_DAYS[last_day]} {_clock(last)}"
        return f"{_DAYS[day]} {_clock(moment)}-{until}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TimeBins)
            and self.period == other.period
            and np.array_equal(self.edges, other.edges)
        )

    def __hash__(self) -> int:
        return hash((self.period, self.edges.tobytes()))

    def __repr__(self) -> str:
        return f"TimeBins({self.count} bins, period={self.period})"


def _clock(seconds: int) -> str:
    hours, rest = divmod(seconds, HOUR)
    minutes, rest = divmod(rest, 60)
    return f"{hours:02d}:{minutes:02d}" + (f":{rest:02d}" if rest else "")
