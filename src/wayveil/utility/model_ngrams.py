"""Quality of the n-grams that a model holds, before any trip is drawn from it: confusion, fitness, count queries.

A model that holds n-grams can be judged by itself, as the trie studies do: which public n-grams it has, which share of
a raw trip's n-grams it can replay, and what its nodes answer to count queries.
"""

from dataclasses import dataclass

import numpy as np

from wayveil.arrays import AnyInts, Floats, Int32s, Ints, Mask
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.trips.windows import GramCounts, gram_counts, match_grams, window_starts
from wayveil.utility.figures import Measure, check_not_empty
from wayveil.utility.ngram_figures import DEFAULT_N, Confusion, SubsequenceError
from wayveil.world.network import Network
from wayveil.world.ngrams import NgramUniverse

_TRIPS_AT_ONCE = 50_000


@dataclass(frozen=True)
class ModelScore:
    """The n-grams of a model against those of the raw trips.

    fitness  which share of its n-grams the model has, mean over the raw trips that are long enough to have one
    """

    confusion: Confusion
    fitness: float

    def measures(self, n: int) -> list[Measure]:
        """Return them as lines of a scorecard."""
        seen = self.confusion
        shares = {
            "f1": ("F1", seen.f1),
            "precision": ("precision", seen.precision),
            "recall": ("recall", seen.recall),
            "jaccard": ("Jaccard index", seen.jaccard),
            "accuracy": ("accuracy", seen.accuracy),
            "fitness": ("fitness: share of a trip that can be replayed, by", self.fitness),
        }
        made = [
            Measure(f"model/ngram_{n}/{key}", f"{words} {n}-grams of the model", value, "higher")
            for key, (words, value) in shares.items()
        ]
        counts = {
            "tp": ("true positives", seen.true_positive),
            "fp": ("false positives", seen.false_positive),
            "fn": ("false negatives", seen.false_negative),
            "tn": ("true negatives", seen.true_negative),
        }
        return made + [
            Measure(f"model/ngram_{n}/f1/{key}", words, float(count), "higher" if key[0] == "t" else "lower")
            for key, (words, count) in counts.items()
        ]


class ModelNgrams:
    """Raw trips, ready to judge the n-grams of any number of models."""

    title = "N-grams of the model itself"

    def __init__(self, raw: Trips, *, n: int = DEFAULT_N, returns: bool = True) -> None:
        """Without `returns`, n-grams that turn back at once on a network (a, b, a) are not possible."""
        check_not_empty(raw)
        self.raw, self.n, self.returns = raw, n, returns
        self.universe = NgramUniverse(raw.world, n)
        self.size = self.universe.size - (0 if returns else self._turning_back())
        counted = gram_counts(raw, n)
        self.grams = counted.grams
        # Fitness is a mean over trips of shares of their n-grams, so each n-gram has a weight in it.
        self.weight = self._weights(counted)

    def _weights(self, counted: GramCounts) -> Floats:
        """Return what each n-gram of the raw trips adds to the fitness of a model that has it."""
        place = GramCounts(counted.grams, np.arange(1, len(counted) + 1))
        weight, judged = np.zeros(len(counted)), 0
        for begin in range(0, len(self.raw), _TRIPS_AT_ONCE):
            part = self.raw.take(np.arange(begin, min(begin + _TRIPS_AT_ONCE, len(self.raw))))
            starts = window_starts(part, self.n)
            trip = part.trip_of_visit()[starts]
            sizes = np.bincount(trip, minlength=1)
            at = match_grams(place, part.location[starts[:, None] + np.arange(self.n)]) - 1
            weight += np.bincount(at, 1 / sizes[trip], len(counted)) if len(at) else 0
            judged += int(np.count_nonzero(sizes))
        return weight / max(judged, 1)

    def _turning_back(self) -> int:
        """Return how many 3-grams of a network end where they began."""
        world = self.raw.world
        if not isinstance(world, Network) or self.n != 3:
            raise ParameterError("only 3-grams of a network are known to turn back or not")
        there = np.stack([world.sources, world.indices, world.sources], axis=1)
        return int(np.count_nonzero(self.universe.contains(there)))

    def _possible(self, grams: AnyInts) -> Mask:
        legal: Mask = self.universe.contains(grams) if len(grams) else np.zeros(0, bool)
        return legal if self.returns else legal & (grams[:, 2:] != grams[:, :-2]).all(axis=1)

    def score(self, grams: AnyInts) -> ModelScore:
        """Distinct n-grams, one row of n locations each, as a model holds them."""
        own: Int32s = np.unique(np.asarray(grams, np.int32).reshape(-1, self.n), axis=0)
        held = GramCounts(own, np.ones(len(own), np.int64))
        hit = match_grams(held, self.grams) > 0
        true = int(np.count_nonzero(hit))
        outside = self.grams[~self._possible(self.grams)]
        legal = int(np.count_nonzero(self._possible(own)))
        # A legal n-gram is in the model, in the raw trips, in both or in none.
        legal_missed = int(np.count_nonzero(~hit)) - int(np.count_nonzero(match_grams(held, outside) == 0))
        seen = Confusion(true, len(own) - true, len(hit) - true, self.size - legal - legal_missed)
        return ModelScore(seen, float(self.weight[hit].sum()))

    def everything(self) -> ModelScore:
        """The whole public universe, without any data: what a model scores that keeps all there is."""
        inside = self._possible(self.grams)
        true = int(np.count_nonzero(inside))
        seen = Confusion(true, self.size - true, len(inside) - true, 0)
        return ModelScore(seen, float(self.weight[inside].sum()))

    def nothing(self) -> ModelScore:
        """A model without any n-gram."""
        return self.score(np.zeros((0, self.n), np.int32))


def trie_answers(
    queries: SubsequenceError, grams: AnyInts, count: Floats, *, leaves_only: bool = False
) -> list[Floats]:
    """Answer workloads from a trie of n-grams: the counts of all n-grams that begin with the query.

    A query that is longer than the trie is deep has no node, and the answer 0; with `leaves_only`, so has one that is
    shorter, because its node holds no count.
    """
    n = grams.shape[1]
    made = []
    for _, work in queries.works:
        answer = np.zeros(len(work))
        for length in range(n if leaves_only else 1, n + 1):
            asked = np.flatnonzero(work.lengths == length)
            if len(asked) and len(grams):
                answer[asked] = _sums_at(grams[:, :length], count, work.items[asked, :length])
        made.append(answer)
    return made


def trie_errors(
    queries: SubsequenceError,
    grams: AnyInts,
    count: Floats,
    *,
    leaves_only: bool = False,
    sanity: float | None = None,
) -> list[Measure]:
    """The subsequence errors of a trie's own answers, under the keys that trips have.

    sanity   in place of the bound of the queries
    """
    answers = trie_answers(queries, grams, count, leaves_only=leaves_only)
    return queries.errors(answers, queries.sanity if sanity is None else sanity)


def _sums_at(prefixes: AnyInts, count: Floats, asked: Ints) -> Floats:
    """The sum of the counts of the rows that equal each asked one."""
    known, place = np.unique(prefixes.astype(np.int32), axis=0, return_inverse=True)
    sums = np.bincount(place.ravel(), count, len(known))
    at = match_grams(GramCounts(known, np.arange(1, len(known) + 1)), asked.astype(np.int32))
    return np.where(at > 0, sums[at - 1], 0.0)
