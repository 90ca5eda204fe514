"""The public time bins that timed mechanisms take as a parameter."""

from typing import Annotated

from pydantic import AfterValidator, Field

from wayveil.errors import ParameterError
from wayveil.world.timebins import DAY, HOUR, TimeBins


def time_bins(axis: str) -> TimeBins:
    """The bins behind a name: `hour-of-day`, `hour-of-week`, minutes of the day, or the clock times between bins."""
    if axis == "hour-of-day":
        return TimeBins.hour_of_day()
    if axis == "hour-of-week":
        return TimeBins.hour_of_week()
    if axis.isdigit():
        return TimeBins.every(int(axis) * 60, period=DAY)
    cuts = [_seconds(part) for part in axis.split(",")]
    return TimeBins([0, *(cut for cut in cuts if cut), DAY])


def _seconds(clock: str) -> int:
    hours, _, minutes = clock.strip().partition(":")
    if not (hours.isdigit() and minutes.isdigit() and int(hours) < 24 and int(minutes) < 60):
        raise ValueError(f"a bin begins at a time of the day such as 07:30, not at {clock.strip()!r}")
    return int(hours) * HOUR + int(minutes) * 60


def _check(axis: str) -> str:
    if ":" in axis:
        try:
            time_bins(axis)
        except ParameterError as error:
            raise ValueError(str(error)) from error
        return axis
    named = axis in ("hour-of-day", "hour-of-week")
    if not named and not (axis.isdigit() and int(axis) > 0 and DAY % (int(axis) * 60) == 0):
        raise ValueError(
            f"must be hour-of-day, hour-of-week, minutes that divide a day, or times of the day at which bins begin "
            f"(07:00,09:30,16:00), not {axis!r}"
        )
    return axis


OptionalTimeAxis = Annotated[
    str | None,
    AfterValidator(lambda axis: None if axis is None else _check(axis)),
    Field(
        description="With time bins, n-grams are over pairs of stop and bin, and time never runs backwards; as for "
        "timed trees: `hour-of-day`, `hour-of-week`, minutes, or times of the day. none: over stops."
    ),
]
TimeAxis = Annotated[
    str,
    AfterValidator(_check),
    Field(
        description="Time bins: `hour-of-day`, `hour-of-week`, a number of minutes that divides a day, or the times "
        "of the day at which bins begin (`07:00,09:30,16:00`)."
    ),
]
