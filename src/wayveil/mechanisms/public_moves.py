"""The moves that a mechanism takes for possible."""

from wayveil.errors import ParameterError
from wayveil.world.successors import CompleteSuccessors, Successors
from wayveil.world.world import World


def public_successors(world: World, which: str) -> Successors:
    """Those of the `network`, `all`, or with `auto` those of the network where there is one."""
    if which == "network" and not world.restricts_moves:
        raise ParameterError("successors='network' needs a world with a network; this one is a plain list")
    return CompleteSuccessors(world.size) if which == "all" else world.successors
