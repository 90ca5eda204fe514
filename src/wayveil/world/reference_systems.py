"""Reference systems: square grids of doubling size over a world, so that a slow and a fast move are both one step.

System i has cells of `metres` x 2^i. A move between two places is a step of the finest system in which their cells are
the same or neighbours (He et al. 2015). All of it is public: boxes, sizes and cells come from the world alone.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wayveil.arrays import AnyInts, Int32s, Ints
from wayveil.errors import ParameterError
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.walk_blocks import Walks
from wayveil.world.world import World

# Steps: row offset and column offset of each of the nine directions; 0 stays.
STEPS = np.array([(0, 0), (-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)], np.int64)
DIRECTIONS = len(STEPS)
MOST_CELLS = 20_000_000


@dataclass(frozen=True, eq=False)
class Events:
    """Events of walks, one after the other: a step, a change of system, or the end.

    cell    where it happens, numbered over all systems; symbol: see `ReferenceSystems`
    walk    the walk it belongs to
    """

    cell: Ints
    symbol: Ints
    walk: Ints


class ReferenceSystems:
    """The grids of a world.

    Cells of all systems are numbered one system after the other, `first[i]` being the first of system i. A symbol is a
    direction (0..8), a change to system i (9 + i), or the end (9 + systems).
    """

    def __init__(self, world: World, metres: float, systems: int) -> None:
        if not isinstance(world, Network):
            raise ParameterError("reference systems need coordinates; this world is a plain list")
        east, north = project(world.lat, world.lon)
        east, north = east - east.min(), north - north.min()
        self.metres, self.systems = metres, systems
        self.wide, self.row, self.column = [], [], []
        sizes = []
        for system in range(systems):
            side = metres * 2**system
            column, row = (np.floor(axis / side).astype(np.int64) for axis in (east, north))
            self.wide.append(int(column.max()) + 1)
            sizes.append((int(row.max()) + 1) * self.wide[-1])
            self.row.append(row)
            self.column.append(column)
        self.first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        if self.first[-1] > MOST_CELLS:
            raise ParameterError(f"{self.first[-1]:,} cells are too many; make the finest cells larger")

    @property
    def cells(self) -> int:
        """Cells of all systems together."""
        return int(self.first[-1])

    @property
    def end(self) -> int:
        """The symbol of the end."""
        return DIRECTIONS + self.systems

    @property
    def symbols(self) -> int:
        return self.end + 1

    @cached_property
    def place(self) -> Ints:
        """The cell of every location (column) in every system (row)."""
        return np.stack(
            [
                first + row * wide + column
                for first, row, wide, column in zip(
                    self.first[:-1], self.row, self.wide, self.column, strict=True
                )
            ]
        )

    def step(self, cell: Ints, direction: Ints) -> Ints:
        """The cell that a step leads to, -1 outside the grid."""
        system = np.searchsorted(self.first, cell, side="right") - 1
        wide = np.asarray(self.wide)[system]
        high = np.diff(self.first)[system] // wide
        row, column = np.divmod(cell - self.first[system], wide)
        row, column = row + STEPS[direction, 0], column + STEPS[direction, 1]
        inside = (row >= 0) & (row < high) & (column >= 0) & (column < wide)
        return np.where(inside, self.first[system] + row * wide + column, -1)

    def natural(self, source: AnyInts, target: AnyInts, finest: int) -> Ints:
        """The finest system, from `finest` on, in which a move is one step; -1 if there is none."""
        found = np.full(len(source), -1, np.int64)
        for system in range(self.systems - 1, finest - 1, -1):
            near = np.abs(self.row[system][target] - self.row[system][source]) <= 1
            near &= np.abs(self.column[system][target] - self.column[system][source]) <= 1
            found[near] = system
        return found

    def moves(self, walks: Walks, finest: int) -> tuple[Ints, Ints]:
        """The system of every move, and the walk of every move; a walk ends before a move that no system has."""
        at = walks.moves
        walk = np.repeat(np.arange(len(walks)), np.diff(walks.offsets))[at]
        system = self.natural(walks.location[at], walks.location[at + 1], finest)
        bad = np.flatnonzero(system < 0)
        cut = np.full(len(walks), len(at))
        np.minimum.at(cut, walk[bad], bad)
        return np.where(np.arange(len(at)) < cut[walk], system, -1), walk

    def events(self, walks: Walks, finest: int) -> Events:
        """Everything that the walks do, in order."""
        visits = len(walks.location)
        walk = np.repeat(np.arange(len(walks)), np.diff(walks.offsets))
        after = np.full(visits, -1, np.int64)
        after[walks.moves] = self.moves(walks, finest)[0]
        before = np.full(visits, -1, np.int64)
        before[walks.moves + 1] = after[walks.moves]
        opening = np.zeros(visits, bool)
        opening[walks.offsets[:-1]] = True
        here = opening | (before >= 0)  # visits behind a move that no system has are not there
        # The system of the visit: of the move that led to it, at the opening of the one that follows.
        system = np.where(before >= 0, before, np.where(after >= 0, after, finest))
        changes = here & ~opening & (after >= 0) & (after != system)
        visit = np.repeat(np.arange(visits), here.astype(np.int64) + changes)
        second = np.zeros(len(visit), bool)
        second[1:] = visit[1:] == visit[:-1]
        first = changes[visit] & ~second
        stays = np.where(first, system[visit], np.where(after[visit] >= 0, after[visit], system[visit]))
        symbol = np.full(len(visit), self.end, np.int64)
        symbol[first] = DIRECTIONS + after[visit[first]]
        steps = ~first & (after[visit] >= 0)
        symbol[steps] = self._direction(walks.location, visit[steps], after[visit[steps]])
        return Events(self.place[stays, walks.location[visit]], symbol, walk[visit])

    def _direction(self, location: Int32s, visit: Ints, system: Ints) -> Ints:
        row, column = np.stack(self.row), np.stack(self.column)
        a, b = location[visit], location[visit + 1]
        down, right = row[system, b] - row[system, a], column[system, b] - column[system, a]
        code = np.full(9, 0, np.int64)
        code[(STEPS[:, 0] + 1) * 3 + STEPS[:, 1] + 1] = np.arange(DIRECTIONS)
        return code[(down + 1) * 3 + right + 1]
