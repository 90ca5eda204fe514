"""Subsequence error by maximum length: the variant of the n-gram studies, with stops in a row.

For each maximum length 4, 8, 12, 16 and 20 there are 10,000 queries with lengths uniform in 1..maximum. The
published curve falls like one over the length by construction, because only the shortest queries have an
answer other than 0; so queries drawn from raw trips stand beside the uniform ones.
"""

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import Workload, relative_errors, sanity_bound, uniform_workload
from wayveil.utility.figures import Figures, Measure, check_comparable, check_not_empty
from wayveil.utility.items import Items
from wayveil.utility.window_trie import WindowTrie

MAX_LENGTHS = (4, 8, 12, 16, 20)
DEFAULT_QUERIES = 10_000


def window_workload(raw: Trips, count: int, max_length: int, rng: np.random.Generator) -> Workload:
    """Lengths uniform in 1..max_length (at most the longest trip); then a trip, uniform among those that are
    long enough, and a uniform window of it.
    """
    visits = raw.lengths
    lengths = rng.integers(1, min(max_length, int(visits.max())) + 1, count)
    rows = np.full((count, max_length), -1, np.int64)
    for length in np.unique(lengths):
        row = np.flatnonzero(lengths == length)
        trip = rng.choice(np.flatnonzero(visits >= length), len(row))
        start = raw.offsets[trip] + rng.integers(0, visits[trip] - length + 1)
        rows[row, :length] = raw.location[start[:, None] + np.arange(length)]
    return Workload("non-empty", rows, lengths)


class SubsequenceError(Figures):
    """Mean relative error of contiguous queries, per maximum length and workload; `seed` fixes the queries.

    An answer is the number of trips that contain the query; with `occurrences`, how often it occurs in them.
    """

    title = "Subsequences by maximum length"

    def __init__(
        self,
        raw: Trips,
        *,
        queries: int = DEFAULT_QUERIES,
        max_lengths: tuple[int, ...] = MAX_LENGTHS,
        seed: int = 0,
        occurrences: bool = False,
    ) -> None:
        check_not_empty(raw)
        if queries < 1 or not max_lengths or min(max_lengths) < 1:
            raise ParameterError("subsequence queries need at least one query and lengths of at least 1")
        self.raw, self.sanity, self.occurrences = raw, sanity_bound(raw), occurrences
        rng = np.random.default_rng(seed)
        items = Items(raw.world)
        self.works: list[tuple[int, Workload]] = []
        for longest in max_lengths:
            self.works.append((longest, window_workload(raw, queries, longest, rng)))
            self.works.append((longest, uniform_workload(items, queries, longest, rng)))
        wide = max(max_lengths)
        padded = [
            np.pad(w.items, ((0, 0), (0, wide - w.items.shape[1])), constant_values=-1) for _, w in self.works
        ]
        self.trie = WindowTrie.of(np.concatenate(padded), np.concatenate([w.lengths for _, w in self.works]))
        self.true = self.answers(raw)

    def answers(self, trips: Trips) -> list[NDArray[np.int64]]:
        """The answers of one set of trips, one array per workload."""
        borders = np.cumsum([len(work) for _, work in self.works])[:-1]
        counted = self.trie.occurrences(trips) if self.occurrences else self.trie.trips_containing(trips)
        return np.split(counted, borders)

    def measure(self, private: Trips) -> list[Measure]:
        check_comparable(self.raw, private)
        return [
            Measure(
                f"subsequence_error/{work.name}/{longest}",
                f"error, {work.name} queries of up to {longest} stops in a row",
                float(relative_errors(true, answer, self.sanity).mean()),
            )
            for (longest, work), true, answer in zip(
                self.works, self.true, self.answers(private), strict=True
            )
        ]
