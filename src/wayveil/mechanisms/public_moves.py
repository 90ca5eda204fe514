"""The moves that a mechanism takes for possible."""

from dataclasses import dataclass

from wayveil.errors import ParameterError
from wayveil.mechanisms.time_axis import time_bins
from wayveil.world.successors import CompleteSuccessors, Successors
from wayveil.world.timebins import TimeBins
from wayveil.world.timed import Later, TimedAlphabet
from wayveil.world.world import World


def public_successors(world: World, which: str) -> Successors:
    """Those of the `network`, `all`, or with `auto` those of the network where there is one."""
    if which == "network" and not world.restricts_moves:
        raise ParameterError("successors='network' needs a world with a network; this one is a plain list")
    return CompleteSuccessors(world.size) if which == "all" else world.successors


@dataclass(frozen=True, eq=False)
class PublicSymbols:
    """What n-grams are made of: locations, or pairs of location and public time bin; and what may follow what.

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
