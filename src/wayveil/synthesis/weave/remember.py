"""Walks with a memory: they follow a chain of moves, but repeat earlier visits as often as was measured.

In each context (how the last visits repeated others, in walks of this class of lengths) every kind of visit has a
factor that makes it more or less likely than the chain alone would; factors are learnt by walking and comparing.
"""

from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.synthesis.weave.demand import Noisy
from wayveil.world.recall import (
    AGAIN,
    BACK,
    BEGIN,
    HOME,
    KINDS,
    NEW,
    REMEMBERED,
    STAY,
    contexts,
    length_class,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Standard deviations of the noise that a row of the noisy table must weigh to be believed more than all rows together.
UNSURE = 2.0
# Factors are learnt in so many rounds of so many walks, and stay between 1 / MOST and MOST.
ROUNDS, LEARNERS, MOST = 8, 20_000, 1e4
# Tries to draw a last place where walks end, and a place that is new.
_TRIES, _NEW_TRIES = 30, 200


@dataclass(frozen=True, eq=False)
class Rows:
    """Where walks go on to: from row r to `target[first[r]:first[r + 1]]` with `chance`, else anywhere by `share`.

    Chances of a row add up to `1 - loose`.
    """

    first: Ints
    target: Ints
    chance: Floats
    loose: Floats
    share: Floats


@dataclass(frozen=True, eq=False)
class Plan:
    """What is known of walks before they are drawn: first place, length, and whether they end where they began.

    `returns`: 1 if so, 0 if not, -1 if nothing is known.
    """

    origin: Ints
    lengths: Ints
    returns: Ints


@dataclass(frozen=True, eq=False)
class Memory:
    """Factors by class of lengths, context and kind of visit; `memory` visits are remembered, of 2^`bits` classes."""

    memory: int
    bits: int
    factor: Floats

    @classmethod
    def learnt(
        cls,
        noisy: Noisy,
        memory: int,
        bits: int,
        rows: Rows,
        end: Floats,
        plan: Plan,
        rng: np.random.Generator,
    ) -> "Memory":
        """Factors with which walks as planned repeat visits as the block says, out of which noise was taken."""
        wanted = _shares(noisy, (1 << bits, contexts(memory), KINDS))
        found = cls(memory, bits, np.ones(wanted.shape))
        for _ in range(ROUNDS):
            mass = found.walk(rows, end, plan, rng)[2]
            weight = mass.sum(axis=2, keepdims=True)
            share = mass / np.maximum(weight, 1e-12)
            # A kind that is impossible in a context stays so, whatever noise says.
            ratio = np.where((share > 1e-9) & (weight > 0), (wanted + 1e-6) / (share + 1e-6), 1.0)
            factor = np.clip(found.factor * ratio, 1 / MOST, MOST)
            found = replace(found, factor=factor)
        return found

    def walk(
        self, rows: Rows, end: Floats, plan: Plan, rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], Ints, Floats]:
        """Walks as planned, and how likely each kind of visit was in each context, every walk with weight one."""
        offsets = np.concatenate([[0], np.cumsum(plan.lengths)]).astype(np.int64)
        location = np.empty(offsets[-1], np.int32)
        mass = np.zeros(self.factor.shape)
        running = np.cumsum(rows.chance)
        _walk(
            rows.first,
            rows.target,
            running,
            rows.loose,
            np.cumsum(rows.share),
            end / max(float(end.max()), 1e-300),
            self.factor,
            self.memory,
            length_class(plan.lengths, self.bits),
            plan.origin,
            plan.returns,
            offsets,
            location,
            mass,
            rng,
        )
        return location, offsets, mass


def _shares(noisy: Noisy, shape: tuple[int, int, int]) -> Floats:
    """Shares of the kinds in every context, drawn towards those of all classes, and these towards all contexts."""
    table = noisy.value.reshape(shape)
    everywhere = table.sum(axis=(0, 1)) + 1e-9
    everywhere /= everywhere.sum()
    unsure = UNSURE * noisy.deviation
    contexts_ = table.sum(axis=0)
    contexts_ = (contexts_ + unsure * everywhere) / (contexts_.sum(axis=1, keepdims=True) + unsure + 1e-300)
    return (table + unsure * contexts_) / (table.sum(axis=2, keepdims=True) + unsure + 1e-300)


@njit(cache=True)
def _chance(target, running, loose, share, row, begin, stop, place):  # type: ignore[no-untyped-def]
    """The chance that a row gives a place."""
    found = loose[row] * (share[place] - (share[place - 1] if place > 0 else 0.0))
    low, high = begin, stop
    while low < high:
        middle = (low + high) >> 1
        if target[middle] < place:
            low = middle + 1
        else:
            high = middle
    if low < stop and target[low] == place:
        found += running[low] - (running[low - 1] if low > 0 else 0.0)
    return found


@njit(cache=True)
def _drawn(target, running, loose, share, row, begin, stop, rng):  # type: ignore[no-untyped-def]
    """A place by the chances of a row."""
    if begin == stop or rng.random() < loose[row]:
        return min(np.searchsorted(share, rng.random() * share[-1], side="right"), len(share) - 1)
    base = running[begin - 1] if begin > 0 else 0.0
    drawn = base + rng.random() * (running[stop - 1] - base)
    low, high = begin, stop - 1
    while low < high:
        middle = (low + high) >> 1
        if running[middle] > drawn:
            high = middle
        else:
            low = middle + 1
    return target[low]


@njit(cache=True)
def _walk(  # type: ignore[no-untyped-def]
    first,
    target,
    running,
    loose,
    share,
    end,
    factor,
    memory,
    class_,
    origin,
    returns,
    offsets,
    location,
    mass,
    rng,
):
    places = len(share)
    seen_by = np.full(places, -1, np.int64)
    last = np.zeros(places, np.int64)
    seen = np.empty(places, np.int64)
    weight = np.empty(places)
    kind = np.empty(places, np.int64)
    by_kind = np.empty(KINDS)
    for j in range(len(origin)):
        length = offsets[j + 1] - offsets[j]
        place = offsets[j]
        location[place] = origin[j]
        seen[0], known = origin[j], 1
        seen_by[origin[j]], last[origin[j]] = j, 0
        kinds = BEGIN
        for step in range(1, length):
            here = location[place + step - 1]
            begin, stop = first[here], first[here + 1]
            context = 0
            if memory == 1:
                context = kinds % REMEMBERED
            elif memory == 2:
                context = kinds
            tilt = factor[class_[j], context]
            by_kind[:] = 0.0
            old = 0.0
            for i in range(known):
                chance = _chance(target, running, loose, share, here, begin, stop, seen[i])
                old += chance
                lag = step - last[seen[i]]
                kind[i] = AGAIN
                if lag == 1:
                    kind[i] = STAY
                elif lag == 2:
                    kind[i] = BACK
                elif seen[i] == origin[j]:
                    kind[i] = HOME
                weight[i] = chance * tilt[kind[i]]
                by_kind[kind[i]] += weight[i]
            if known < places:
                by_kind[NEW] = max(1.0 - old, 1e-9) * tilt[NEW]
            total = by_kind.sum()
            for k in range(KINDS):
                mass[class_[j], context, k] += by_kind[k] / (total * (length - 1))
            chosen, how = here, STAY
            final = step == length - 1
            if final and returns[j] == 1:
                chosen = origin[j]
            else:
                for _ in range(_TRIES):
                    drawn = rng.random() * total
                    if drawn < by_kind[NEW]:
                        # Of what the row offers only what is new, so that as many visits are new as should be.
                        for _ in range(_NEW_TRIES):
                            chosen = _drawn(target, running, loose, share, here, begin, stop, rng)
                            if seen_by[chosen] != j:
                                break
                    else:
                        drawn -= by_kind[NEW]
                        for i in range(known):
                            if weight[i] > 0.0:
                                chosen = seen[i]
                                drawn -= weight[i]
                                if drawn < 0.0:
                                    break
                    if not final:
                        break
                    if (returns[j] < 0 or chosen != origin[j]) and rng.random() < end[chosen]:
                        break
            if seen_by[chosen] != j:
                seen[known] = chosen
                known += 1
                how = NEW
            else:
                lag = step - last[chosen]
                how = STAY if lag == 1 else BACK if lag == 2 else HOME if chosen == origin[j] else AGAIN
            seen_by[chosen], last[chosen] = j, step
            location[place + step] = chosen
            kinds = how + REMEMBERED * (kinds % REMEMBERED)
