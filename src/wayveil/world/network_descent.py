"""Ways down a taxonomy of places and then one of times that only lead where a network goes on.

As `taxonomy.Descent`, but what was before is remembered as a pair of location and time bin: a group of places is
possible if a place in it may follow the location before, and a place if it may follow itself.
"""

import numpy as np
from numba import njit

from wayveil.arrays import AnyInts, Int32s, Ints
from wayveil.world.successors import Successors
from wayveil.world.taxonomy import Descent, Taxonomy


def network_descents(
    places: Taxonomy, times: Taxonomy, moves: Successors
) -> tuple[list[Successors], list[Successors], list[Successors]]:
    """Steps to the place of the first visit, to that of any later one, and to a time; each from coarse to fine."""
    memories, bins = places.leaves * times.leaves, times.leaves
    anywhere: list[Successors] = []
    onwards: list[Successors] = []
    for above, child, last in places.steps():
        after = "place" if last else "node"
        anywhere.append(PairDescent(above, child, memories, bins, after=after))
        onwards.append(PlaceOnward(above, child, memories, bins, moves, after=after))
    later: list[Successors] = [
        PairDescent(above, child, memories, bins, ordered=True, after="time" if last else "node")
        for above, child, last in times.steps()
    ]
    return anywhere, onwards, later


class PairDescent(Descent):
    """A step whose state is node x memories + location x bins + bin.

    `after` a `node` the memory stays; after a `place` it has the new location and the old bin; after a `time` the bin.
    """

    def __init__(
        self, above: AnyInts, child: AnyInts, memories: int, bins: int, *, after: str, ordered: bool = False
    ) -> None:
        super().__init__(above, child, memories, ordered=False, after=after)
        self.bins = bins
        if ordered:
            # The same earliest child for every location.
            self._earliest = np.tile(
                Descent(above, child, bins, ordered=True, after=after).earliest, memories // bins
            )

    def follow(self, source: AnyInts, target: AnyInts) -> Ints:
        to = np.asarray(target, np.int64)
        memory = np.asarray(source, np.int64) % self.memories
        if self.after == "node":
            return to * self.memories + memory
        return (
            to * self.bins + memory % self.bins if self.after == "place" else memory - memory % self.bins + to
        )


class PlaceOnward(PairDescent):
    """A step towards a place that may follow the location before."""

    def __init__(
        self, above: AnyInts, child: AnyInts, memories: int, bins: int, moves: Successors, *, after: str
    ) -> None:
        super().__init__(above, child, memories, bins, after=after)
        every = np.arange(moves.size)
        degree = moves.degree(every)
        source = np.repeat(every, degree)
        rank = np.arange(len(source)) - np.repeat(np.cumsum(degree) - degree, degree)
        reached = np.asarray(child, np.int64)[moves.nth(source, rank)]
        # Of each location, the places (children lie in order) of what its moves reach, ascending and each once.
        pairs = np.unique(source * np.int64(len(self._item)) + self._place[reached])
        self._reach = pairs % len(self._item)
        self._rows = np.searchsorted(pairs, np.arange(moves.size + 1) * np.int64(len(self._item)))

    @property
    def mean_degree(self) -> float:
        return len(self._reach) / (len(self._rows) - 1) / max(len(self._starts) - 1, 1)

    def _span(self, source: AnyInts) -> tuple[Ints, Ints]:
        """First and last + 1 entry, among those of the location before, under each source's node."""
        source = np.asarray(source, np.int64)
        node = source // self.memories
        location = (source - node * self.memories) // self.bins
        return _spans(self._rows, self._reach, self._starts, location, node)

    def degree(self, source: AnyInts) -> Ints:
        first, end = self._span(source)
        return np.asarray(end - first)

    def nth(self, source: AnyInts, rank: AnyInts) -> Int32s:
        return self._item[self._reach[self._span(source)[0] + rank]].astype(np.int32)

    def rank(self, source: AnyInts, target: AnyInts) -> Ints:
        first, end = self._span(source)
        to = np.asarray(target, np.int64)
        place = self._place[np.maximum(to, 0)]
        return _ranks(self._reach, first, end, np.where(to >= 0, place, -1))


@njit(cache=True)
def _spans(rows, reach, starts, location, node):  # type: ignore[no-untyped-def]
    first = np.empty(len(node), np.int64)
    end = np.empty(len(node), np.int64)
    for i in range(len(node)):
        row = reach[rows[location[i]] : rows[location[i] + 1]]
        first[i] = rows[location[i]] + np.searchsorted(row, starts[node[i]])
        end[i] = rows[location[i]] + np.searchsorted(row, starts[node[i] + 1])
    return first, end


@njit(cache=True)
def _ranks(reach, first, end, place):  # type: ignore[no-untyped-def]
    out = np.full(len(place), -1, np.int64)
    for i in range(len(place)):
        at = first[i] + np.searchsorted(reach[first[i] : end[i]], place[i])
        if place[i] >= 0 and at < end[i] and reach[at] == place[i]:
            out[i] = at - first[i]
    return out
