"""The public time bins that timed mechanisms take as a parameter."""

from typing import Annotated

from pydantic import AfterValidator, Field

from wayveil.world.timebins import DAY, TimeBins


def time_bins(axis: str) -> TimeBins:
    """The bins behind a name: `hour-of-day`, `hour-of-week`, or a number of minutes of the day."""
    if axis == "hour-of-day":
        return TimeBins.hour_of_day()
    if axis == "hour-of-week":
        return TimeBins.hour_of_week()
    return TimeBins.every(int(axis) * 60, period=DAY)


def _check(axis: str) -> str:
    named = axis in ("hour-of-day", "hour-of-week")
    if not named and not (axis.isdigit() and int(axis) > 0 and DAY % (int(axis) * 60) == 0):
        raise ValueError(f"must be hour-of-day, hour-of-week or minutes that divide a day, not {axis!r}")
    return axis


TimeAxis = Annotated[
    str,
    AfterValidator(_check),
    Field(description="Time bins: `hour-of-day`, `hour-of-week`, or a number of minutes that divides a day."),
]
