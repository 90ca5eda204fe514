"""Trips as random walks through weighted contexts: the one generator of all models of short sequences.

A *context* is what a walk remembers: the last few symbols. In every context the possible next symbols have weights, and
after each of them the walk is in the longest known context that what it now remembers ends with. A walk starts at the
begin mark and ends at the end mark. With contexts of one symbol this is a Markov chain; longer contexts, where a
model has them, make it follow longer patterns and fall back to shorter ones elsewhere.

All walks take their steps together. Those in the same context stand side by side, ordered by where they come from, and
share out its next symbols by evenly spread points instead of drawing each on its own: what they do together is then
nearer to the weights than independent draws, of one symbol as of longer patterns (L'Ecuyer's array-RQMC).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Int32s, Ints, Mask
from wayveil.synthesis.projection import round_keeping_total
from wayveil.trips.trips import Trips
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class WeightedSteps:
    """Weighted steps from contexts of one length: row i says that `symbol[i]` follows `context[i]` with a weight."""

    context: Ints
    symbol: Ints
    weight: Floats

    @property
    def order(self) -> int:
        return int(self.context.shape[1])


@dataclass(frozen=True, eq=False)
class Walker:
    """Contexts as numbered states: state s goes on with `symbol[first[s]:first[s + 1]]` and then to `follow[...]`.

    `back` are the steps that lead straight back to where the context came from.
    """

    first: Ints
    symbol: Ints
    weight: Floats
    follow: Ints
    start: int
    end: int
    back: Mask

    @classmethod
    def of(cls, steps: Sequence[WeightedSteps], start: Sequence[int], end: int) -> "Walker":
        """Join contexts of several lengths. Steps of no weight are dropped, and contexts that have no others."""
        kept = [_positive(part) for part in steps]
        books = [ContextBook(part.context, end + 1) for part in kept]
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
        back = np.concatenate([_back(part) for part in kept])[order]
        return cls(first, symbol[order], weight[order], follow[order], found[0] if found else -1, end, back)

    def calibrated(
        self,
        wanted: Floats,
        trips: float,
        moves: int,
        hazard: Floats | None = None,
        rounds: int = 40,
        *,
        keep_turns: bool = False,
    ) -> "Walker":
        """The walker that comes `wanted[x]` times to symbol x within the first moves of `trips` walks, if it can.

        Back-off and noise make walks drift from the counts of single symbols, which are the most exact ones. Steps to
        a symbol are made more or less likely, wherever they start (except at the beginning), until expected visits
        agree. NaN = no wish. `hazard` as in `walk`; where there is one it decides about ends. With `keep_turns`, walks
        turn straight back no oftener than before: running to and fro is the easiest way to come by often.
        """
        if self.start < 0:
            return self
        hazard = _padded(hazard, moves)
        wanted = wanted.copy()
        if not np.isnan(hazard).all():
            wanted[self.end] = np.nan
        weight = self.weight.copy()
        fixed = np.zeros(len(weight), bool)
        fixed[self.first[self.start] : self.first[self.start + 1]] = True
        for _ in range(rounds):
            visits = _visits(self.first, self.symbol, self.follow, weight, self.start, self.end, hazard)
            with np.errstate(
                over="ignore"
            ):  # walks that hardly ever end come by endlessly often: too often is enough
                expected = trips * visits
            ratio = np.sqrt(np.clip((wanted + 1) / (expected + 1), 0.25, 4.0))
            ratio[np.isnan(ratio)] = 1.0
            scaled = np.where(fixed, weight, weight * ratio[self.symbol])
            if keep_turns:
                ahead, before = (self._ahead(part) for part in (scaled, weight))
                grown = np.divide(ahead, before, out=np.ones(len(ahead)), where=before > 0)
                scaled = np.where(self.back, weight * np.repeat(grown, np.diff(self.first)), scaled)
            weight = scaled
        return replace(self, weight=weight)

    def _ahead(self, weight: Floats) -> Floats:
        """The weight of all steps of each state but those straight back."""
        total = np.concatenate([[0.0], np.cumsum(np.where(self.back, 0.0, weight))])
        return np.asarray(np.diff(total[self.first]))

    def walk(
        self,
        world: World,
        trips: float,
        longest: int,
        rng: np.random.Generator,
        hazard: Floats | None = None,
        *,
        budget: float | None = None,
    ) -> Trips:
        """About `trips` walks of at most `longest` stops, as trips over the world's locations."""
        return Trips(*self.sequences(trips, longest, rng, hazard, budget=budget), world)

    def sequences(
        self,
        trips: float,
        longest: int,
        rng: np.random.Generator,
        hazard: Floats | None = None,
        *,
        budget: float | None = None,
    ) -> tuple[Int32s, Ints]:
        """Symbols and offsets of about `trips` walks. First symbols are spread exactly by their weights.

        hazard   of the walks with 0, 1, 2, ... stops, the share that ends there: the end is then made more or less
                 likely by so much, and the weights say at which places. NaN or None = the weights decide alone
        budget   all walks together take a step `budget` times as often as its weight says, and no oftener; a walk that
                 finds no step left ends. Two noisy steps that lead to each other would else hold every walk that comes
                 by for ever, whatever their counts. None = no limit
        """
        if self.start < 0 or trips < 1:
            return np.zeros(0, np.int32), np.zeros(1, np.int64)
        hazard = _padded(hazard, longest)
        begin = slice(self.first[self.start], self.first[self.start + 1])
        share = self.weight[begin] / self.weight[begin].sum()
        step = np.repeat(np.arange(begin.start, begin.stop), round_keeping_total(share * trips, rng))
        left = self.weight if budget is None else self.weight * budget
        total = np.concatenate([[0.0], np.cumsum(left)])
        ending = _ending(self.first, self.symbol, total, self.end)
        stops = np.zeros(len(step), np.int64)
        walker = np.arange(len(step))
        visits: list[tuple[Ints, Int32s]] = []
        for count in range(longest):
            goes_on = self.symbol[step] != self.end
            walker, step = walker[goes_on], step[goes_on]
            visits.append((walker, self.symbol[step].astype(np.int32)))
            stops[walker] += 1
            state = self.follow[step]
            known = state >= 0
            walker, state = walker[known], state[known]
            if budget is not None:
                left = np.maximum(left - np.bincount(step, minlength=len(left)), 0.0)
                total = np.concatenate([[0.0], np.cumsum(left)])
                goes_on = total[self.first[state + 1]] > total[self.first[state]]
                walker, state = walker[goes_on], state[goes_on]
            if len(walker) == 0 or count == longest - 1:
                break
            order = _by_state(state, len(ending))
            walker, state = walker[order], state[order]
            odds = 1.0
            if not np.isnan(hazard[count + 1]):
                odds = _odds(
                    np.bincount(state, minlength=len(ending)), ending, hazard[count + 1] * len(state)
                )
            step = _share_out(state, self.first, self.symbol, total, self.end, odds, rng)
        offsets = np.concatenate([[0], np.cumsum(stops)])
        location = np.empty(offsets[-1], np.int32)
        for count, (walker, symbol) in enumerate(visits):
            location[offsets[walker] + count] = symbol
        return location, offsets


def _padded(hazard: Floats | None, longest: int) -> Floats:
    padded = np.full(longest + 1, np.nan)
    known = np.zeros(0) if hazard is None else hazard[: longest + 1]
    padded[: len(known)] = known
    return padded


def _by_state(state: Ints, states: int) -> Ints:
    """The order that brings walks in the same state together and leaves them in order there."""
    return _counting_sort(state, states) if states < 8 * len(state) else np.argsort(state, kind="stable")


def _positive(part: WeightedSteps) -> WeightedSteps:
    keep = part.weight > 0
    return WeightedSteps(part.context[keep], part.symbol[keep], part.weight[keep])


def _back(part: WeightedSteps) -> Mask:
    if part.order < 2:
        return np.zeros(len(part.symbol), bool)
    return np.asarray((part.symbol == part.context[:, -2]) & (part.symbol != part.context[:, -1]))


def _follow(part: WeightedSteps, books: "Sequence[ContextBook]", bases: Ints) -> Ints:
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


class ContextBook:
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
def _counting_sort(state, states):  # type: ignore[no-untyped-def]
    place = np.zeros(states + 1, np.int64)
    for i in range(state.size):
        place[state[i] + 1] += 1
    for i in range(states):
        place[i + 1] += place[i]
    order = np.empty(state.size, np.int64)
    for i in range(state.size):
        order[place[state[i]]] = i
        place[state[i]] += 1
    return order


@njit(cache=True)
def _ending(first, symbol, total, end):  # type: ignore[no-untyped-def]
    """The share of the end among what may follow each state. The end is the largest symbol, so it comes last."""
    ending = np.zeros(first.size - 1)
    for state in range(ending.size):
        last = first[state + 1] - 1
        whole = total[last + 1] - total[first[state]]
        if whole > 0 and symbol[last] == end:
            ending[state] = (total[last + 1] - total[last]) / whole
    return ending


@njit(cache=True)
def _odds(mass, ending, wanted):  # type: ignore[no-untyped-def]
    """By how much the end has to become more likely, against everything else, for so much of the mass to end."""
    low, high = -40.0, 40.0
    for _ in range(50):
        middle = (low + high) / 2
        odds = np.exp(middle)
        ends = 0.0
        for state in range(mass.size):
            if mass[state] > 0 and ending[state] > 0:
                ends += mass[state] * odds * ending[state] / (1 - ending[state] + odds * ending[state])
        if ends < wanted:
            low = middle
        else:
            high = middle
    return np.exp((low + high) / 2)


@njit(cache=True)
def _share_out(state, first, symbol, total, end, odds, rng):  # type: ignore[no-untyped-def]
    """The next step of every walk; those in one state stand side by side.

    They get the points of a sequence that is spread evenly wherever one cuts it (multiples of the golden ratio), from a
    random one on: so all of them together, and those with the same past, take each step as often as its weight says.
    """
    golden = 0.6180339887498949
    taken = np.empty(state.size, np.int64)
    point, before = 0.0, -1
    for i in range(state.size):
        begin, stop = first[state[i]], first[state[i] + 1]
        if symbol[stop - 1] == end:
            stop -= 1
        rest = total[stop] - total[begin]
        point = rng.random() if state[i] != before else (point + golden) % 1.0
        before = state[i]
        drawn = point * (rest + odds * (total[first[state[i] + 1]] - total[stop]))
        low, high = begin, stop - 1
        if drawn >= rest and stop < first[state[i] + 1]:
            low = high = stop
        drawn += total[begin]
        while low < high:
            middle = (low + high) >> 1
            if total[middle + 1] > drawn:
                high = middle
            else:
                low = middle + 1
        taken[i] = low
    return taken


@njit(cache=True)
def _visits(first, symbol, follow, weight, start, end, hazard):  # type: ignore[no-untyped-def]
    """Expected visits of each symbol within the first moves of one walk, one fewer than there are hazards."""
    states = len(first) - 1
    total = np.zeros(len(weight) + 1)
    for step in range(len(weight)):
        total[step + 1] = total[step] + weight[step]
    ending = _ending(first, symbol, total, end)
    visits = np.zeros(end + 1)
    here = np.zeros(states)
    here[start] = 1.0
    for count in range(len(hazard) - 1):
        odds = 1.0
        if not np.isnan(hazard[count]) and count > 0:
            odds = _odds(here, ending, hazard[count] * here.sum())
        there = np.zeros(states)
        for state in range(states):
            if here[state] == 0.0:
                continue
            begin, stop = first[state], first[state + 1]
            ends = symbol[stop - 1] == end
            whole = total[stop - 1] - total[begin] + weight[stop - 1] * (odds if ends else 1.0)
            if whole <= 0.0:
                continue
            for step in range(begin, stop):
                mass = here[state] * weight[step] / whole
                if symbol[step] == end:
                    mass *= odds
                visits[symbol[step]] += mass
                if follow[step] >= 0:
                    there[follow[step]] += mass
        here = there
    return visits
