"""The engine `memory`: exact counts of trips that are held in memory, with arrays and compiled loops."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from wayveil.counting.counter import Counter
from wayveil.counting.hops import end_examples, hop_examples
from wayveil.counting.levels import Start, WeightedWalk
from wayveil.counting.protocol import Frontier, LevelCounter
from wayveil.counting.tally import WORKERS, Count, of_one_weight, total
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.training import Examples
from wayveil.privacy.units import Unit
from wayveil.privacy.weights import PARTS
from wayveil.trips.trips import Trips

# Visits counted at a time.
PIECE = 1 << 18
# Fewer trips than this are not worth a thread of their own.
TRIPS_PER_THREAD = 100_000

Result = TypeVar("Result")


class LocalCounter(Counter):
    """Counts one bounded dataset held in memory."""

    def __init__(self, trips: Trips) -> None:
        self.world = trips.world
        self.timed = trips.time is not None
        self.weighted = trips.weight is not None
        self._trips = trips

    def total(self, count: Count) -> SparseCounts:
        pieces = 1 + self._trips.visits // PIECE
        # Threads cost more than a few pieces do, and a table of a large universe more than a piece.
        workers = WORKERS if pieces > 2 * WORKERS else 1
        return total(count, pieces_of(self._trips, PIECE), self._trips.visits, workers)

    def levels(self, start: Start) -> "LocalLevels":
        threads = max(1, min(WORKERS, len(self._trips) // TRIPS_PER_THREAD))
        if not self.weighted:
            return LocalLevels(start.shares(self._trips, threads), threads)
        walks = [
            WeightedWalk(walk, weight)
            for weight, alike in of_one_weight(self._trips)
            for walk in start.shares(alike, threads)
        ]
        return LocalLevels(walks, threads, PARTS)

    def hop_examples(self, unit: Unit) -> Examples:
        return hop_examples(self._trips, unit)

    def end_examples(self, unit: Unit) -> Examples:
        return end_examples(self._trips, unit)


class LocalLevels:
    """A tree walked by the trips of each core."""

    def __init__(self, walks: Sequence[LevelCounter], threads: int, parts: int | None = None) -> None:
        self._walks, self._parts = walks, parts
        self._pool = ThreadPoolExecutor(threads)

    def count(self, frontier: Frontier) -> SparseCounts:
        found = self._all(lambda walk: walk.count(frontier))
        if len(found) == 1:
            return found[0]
        keys = np.concatenate([np.zeros(0, np.int64), *(part.keys for part in found)])
        times = np.concatenate([np.zeros(0, np.int64), *(part.counts for part in found)])
        return SparseCounts.of_keys(frontier.universe, keys, times, self._parts)

    def descend(self, kept: NDArray[np.int64]) -> None:
        self._all(lambda walk: walk.descend(kept))

    def _all(self, work: Callable[[LevelCounter], Result]) -> list[Result]:
        if len(self._walks) == 1:
            return [work(self._walks[0])]
        return list(self._pool.map(work, self._walks))


def pieces_of(trips: Trips, visits: int) -> Iterator[Trips]:
    """The trips in pieces of about so many visits."""
    cuts = np.searchsorted(trips.offsets, np.arange(0, trips.visits + visits, visits), side="left")
    cuts = np.unique(np.append(np.minimum(cuts, len(trips)), [0, len(trips)]))
    for first, last in pairwise(cuts.tolist()):
        yield trips.part(first, last)
