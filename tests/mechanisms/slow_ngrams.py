"""n-grams of marked trips once more, slow and plain: lists and dictionaries, no ranks, no code of the engine."""

from collections import Counter
from itertools import pairwise

import numpy as np

from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World


def small_network():
    """Five stops; stop 2 leads nowhere, stop 3 can be visited twice in a row."""
    rows = [[1, 2], [0, 3], [], [1, 3, 4], [0]]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return World(list("abcde"), successors=SparseSuccessors(indptr, np.concatenate(rows).astype(np.int32)))


def small_list():
    return World(list("abcd"))


def may_follow(world, begins, x, y):
    """Whether y may follow x, where symbols after the locations are begin marks and then the end mark."""
    size, end = world.size, world.size + begins
    if x < size and y < size:
        return bool(world.successors.contains(np.array([x]), np.array([y]))[0])
    if x < size:
        return y == end
    if x == end - 1:
        return y < size
    return size <= x < end and y == x + 1


def marked(world, n, trip):
    begins = max(1, n - 2)
    return [*range(world.size, world.size + begins), *trip, world.size + begins]


def legal_grams(world, n, trip):
    """All n-grams of one trip, repeats included, without those that the world does not allow."""
    if not trip:
        return []
    symbols = marked(world, n, trip)
    begins = max(1, n - 2)
    grams = [tuple(symbols[i : i + n]) for i in range(len(symbols) - n + 1)]
    return [gram for gram in grams if all(may_follow(world, begins, x, y) for x, y in pairwise(gram))]


def distinct_counts(world, n, trips):
    return Counter(gram for trip in trips for gram in set(legal_grams(world, n, trip)))


def normalised_counts(world, n, trips, whole):
    counts = Counter()
    for trip in trips:
        grams = legal_grams(world, n, trip)
        for gram in grams:
            counts[gram] += whole // len(grams)
    return counts


def as_dict(universe, sparse):
    grams = universe.unrank(sparse.keys)
    return {tuple(gram): int(count) for gram, count in zip(grams.tolist(), sparse.counts, strict=True)}
