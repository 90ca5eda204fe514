"""Where trips begin and end, and when: leaves of a private partition of pairs, and hours by zone of origin."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.synthesis.projection import onto_total
from wayveil.world.grid_moves import GridMoves
from wayveil.world.zones import take_apart

Ints = NDArray[np.int64]
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
