"""Where trips begin and end and when, and the streets that walks follow between.

Streets of a city that walks follow: how much more each single move is made than walks would make it by themselves.

The chances of hops know zones and directions, not streets. A noisy table of moves by cell says where people really go.
Walks are drawn, held against that table, and moves that are made too rarely become likelier; a few times over. How far
a move is believed follows from what walks put there and from the noise, so that empty cells stay as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.synthesis.hops.walking import MoveChances, walks
from wayveil.synthesis.projection import onto_total
from wayveil.world.grid_moves import MOVES, GridMoves
from wayveil.world.zones import take_apart

HOURS = 24


@dataclass(frozen=True, eq=False)
class NoisyEnds:
    """Noisy trips per leaf (of pair codes from `starts[i]` up to the next) and per zone of origin and hour.

    Times are unknown where `hours` is none.
    """

    starts: Ints
    leaves: Ints
    hours: Ints | None
    zone_bits: int

    def draw(self, moves: GridMoves, trips: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
        """Origins, destinations and hours: a leaf by its count, a pair uniformly in it, an hour of its zone."""
        zones = moves.zones
        ends = np.append(self.starts[1:], np.int64(1) << (2 * zones.depth))
        first, size = leaf_boxes(self.starts, ends, zones.depth)
        slots = [
            np.searchsorted(zones.code[zones.order], np.stack([first[side], first[side] + size]))
            for side in (0, 1)
        ]
        room = [slot[1] - slot[0] for slot in slots]
        weight = np.where((room[0] > 0) & (room[1] > 0), onto_total(self.leaves, float(trips)), 0.0)
        # A leaf that is one cell to itself holds no trip.
        weight[(room[0] == 1) & (room[1] == 1) & (first[0] == first[1])] = 0.0
        if weight.sum() <= 0:
            weight = (room[0] * room[1]).astype(np.float64)
        leaf = rng.choice(len(weight), trips, p=weight / weight.sum())
        origin, destination = (
            zones.order[slot[0][leaf] + (rng.random(trips) * side[leaf]).astype(np.int64)]
            for slot, side in zip(slots, room, strict=True)
        )
        # Nobody travels to where they are: such pairs of a leaf are drawn again, a few times.
        for _ in range(20):
            same = np.flatnonzero(origin == destination)
            if len(same) == 0:
                break
            again = slots[1][0][leaf[same]] + (rng.random(len(same)) * room[1][leaf[same]]).astype(np.int64)
            destination[same] = zones.order[again]
        return origin, destination, self._hours(moves, origin, rng)

    def _hours(self, moves: GridMoves, origin: Ints, rng: np.random.Generator) -> Ints:
        if self.hours is None:
            return np.zeros(len(origin), np.int64)
        table = np.maximum(self.hours.reshape(-1, HOURS), 0).astype(np.float64)
        all_day = np.maximum(self.hours.reshape(-1, HOURS).sum(axis=0), 0) + 1e-9
        # A zone that noise has left empty has the hours of the city.
        table = np.where(table.sum(axis=1, keepdims=True) > 0, table, all_day)
        steps = np.cumsum(table, axis=1) / table.sum(axis=1, keepdims=True)
        zone = moves.zones.zone(origin, self.zone_bits)
        return (rng.random(len(origin))[:, None] >= steps[zone]).sum(axis=1).clip(0, HOURS - 1)

    def rows(self) -> list[pl.DataFrame]:
        """The noisy numbers, for the table of a model."""
        made = [pl.DataFrame({"part": "ends", "cell": self.starts, "value": self.leaves.astype(np.float64)})]
        if self.hours is not None:
            cell = np.arange(len(self.hours))
            made.append(pl.DataFrame({"part": "hours", "cell": cell, "value": self.hours.astype(np.float64)}))
        return made


def leaf_boxes(starts: Ints, ends: Ints, depth: int) -> tuple[tuple[Ints, Ints], Ints]:
    """First code of both ends of each leaf, and how many codes each end has."""
    size = np.rint(np.sqrt((ends - starts).astype(np.float64))).astype(np.int64)
    return take_apart(starts, depth), size


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
