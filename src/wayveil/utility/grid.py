"""A public grid over the box of a network: which cell does each stop lie in?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.world import World


@dataclass(frozen=True)
class Grid:
    """`side` x `side` cells of equal width and height in degrees, numbered row by row from the south-west."""

    side: int

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.side * self.side

    def cells(self, network: Network) -> NDArray[np.int32]:
        """The cell of each stop; stops on the outer border belong to the outer cells."""

        def steps(values: NDArray[np.float64]) -> NDArray[np.int32]:
            span = max(float(np.ptp(values)), 1e-12)
            return np.minimum((values - values.min()) / span * self.side, self.side - 1).astype(np.int32)

        return steps(network.lat) * np.int32(self.side) + steps(network.lon)

    def world(self) -> World:
        """The cells as a plain universe."""
        return World.of_symbols([f"{cell:0{len(str(self.size))}d}" for cell in range(self.size)])

    def over(self, trips: Trips, network: Network) -> Trips:
        """The trips as sequences of cells, consecutive visits to one cell merged."""
        return Trips(self.cells(network)[trips.location], trips.offsets, self.world()).merged()
