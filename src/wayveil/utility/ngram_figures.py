"""Which n-grams does a release have, and how often? The confusion over all public n-grams, and TV.

Presence alone is easily won: anything that walks legal edges finds most n-grams. So it stands beside the total
variation of the normalised counts, TV_n = 1/2 sum |p - q|, which is 0 only for the same shares and 1 when
nothing is shared.

Subsequence error by maximum length: the variant of the n-gram studies, with stops in a row.

For each maximum length 4, 8, 12, 16 and 20 there are 10,000 queries with lengths uniform in 1..maximum. The
published curve falls like one over the length by construction, because only the shortest queries have an
answer other than 0; so queries drawn from raw trips stand beside the uniform ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wayveil.arrays import Ints
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.trips.windows import GramCounts, align, gram_counts
from wayveil.utility.count_queries import Counts, Workload, relative_errors, sanity_bound, uniform_workload
from wayveil.utility.figures import Figures, Measure
from wayveil.utility.postings import Items
from wayveil.utility.prefixspan import WindowTrie
from wayveil.world.ngrams import NgramUniverse

DEFAULT_N = 3
TV_LENGTHS = (2, 3)


@dataclass(frozen=True)
class Confusion:
    """Public n-grams by whether raw trips have them and whether released ones do. Any size: plain integers."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @property
    def precision(self) -> float:
        """Share of the released n-grams that are real; a release without any claims nothing wrong."""
        return _share(self.true_positive, self.true_positive + self.false_positive)

    @property
    def recall(self) -> float:
        """Share of the real n-grams that were released."""
        return _share(self.true_positive, self.true_positive + self.false_negative)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _share(
            2 * self.true_positive, 2 * self.true_positive + self.false_positive + self.false_negative
        )

    @property
    def accuracy(self) -> float:
        """Share of all public n-grams that are right: close to 1 for anything where most occur nowhere."""
        right = self.true_positive + self.true_negative
        return _share(right, right + self.false_positive + self.false_negative)

    @property
    def jaccard(self) -> float:
        """Shared n-grams over those that either side has."""
        return _share(self.true_positive, self.true_positive + self.false_positive + self.false_negative)

    @property
    def false_negative_rate(self) -> float:
        """Share of the real n-grams that are missing."""
        return 1 - self.recall


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def confusion(raw: GramCounts, private: GramCounts, universe: NgramUniverse) -> Confusion:
    """Compare presence. An n-gram outside the public universe counts too: as an error of whoever has it."""
    grams, counts = align(raw, private)
    left, right = counts[:, 0] > 0, counts[:, 1] > 0
    legal = int(np.count_nonzero(universe.contains(grams))) if len(grams) else 0
    return Confusion(
        int(np.count_nonzero(left & right)),
        int(np.count_nonzero(right & ~left)),
        int(np.count_nonzero(left & ~right)),
        universe.size - legal,
    )


def total_variation(counts: Ints) -> float:
    """Half the L1 distance of two normalised columns of counts; 1 if only one of them is empty."""
    sums = counts.sum(axis=0)
    if np.any(sums == 0):
        return float(sums[0] != sums[1])
    return float(np.abs(counts[:, 0] / sums[0] - counts[:, 1] / sums[1]).sum() / 2)


class NgramFigures(Figures):
    """Confusion of n-grams over the public universe (n = 3 unless told), and TV_2 and TV_3.

    Where no raw trip has n stops, there is nothing to find and only TV is measured against nothing.
    """

    title = "N-grams"

    def __init__(self, raw: Trips, *, n: int = DEFAULT_N) -> None:
        super().__init__(raw)
        self.n = n
        self.universe = NgramUniverse(raw.world, n)
        self.counts = {length: gram_counts(raw, length) for length in {n, *TV_LENGTHS}}

    def _measured(self, private: Trips) -> list[Measure]:
        found = {length: gram_counts(private, length) for length in self.counts}
        seen = confusion(self.counts[self.n], found[self.n], self.universe)
        n = self.n
        measures = [
            Measure(f"ngram_{n}/f1", f"F1 of {n}-grams", seen.f1, "higher"),
            Measure(f"ngram_{n}/f1/precision", f"precision of {n}-grams", seen.precision, "higher"),
            Measure(f"ngram_{n}/f1/recall", f"recall of {n}-grams", seen.recall, "higher"),
            Measure(f"ngram_{n}/f1/fnr", f"share of {n}-grams missed", seen.false_negative_rate),
            Measure(f"ngram_{n}/f1/jaccard", f"Jaccard index of {n}-grams", seen.jaccard, "higher"),
            Measure(
                f"ngram_{n}/f1/accuracy",
                f"accuracy over all {self.universe.size:,} public {n}-grams",
                seen.accuracy,
                "higher",
            ),
        ]
        for length in TV_LENGTHS:
            value = total_variation(align(self.counts[length], found[length])[1])
            measures.append(Measure(f"ngram_tv_{length}", f"total variation of {length}-gram shares", value))
        return measures


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
        super().__init__(raw)
        if queries < 1 or not max_lengths or min(max_lengths) < 1:
            raise ParameterError("subsequence queries need at least one query and lengths of at least 1")
        self.sanity, self.occurrences = sanity_bound(raw), occurrences
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

    def answers(self, trips: Trips) -> list[Ints]:
        """The answers of one set of trips, one array per workload."""
        borders = np.cumsum([len(work) for _, work in self.works])[:-1]
        counted = self.trie.occurrences(trips) if self.occurrences else self.trie.trips_containing(trips)
        return np.split(counted, borders)

    def _measured(self, private: Trips) -> list[Measure]:
        return self.errors(self.answers(private), self.sanity)

    def errors(self, answers: Sequence[Counts], sanity: float) -> list[Measure]:
        """The figures of some answers, one array per workload."""
        return [
            Measure(
                f"subsequence_error/{work.name}/{longest}",
                f"error, {work.name} queries of up to {longest} stops in a row",
                float(relative_errors(true, answer, sanity).mean()),
            )
            for (longest, work), true, answer in zip(self.works, self.true, answers, strict=True)
        ]
