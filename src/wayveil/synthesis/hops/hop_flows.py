"""Streets of a city that walks follow: how much more each single move is made than walks would make it by themselves.

The chances of hops know zones and directions, not streets. A noisy table of moves by cell says where people really go.
Walks are drawn, held against that table, and moves that are made too rarely become likelier; a few times over. How far
a move is believed follows from what walks put there and from the noise, so that empty cells stay as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.synthesis.hops.ends import NoisyEnds
from wayveil.synthesis.hops.walking import MoveChances, walks
from wayveil.world.grid_moves import MOVES, GridMoves

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ROUNDS, FEWEST_WALKERS, MOST_WALKERS = 5, 4_000, 30_000
# A round changes chances by this power of what was found, and never by more than a factor.
STEP, MOST = 0.7, 4.0
# A cell is drawn to the average of the city by so many deviations of its noise, and never farther from it than this
# (natural logarithm).
BACK_OFF, FARTHEST = 2.0, 2.5
# Factors of all rounds together stay between one over this and this.
WIDEST = 30.0


def flow_cells(moves: GridMoves) -> tuple[Callable[[Ints, Ints, Ints], Ints], int]:
    """The public cells of the table: one per cell of the grid and move; and how many there are."""

    def cells(here: Ints, then: Ints, to: Ints) -> Ints:
        move = moves.move(here, then)
        return np.where((move >= 0) & (here != to), here * MOVES + move, -1)

    return cells, moves.grid.size * MOVES


@dataclass(frozen=True, eq=False)
class Flows:
    """Noisy weights of moves by cell, in trips, and the standard deviation of their noise."""

    weight: Floats
    noise: float

    def rows(self) -> list[pl.DataFrame]:
        """The noisy numbers, for the table of a model."""
        return [pl.DataFrame({"part": "flows", "cell": np.arange(len(self.weight)), "value": self.weight})]

    def shares(self, moves: GridMoves) -> NDArray[np.float32]:
        """Return how much oftener each move is made at a cell than in the whole city, as a logarithm: the streets.

        A cell with little beside its noise is taken for the city's average.
        """
        weight = np.where(moves.neighbours >= 0, np.maximum(self.weight.reshape(-1, MOVES), 0), 0.0)
        city = (weight.sum(axis=0) + 1e-9) / (weight.sum() + MOVES * 1e-9)
        pull = BACK_OFF * self.noise * np.sqrt(MOVES)
        share = (weight + pull * city) / np.maximum(weight.sum(axis=1, keepdims=True) + pull, 1e-9)
        return np.clip(np.log(np.maximum(share / city, 1e-9)), -FARTHEST, FARTHEST).astype(np.float32)

    def learn(self, moves: GridMoves, ends: NoisyEnds, trips: float, chances: MoveChances) -> Floats:
        """A factor for every move of every cell. Post-processing with a public seed."""
        factor, rng = np.ones((moves.grid.size, MOVES)), np.random.default_rng(0)
        cells, size = flow_cells(moves)
        walkers = int(np.clip(trips, FEWEST_WALKERS, MOST_WALKERS))
        wanted = self.weight.reshape(-1, MOVES)
        for _ in range(ROUNDS):
            origin, destination, hour = ends.draw(moves, walkers, rng)
            made, offsets = walks(moves, origin, destination, hour, followed(chances, factor), rng)
            hops = np.diff(offsets) - 1
            at = np.ones(len(made), bool)
            at[offsets[1:] - 1] = False
            first = np.flatnonzero(at)
            cell = cells(
                made[first].astype(np.int64), made[first + 1].astype(np.int64), np.repeat(destination, hops)
            )
            each = np.repeat(trips / walkers / np.maximum(hops, 1), hops)
            drawn = np.bincount(cell, each, size).reshape(-1, MOVES)
            more = 1 + (wanted - drawn) * drawn / (drawn**2 + self.noise**2)
            factor = np.clip(factor * np.clip(more, 1 / MOST, MOST) ** STEP, 1 / WIDEST, WIDEST)
        return factor


def followed(chances: MoveChances, factor: Floats) -> MoveChances:
    """Chances of moves, those of every cell multiplied by their factors."""

    def both(here: Ints, to: Ints, hour: Ints) -> Floats:
        chance = chances(here, to, hour)
        chance *= factor[here]
        return chance

    return both
