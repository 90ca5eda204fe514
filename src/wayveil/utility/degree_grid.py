"""A public grid over the box of a network: which cell does each stop lie in?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.tracks import public_box
from wayveil.trips.trips import Trips
from wayveil.world.geo import BoundingBox
from wayveil.world.network import Network
from wayveil.world.world import World


@dataclass(frozen=True)
class DegreeGrid:
    """`side` x `side` cells of equal width and height in degrees, numbered row by row from the south-west."""

    side: int

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.side * self.side

    def cells(self, network: Network) -> NDArray[np.int32]:
        """The cell of each stop; stops on the outer border belong to the outer cells."""
        return self.cells_at(network.lat, network.lon, public_box(network))

    def cells_at(
        self, lat: NDArray[np.float64], lon: NDArray[np.float64], box: BoundingBox
    ) -> NDArray[np.int32]:
        """The cell of each point of a box."""

        def steps(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.int32]:
            return np.clip((values - low) / (high - low) * self.side, 0, self.side - 1).astype(np.int32)

        return steps(lat, box.south, box.north) * np.int32(self.side) + steps(lon, box.west, box.east)

    def world(self) -> World:
        """The cells as a plain universe."""
        return World.of_symbols([f"{cell:0{len(str(self.size))}d}" for cell in range(self.size)])

    def over(self, trips: Trips, network: Network) -> Trips:
        """The trips as sequences of cells, consecutive visits to one cell merged."""
        return Trips(self.cells(network)[trips.location], trips.offsets, self.world()).merged()
