"""The next hop from noisy tables: by where the destination lies, refined by zone where a zone has been seen enough."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from wayveil.arrays import Floats, Ints
from wayveil.world.grid_moves import DIRECTIONS, DISTANCES, MOVES, SECTORS, GridMoves

# How strongly the table of a zone is drawn to that of the city: so many deviations of its noise.
BACK_OFF = 2.0


@dataclass(frozen=True)
class HopContexts:
    """The public cells of both tables: `city` (distance, sector, move) and `zones` (zone, sector, move)."""

    moves: GridMoves
    zone_bits: int

    @property
    def city_cells(self) -> int:
        return len(DISTANCES) * SECTORS * MOVES

    @property
    def zone_cells(self) -> int:
        return (1 << self.zone_bits) * SECTORS * MOVES

    def city_context(self, here: Ints, to: Ints) -> Ints:
        return self.moves.distance_class(here, to) * SECTORS + self.moves.sector(here, to)

    def zone_context(self, here: Ints, to: Ints) -> Ints:
        return self.moves.zones.zone(here, self.zone_bits) * SECTORS + self.moves.sector(here, to)

    def city(self, here: Ints, then: Ints, to: Ints) -> Ints:
        """The cell of each hop in the table of the city; -1 for a hop that is no move, or goes nowhere."""
        return self._cell(self.city_context(here, to), here, then, to)

    def zones(self, here: Ints, then: Ints, to: Ints) -> Ints:
        return self._cell(self.zone_context(here, to), here, then, to)

    def _cell(self, context: Ints, here: Ints, then: Ints, to: Ints) -> Ints:
        move = self.moves.move(here, then)
        return np.where((move >= 0) & (here != to), context * MOVES + move, -1)


@dataclass(frozen=True, eq=False)
class HopTables:
    """Noisy weights of both tables, in trips, and the standard deviations of their noise."""

    contexts: HopContexts
    city: Floats
    zones: Floats
    city_noise: float
    zone_noise: float

    @cached_property
    def _chances(self) -> tuple[Floats, Floats, Floats]:
        """Chances of the city's table; weights of the zones' table; and the pull of the city on each row of it."""
        prior = straight_on(SECTORS)
        city = np.maximum(self.city.reshape(-1, MOVES), 0)
        pull = BACK_OFF * self.city_noise * np.sqrt(MOVES)
        rows = np.tile(prior, (len(city) // SECTORS, 1))
        chances = (city + pull * rows) / (city.sum(axis=1, keepdims=True) + pull)
        zones = np.maximum(self.zones.reshape(-1, MOVES), 0)
        return chances, zones, np.full(len(zones), BACK_OFF * self.zone_noise * np.sqrt(MOVES))

    def chances(self, here: Ints, to: Ints, hour: Ints) -> Floats:
        """Probabilities of the eight moves; the tables do not know of hours."""
        city, zones, pull = self._chances
        own = zones[self.contexts.zone_context(here, to)]
        all_over = city[self.contexts.city_context(here, to)]
        strength = pull[0]
        mixed = (own + strength * all_over) / (own.sum(axis=1, keepdims=True) + strength)
        # Next to the destination its own cell is known better by distance than by zone.
        near = self.contexts.moves.moves_to(here, to) <= 1
        return np.where(near[:, None], all_over, mixed)

    def rows(self) -> list[pl.DataFrame]:
        """The noisy numbers, for the table of a model."""
        return [
            pl.DataFrame({"part": part, "cell": np.arange(len(values)), "value": values})
            for part, values in (("city hops", self.city), ("zone hops", self.zones))
        ]


def straight_on(sectors: int) -> Floats:
    """Return what public knowledge says of the next move: rather towards the destination than away from it."""
    towards = np.arange(sectors) * 2 * np.pi / sectors
    move = np.arctan2(DIRECTIONS[:, 0], DIRECTIONS[:, 1])
    weight = np.exp(4 * np.cos(towards[:, None] - move[None, :]))
    return weight / weight.sum(axis=1, keepdims=True)
