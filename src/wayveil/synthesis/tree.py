"""A noisy prefix tree as arrays, and the trips that it describes."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.synthesis.consistency import Consistency, consistent_counts
from wayveil.synthesis.rounding import round_keeping_total
from wayveil.trips.trips import Trips
from wayveil.world.world import World

DEFAULT_CONSISTENCY = Consistency()


@dataclass(frozen=True, eq=False)
class TreeLevel:
    """The kept nodes of one depth: their parents (index into the level above), symbols and noisy counts."""

    parent: NDArray[np.int64]
    symbol: NDArray[np.int32]
    count: NDArray[np.int64]
    scale: Fraction
    threshold: int

    def __len__(self) -> int:
        return len(self.symbol)


@dataclass(frozen=True, eq=False)
class PrefixTree:
    """A released prefix tree. Node i of level l stands for the trips whose first l + 1 stops are its path.

    The root has no count: the number of trips is not known without paying for it, so it follows from level one.
    """

    world: World
    levels: tuple[TreeLevel, ...]
    consistency: Consistency = DEFAULT_CONSISTENCY

    @property
    def nodes(self) -> int:
        return sum(len(level) for level in self.levels)

    def consistent(self) -> list[NDArray[np.float64]]:
        """Non-negative counts in which no node has less than its children together."""
        return consistent_counts(
            [level.parent for level in self.levels], [level.count for level in self.levels], self.consistency
        )

    def generate(self, seed: int | None = None) -> Trips:
        """Trips with the tree's counts: each node ends as many trips as it has more than its children."""
        counts = self.consistent()
        ending = [count.copy() for count in counts]
        for depth in range(1, len(self.levels)):
            level = self.levels[depth]
            ending[depth - 1] -= np.bincount(level.parent, counts[depth], len(ending[depth - 1]))
        sizes = np.array([len(level) for level in self.levels], np.int64)
        mass = np.maximum(np.concatenate([np.zeros(0), *ending]), 0.0)
        copies = round_keeping_total(mass, np.random.default_rng(seed))
        depth_of = np.repeat(np.arange(len(sizes)), sizes)
        index = np.concatenate([np.zeros(0, np.int64), *(np.arange(size) for size in sizes)])
        ends = np.repeat(np.flatnonzero(copies), copies[copies > 0])
        return self._paths(depth_of[ends], index[ends])

    def _paths(self, depth: NDArray[np.int64], node: NDArray[np.int64]) -> Trips:
        """The prefixes of the given nodes, one trip each, written from their ends to their starts."""
        offsets = np.concatenate([[0], np.cumsum(depth + 1)]).astype(np.int64)
        location = np.empty(offsets[-1], np.int32)
        for at in range(len(self.levels) - 1, -1, -1):
            here = np.flatnonzero(depth >= at)
            location[offsets[here] + at] = self.levels[at].symbol[node[here]]
            node[here] = self.levels[at].parent[node[here]]
        return Trips(location, offsets, self.world)

    def table(self) -> pl.DataFrame:
        """One row per node: id, parent's id (0 = root), depth, stop, noisy and consistent count."""
        first = np.concatenate([[1], 1 + np.cumsum([len(level) for level in self.levels])])
        rows = []
        for depth, (level, consistent) in enumerate(zip(self.levels, self.consistent(), strict=True)):
            rows.append(
                pl.DataFrame(
                    {
                        "node": first[depth] + np.arange(len(level)),
                        "parent": level.parent + first[depth - 1]
                        if depth
                        else np.zeros(len(level), np.int64),
                        "depth": np.full(len(level), depth + 1, np.int64),
                        "stop_id": self.world.ids[level.symbol].tolist(),
                        "noisy_count": level.count,
                        "consistent_count": consistent,
                    },
                    schema_overrides={"stop_id": pl.String, "node": pl.Int64, "parent": pl.Int64},
                )
            )
        return pl.concat(rows)
