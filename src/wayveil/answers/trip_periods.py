"""Hours, days and weekdays of released trips, as far as their times tell them.

Times without a date lie on the first day of the timeline, or, where weekdays are known, on its first full week.
"""

from dataclasses import replace
from datetime import date
from typing import Any, Final, Literal, get_args

import numpy as np
import polars as pl

from wayveil.arrays import Ints
from wayveil.errors import ParameterError
from wayveil.trips.trips import UNDATED, Trips
from wayveil.world.timebins import DAY, HOUR

Period = Literal["hour", "day", "weekday"]
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FIRST_MONDAY: Final = 4 * DAY
# A trip may go on after midnight.
_UNDATED_DAY: Final = 2 * DAY


def require_periods(words: str | None) -> tuple[Period, ...]:
    """The words of a list such as `day,hour` as periods; any other is refused."""
    asked = [] if words is None else [word.strip() for word in words.split(",")]
    for word in asked:
        if word not in get_args(Period):
            raise ParameterError(f"answers are given by {', '.join(get_args(Period))}, not by {word!r}")
    return tuple(dict.fromkeys(asked))  # type: ignore[arg-type]


def periods(trips: Trips, visit: Ints, by: Period) -> Any:
    """The period of each of these visits: an hour of the clock, a date, or a weekday."""
    if trips.time is None:
        raise ParameterError(f"these trips have no times, so nothing is known by {by}")
    time = trips.time[visit]
    latest = int(trips.time.max(initial=0))
    if by == "hour":
        return time % DAY // HOUR
    if by == "weekday":
        if latest < _UNDATED_DAY:
            raise ParameterError(
                "these trips have hours and no weekdays; weave keeps weekdays with --set period=week"
            )
        return pl.Series(np.asarray(WEEKDAYS)[(time // DAY + 3) % 7].tolist(), dtype=pl.String)
    if latest < UNDATED:
        raise ParameterError("these trips have no dates: what was released are hours, of a day or of a week")
    return pl.Series(time // DAY).cast(pl.Int32).cast(pl.Date)


def is_dated(trips: Trips) -> bool:
    """Tell whether times have a date, and not only an hour or a weekday."""
    return trips.time is not None and int(trips.time.max(initial=0)) >= UNDATED


def has_weekdays_only(trips: Trips) -> bool:
    """Tell whether times have weekdays and no dates."""
    return trips.time is not None and _UNDATED_DAY <= int(trips.time.max(initial=0)) < UNDATED


def put_on_date(trips: Trips, day: date) -> Trips:
    """Trips without a date on this one; where they have weekdays, in the week that it belongs to."""
    if trips.time is None or is_dated(trips):
        return trips
    start = (day - date(1970, 1, 1)).days * DAY
    if has_weekdays_only(trips):
        start -= day.weekday() * DAY + FIRST_MONDAY
    return replace(trips, time=trips.time + start)
