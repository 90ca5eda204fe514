"""Prefix trees over more trips than fit in memory: what trips have in common is kept, not the trips.

One pass over the trips groups those that stand at the same node and go on alike for the next dozen symbols. A dozen
levels are then counted on the groups. For levels below, trips walk again from the root through what was kept.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayveil.counting.levels import Prefixes, walk_down
from wayveil.counting.like_trips import group_alike
from wayveil.counting.prefixes import AHEAD, PrefixWalk
from wayveil.counting.protocol import Frontier
from wayveil.counting.tally import WORKERS, of_one_weight
from wayveil.privacy.questions import SparseCounts
from wayveil.trips.trips import Trips

# Groups in memory at a time; more of them lie on disk.
MOST_GROUPS = 8_000_000


class GroupedLevels:
    """A prefix tree, counted level by level."""

    def __init__(
        self,
        start: Prefixes,
        pieces: Callable[[], Iterable[Trips]],
        folder: Path,
        parts: int | None = None,
    ) -> None:
        self._start, self._pieces, self._folder, self._parts = start, pieces, folder, parts
        self._above: list[tuple[Frontier, NDArray[np.int64]]] = []
        self._frontier: Frontier | None = None
        self._tables: list[_Table] = []
        self._symbols_left = 0

    def count(self, frontier: Frontier) -> SparseCounts:
        if not self._symbols_left:
            self._regroup()
        self._symbols_left -= 1
        self._frontier = frontier
        found = [table.count(frontier) for table in self._tables]
        keys = np.concatenate([np.zeros(0, np.int64), *(part.keys for part in found)])
        times = np.concatenate([np.zeros(0, np.int64), *(part.counts for part in found)])
        return SparseCounts.of_keys(frontier.universe, keys, times, self._parts)

    def descend(self, kept: NDArray[np.int64]) -> None:
        if self._frontier is not None:
            self._above.append((self._frontier, kept))
        for table in self._tables:
            table.descend(kept)

    def _regroup(self) -> None:
        """One pass over the trips. Groups of one piece are merged with those before, while they fit."""
        for table in self._tables:
            table.drop()
        self._tables = []
        merged: PrefixWalk | None = None
        pieces = iter(self._pieces())
        with ThreadPoolExecutor(WORKERS) as pool:
            while batch := list(islice(pieces, WORKERS)):
                for walk in pool.map(self._grouped, batch):
                    merged = walk if merged is None else merge_groups([merged, walk])
                    if len(merged.sizes) > MOST_GROUPS:
                        self._keep(merged)
                        merged = None
        if merged is not None:
            self._keep(merged)
        self._symbols_left = AHEAD if self._start.encoding is None else self._start.encoding.width

    def _grouped(self, trips: Trips) -> PrefixWalk:
        if trips.weight is None:
            return self._walked(trips)
        parts = [self._walked(alike).weighing(weight) for weight, alike in of_one_weight(trips)]
        return merge_groups(parts) if parts else self._walked(trips)

    def _walked(self, trips: Trips) -> PrefixWalk:
        return walk_down(self._start.walk(trips), self._above).groups()

    def _keep(self, walk: PrefixWalk) -> None:
        """The first table stays in memory; later ones are put aside between levels."""
        path = self._folder / f"groups-{len(self._above)}-{len(self._tables)}.npz" if self._tables else None
        self._tables.append(_Table(walk, path))


class _Table:
    """Groups that walk as one piece, in memory or in a file while others walk."""

    def __init__(self, walk: PrefixWalk, path: Path | None) -> None:
        self._path = path
        self._walk: PrefixWalk | None = walk
        self._put_aside()

    def count(self, frontier: Frontier) -> SparseCounts:
        walk = self._take()
        found = walk.count(frontier)
        self._put_aside()
        return found

    def descend(self, kept: NDArray[np.int64]) -> None:
        self._take().descend(kept)
        self._put_aside()

    def drop(self) -> None:
        self._walk = None
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _take(self) -> PrefixWalk:
        if self._walk is None and self._path is not None:
            with np.load(self._path) as arrays:
                self._walk = PrefixWalk.of_arrays(dict(arrays))
        if self._walk is None:
            raise RuntimeError("these groups were dropped")
        return self._walk

    def _put_aside(self) -> None:
        if self._path is not None and self._walk is not None:
            np.savez(self._path, **self._walk.arrays())  # type: ignore[arg-type]
            self._walk = None


def merge_groups(walks: list[PrefixWalk]) -> PrefixWalk:
    """The groups of several pieces at the same level of one tree: equal ones become one."""
    node = np.concatenate([walk.nodes for walk in walks])
    size = np.concatenate([walk.sizes for walk in walks])
    symbols = np.concatenate([walk.symbols for walk in walks])
    width = symbols.shape[1]
    begin = np.arange(len(node), dtype=np.int64) * width
    group, first, _ = group_alike(node, symbols.ravel(), begin, begin + width, width)
    # Weighted sums are floats, exact below 2^53: no dataset has 2^33 trips, in parts of 2^20.
    together = np.bincount(group, size, len(first)).astype(np.int64)
    return PrefixWalk.of_groups(node[first], symbols[first], together)
