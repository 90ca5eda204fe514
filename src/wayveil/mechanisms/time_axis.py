"""The public time bins and the public moves that mechanisms take as parameters."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from wayveil.errors import ParameterError
from wayveil.world.successors import CompleteSuccessors, Successors
from wayveil.world.timebins import DAY, HOUR, TimeBins
from wayveil.world.timed import Later, TimedAlphabet
from wayveil.world.world import World


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


def public_successors(world: World, which: str) -> Successors:
    """Those of the `network`, `all`, or with `auto` those of the network where there is one."""
    if which == "network" and not world.restricts_moves:
        raise ParameterError("successors='network' needs a world with a network; this one is a plain list")
    return CompleteSuccessors(world.size) if which == "all" else world.successors


@dataclass(frozen=True, eq=False)
class PublicSymbols:
    """Symbols that n-grams are made of: locations, or pairs of location and public time bin; and what may follow what.

    alphabet, bins   of pairs; None where symbols are locations
    """

    successors: Successors
    alphabet: TimedAlphabet | None = None
    bins: TimeBins | None = None

    @classmethod
    def of(cls, world: World, which: str, time: str | None) -> "PublicSymbols":
        """The symbols of a world, with the time axis that was asked for."""
        moves = public_successors(world, which)
        if time is None:
            return cls(moves)
        bins = time_bins(time)
        return cls(Later(moves, bins.count), TimedAlphabet(world, bins), bins)
