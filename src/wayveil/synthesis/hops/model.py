"""The private model of `od-hops` and `dp-loc`: ends, a knowledge of hops, and how to walk."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.synthesis.hops.ends import Ends
from wayveil.synthesis.hops.walking import best_ways, timed, walks
from wayveil.synthesis.model import Model
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import GridMoves

Ints = NDArray[np.int64]


class KnowsHops(Protocol):
    """Anything that gives the eight moves their probabilities."""

    def chances(self, here: Ints, to: Ints, hour: Ints) -> NDArray[np.float64]: ...

    def rows(self) -> list[pl.DataFrame]: ...


@dataclass(frozen=True, eq=False)
class HopTripsModel(Model):
    """Where from and to, and which hop next; all of it noisy already."""

    world: Grid
    trips: float
    ends: Ends
    knows: KnowsHops
    way: Literal["walk", "shortest"] = "walk"

    @cached_property
    def moves(self) -> GridMoves:
        return GridMoves(self.world)

    def generate(self, seed: int | None = None) -> Trips:
        """As many trips as the noisy number says; with times where hours were measured."""
        rng = np.random.default_rng(seed)
        count = max(round(self.trips), 1)
        origin, destination, hour = self.ends.draw(self.moves, count, rng)
        if self.way == "walk":
            location, offsets = walks(self.moves, origin, destination, hour, self.knows.chances, rng)
        else:
            location, offsets = best_ways(self.moves, origin, destination, hour, self.knows.chances)
        if self.ends.hours is None:
            return Trips(location, offsets, self.world)
        return timed(self.moves, location, offsets, hour, rng)

    def hops(self, here: Ints, to: Ints, hour: Ints) -> tuple[Ints, NDArray[np.float64]]:
        """Candidates for the next place and their probabilities, for next-hop figures."""
        places = self.moves.neighbours[here].astype(np.int64)
        chance = np.where(places >= 0, self.knows.chances(here, to, hour), 0.0)
        return places, chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)

    def table(self) -> pl.DataFrame:
        """Every noisy number: its part, its public cell, its value."""
        number = pl.DataFrame({"part": ["trips"], "cell": [0], "value": [float(self.trips)]})
        parts = [number, *self.ends.rows(), *self.knows.rows()]
        return pl.concat([part.cast({"cell": pl.Int64, "value": pl.Float64}) for part in parts])
