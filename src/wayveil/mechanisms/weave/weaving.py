"""Weave, once measured: draw plausible trips, weight them to explain the measurements, and sample those."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.departure_times import add_times
from wayveil.mechanisms.weave.on_list import weave_on_list
from wayveil.mechanisms.weave.on_network import weave_on_network
from wayveil.mechanisms.weave.support import Support
from wayveil.mechanisms.weave.support_fit import Diagnostics
from wayveil.synthesis.rounding import round_keeping_total
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.world import World
from wayveil.world.zones import Geography

if TYPE_CHECKING:
    from wayveil.mechanisms.weave.measurements import Measurements


@dataclass(frozen=True, eq=False)
class Woven:
    """A weighted support, ready to be sampled as often as one likes."""

    world: World
    support: Support
    weight: Floats
    times: int
    seconds_per_move: int
    diagnostics: Diagnostics

    @cached_property
    def order(self) -> Ints:
        """The trips of the support sorted by origin, destination and time: whole trips are drawn at equal steps along
        this order, so that likes stand in for each other and their numbers come out as the weights say.
        """
        walks, code = self.support.walks, Geography(self.world).places.code
        bins = np.zeros(len(walks)) if walks.bins is None else walks.bins
        return np.lexsort((walks.lengths, bins, code[walks.destination], code[walks.origin]))

    def sample(self, trips: int, rng: np.random.Generator) -> Trips:
        """Exactly so many trips, each of the support as often as its weight says, up to one, in random order."""
        share = self.weight / self.weight.sum()
        copies = round_keeping_total(share[self.order] * trips, rng)
        chosen = np.repeat(self.order, copies)
        missing = max(0, trips - len(chosen))  # rounding may be off by one
        chosen = rng.permutation(np.append(chosen, rng.choice(len(copies), missing, p=share)))[:trips]
        walks = self.support.walks
        plain = Trips(walks.location, walks.offsets, self.world).take(chosen)
        return (
            plain
            if walks.bins is None
            else add_times(plain, walks.bins[chosen], self.times, self.seconds_per_move, rng)
        )


def weave(measured: "Measurements", rng: np.random.Generator) -> Woven:
    """Fit a support to measurements. Reads nothing but noisy numbers and public facts."""
    world = measured.world
    if isinstance(world, Network):
        target, found = weave_on_network(measured, world, rng)
    else:
        target, found = weave_on_list(measured, rng)
    return Woven(
        world,
        found.support,
        found.fit.weight,
        measured.resolution.times,
        measured.settings.on_list.seconds_per_move,
        target.diagnose(found),
    )
