"""The private models of `od-hops` and `dp-loc`: ends, a knowledge of hops, and how to walk."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
import polars as pl

from wayveil.arrays import Floats, Ints
from wayveil.synthesis.hops.ends import Flows, NoisyEnds, followed
from wayveil.synthesis.hops.hop_net import HopNet
from wayveil.synthesis.hops.hop_tables import HopContexts, HopTables
from wayveil.synthesis.hops.walking import MoveChances, best_ways, timed, walks
from wayveil.synthesis.model import Model
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import GridMoves


class KnowsHops(Protocol):
    """Anything that gives the eight moves their probabilities."""

    def chances(self, here: Ints, to: Ints, hour: Ints) -> Floats: ...

    def rows(self) -> list[pl.DataFrame]: ...


@dataclass(frozen=True, eq=False)
class HopsModel(Model):
    """Where from and to, and how many trips; which hop is next is known in different ways."""

    world: Grid
    trips: float
    ends: NoisyEnds
    flows: Flows
    way: Literal["walk", "shortest"]

    @property
    @abstractmethod
    def knows(self) -> KnowsHops:
        """Return what is known of the next hop, but for single streets."""

    @cached_property
    def streets(self) -> Floats:
        """Return how much likelier each move of each cell is than that: the streets that people follow."""
        return self.flows.learn(self.moves, self.ends, self.trips, self.knows.chances)

    @property
    def chances(self) -> MoveChances:
        """Both together."""
        return followed(self.knows.chances, self.streets)

    @cached_property
    def moves(self) -> GridMoves:
        return GridMoves(self.world)

    def generate(self, seed: int | None = None) -> Trips:
        """Draw as many trips as the noisy number says; with times where hours were measured."""
        return self.draw(None, seed)

    def draw(self, trips: int | None = None, seed: int | None = None) -> Trips:
        """So many trips; None for as many as the noisy number says."""
        rng = np.random.default_rng(seed)
        count = max(round(self.trips), 1) if trips is None else trips
        origin, destination, hour = self.ends.draw(self.moves, count, rng)
        if self.way == "walk":
            location, offsets = walks(self.moves, origin, destination, hour, self.chances, rng)
        else:
            location, offsets = best_ways(self.moves, origin, destination, hour, self.chances)
        if self.ends.hours is None:
            return Trips(location, offsets, self.world)
        return timed(self.moves, location, offsets, hour, rng)

    def hops(self, here: Ints, to: Ints, hour: Ints) -> tuple[Ints, Floats]:
        """Candidates for the next place and their probabilities, for next-hop figures."""
        places = self.moves.neighbours[here].astype(np.int64)
        chance = np.where(places >= 0, self.chances(here, to, hour), 0.0)
        return places, chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)

    def table(self) -> pl.DataFrame:
        """Every noisy number: its part, its public cell, its value."""
        number = pl.DataFrame({"part": ["trips"], "cell": [0], "value": [float(self.trips)]})
        parts = [number, *self.ends.rows(), *self.flows.rows(), *self.knows.rows()]
        return pl.concat([part.cast({"cell": pl.Int64, "value": pl.Float64}) for part in parts])


@dataclass(frozen=True, eq=False)
class TableHopsModel(HopsModel):
    """Hops from two noisy tables, in trips; see `HopTables`."""

    zone_bits: int
    city: Floats
    zones: Floats
    city_noise: float
    zone_noise: float

    @cached_property
    def knows(self) -> HopTables:
        contexts = HopContexts(self.moves, self.zone_bits)
        return HopTables(contexts, self.city, self.zones, self.city_noise, self.zone_noise)


@dataclass(frozen=True, eq=False)
class NetHopsModel(HopsModel):
    """Hops from a trained network; see `HopNet`."""

    zone_bits: int
    hidden: int
    weights: tuple[Floats, ...]

    @cached_property
    def knows(self) -> HopNet:
        shares = self.flows.shares(self.moves)
        return HopNet(self.moves, shares, self.zone_bits, self.hidden, weights=list(self.weights))
