"""Trips as random walks through weighted contexts: the one generator of all models of short sequences.

A *context* is what a walk remembers: the last few symbols. In every context the possible next symbols have weights, and
after each of them the walk is in the longest known context that what it now remembers ends with. A walk starts at the
begin mark and ends at the end mark. With contexts of one symbol this is a Markov chain; longer contexts, where a
model has them, make it follow longer patterns and fall back to shorter ones elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.synthesis.rounding import round_keeping_total
from wayveil.trips.trips import Trips
from wayveil.world.world import World

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Steps:
    """Weighted steps from contexts of one length: row i says that `symbol[i]` follows `context[i]` with a weight."""

    context: Ints
    symbol: Ints
    weight: Floats

    @property
    def order(self) -> int:
        return int(self.context.shape[1])


@dataclass(frozen=True, eq=False)
class Walker:
    """Contexts as numbered states: state s goes on with `symbol[first[s]:first[s + 1]]` and then to `follow[...]`."""

    first: Ints
    symbol: Ints
    weight: Floats
    follow: Ints
    start: int
    end: int

    @classmethod
    def of(cls, steps: Sequence[Steps], start: Sequence[int], end: int) -> "Walker":
        """Join contexts of several lengths. Steps of no weight are dropped, and contexts that have no others."""
        kept = [_positive(part) for part in steps]
        books = [_Book(part.context, end + 1) for part in kept]
        bases = np.concatenate([[0], np.cumsum([book.size for book in books])])
        state = np.concatenate([base + book.row for base, book in zip(bases, books, strict=False)])
        follow = np.concatenate([_follow(part, books, bases) for part in kept])
        symbol = np.concatenate([part.symbol for part in kept])
        order = np.lexsort((symbol, state))
        first = np.concatenate([[0], np.cumsum(np.bincount(state, minlength=bases[-1]))]).astype(np.int64)
        weight = np.concatenate([part.weight for part in kept])
        found = [
            int(base + place)
            for base, book in zip(bases, books, strict=False)
            if book.order == len(start) and (place := book.find(np.array([start]))[0]) >= 0
        ]
        return cls(first, symbol[order], weight[order], follow[order], found[0] if found else -1, end)

    def calibrated(self, wanted: Floats, trips: float, moves: int, rounds: int = 40) -> "Walker":
        """The walker that comes `wanted[x]` times to symbol x within the first moves of `trips` walks, if it can.

        Back-off and noise make walks drift from the counts of single symbols, which are the most exact ones. Steps to
        a symbol are made more or less likely, wherever they start (except at the beginning), until expected visits
        agree. NaN = no wish.
        """
        if self.start < 0:
            return self
        weight = self.weight.copy()
        fixed = np.zeros(len(weight), bool)
        fixed[self.first[self.start] : self.first[self.start + 1]] = True
        for _ in range(rounds):
            expected = trips * _visits(
                self.first, self.symbol, self.follow, weight, self.start, self.end, moves
            )
            ratio = np.sqrt(np.clip((wanted + 1) / (expected + 1), 0.25, 4.0))
            ratio[np.isnan(ratio)] = 1.0
            weight = np.where(fixed, weight, weight * ratio[self.symbol])
        return replace(self, weight=weight)

    def walk(self, world: World, trips: float, longest: int, rng: np.random.Generator) -> Trips:
        """About `trips` walks of at most `longest` stops. First stops are spread exactly by their weights."""
        if self.start < 0 or trips < 1:
            return Trips(np.zeros(0, np.int32), np.zeros(1, np.int64), world)
        begin = slice(self.first[self.start], self.first[self.start + 1])
        share = self.weight[begin] / self.weight[begin].sum()
        copies = round_keeping_total(share * trips, rng)
        origin = np.repeat(np.arange(begin.start, begin.stop), copies)
        total = np.concatenate([[0.0], np.cumsum(self.weight)])
        location, offsets = _walk(origin, self.first, self.symbol, self.follow, total, self.end, longest, rng)
        return Trips(location, offsets, world)


def _positive(part: Steps) -> Steps:
    keep = part.weight > 0
    return Steps(part.context[keep], part.symbol[keep], part.weight[keep])


def _follow(part: Steps, books: "Sequence[_Book]", bases: Ints) -> Ints:
    """The state after each step: the longest known context at the end of what is remembered; -1 if there is none."""
    memory = np.concatenate([part.context, part.symbol[:, None]], axis=1)
    state = np.full(len(memory), -1, np.int64)
    for place in np.argsort([-book.order for book in books], kind="stable"):
        book = books[place]
        open_ = np.flatnonzero(state < 0)
        if book.order <= memory.shape[1] and len(open_):
            found = book.find(memory[open_, memory.shape[1] - book.order :])
            state[open_] = np.where(found >= 0, bases[place] + found, -1)
    return state


class _Book:
    """Numbers contexts of one length: a sorted list of (number of the beginning, next symbol) per position."""

    def __init__(self, contexts: Ints, base: int) -> None:
        self.order = contexts.shape[1]
        self._base = base
        self._keys: list[Ints] = []
        node = np.zeros(len(contexts), np.int64)
        for column in contexts.T:
            keys, node = np.unique(node * base + column, return_inverse=True)
            self._keys.append(keys)
        self.row: Ints = node
        self.size = len(self._keys[-1])

    def find(self, contexts: Ints) -> Ints:
        """The number of each context, -1 for one that is not in the book."""
        node = np.zeros(len(contexts), np.int64)
        for keys, column in zip(self._keys, contexts.T, strict=True):
            wanted = node * self._base + column
            place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
            known = (keys[place] == wanted) & (node >= 0) if len(keys) else np.zeros(len(node), bool)
            node = np.where(known, place, -1)
        return node


@njit(cache=True)
def _walk(origin, first, symbol, follow, total, end, longest, rng):  # type: ignore[no-untyped-def]
    location = np.empty(16 * len(origin) + longest, np.int32)
    offsets = np.zeros(len(origin) + 1, np.int64)
    used = 0
    for trip in range(len(origin)):
        if used + longest > len(location):
            larger = np.empty(2 * len(location) + longest, np.int32)
            larger[:used] = location[:used]
            location = larger
        step = origin[trip]
        stop = used + longest
        while symbol[step] != end:
            location[used] = symbol[step]
            used += 1
            state = follow[step]
            if used == stop or state < 0:
                break
            low, high = first[state], first[state + 1] - 1
            drawn = total[low] + rng.random() * (total[high + 1] - total[low])
            while low < high:
                middle = (low + high) >> 1
                if total[middle + 1] > drawn:
                    high = middle
                else:
                    low = middle + 1
            step = low
        offsets[trip + 1] = used
    return location[:used].copy(), offsets


@njit(cache=True)
def _visits(first, symbol, follow, weight, start, end, moves):  # type: ignore[no-untyped-def]
    """Expected visits of each symbol within the first moves of one walk."""
    states = len(first) - 1
    total = np.zeros(states)
    for state in range(states):
        for step in range(first[state], first[state + 1]):
            total[state] += weight[step]
    visits = np.zeros(end + 1)
    here = np.zeros(states)
    here[start] = 1.0
    for _ in range(moves):
        there = np.zeros(states)
        for state in range(states):
            if here[state] == 0.0 or total[state] == 0.0:
                continue
            for step in range(first[state], first[state + 1]):
                mass = here[state] * weight[step] / total[state]
                visits[symbol[step]] += mass
                if follow[step] >= 0:
                    there[follow[step]] += mass
        here = there
    return visits
