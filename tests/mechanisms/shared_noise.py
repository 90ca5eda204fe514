"""The engine with noise that is a function of a node's path, so that a slow tree can draw the same."""

import os

import numpy as np
from hypothesis import settings

from wayveil.counting.local import LocalCounter
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts
from wayveil.privacy.units import Trip


def random_worlds(everyday):
    """So many examples in the everyday run, five times as many in `make audit`, new ones every time."""
    exploring = os.environ.get("HYPOTHESIS_PROFILE") == "exploring"
    return settings(max_examples=everyday * (5 if exploring else 1))


def path_noise(salt, spread=3):
    """Integers that depend on the salt and the path alone."""

    def noise(path):
        flat = [int(part) for symbol in path for part in np.atleast_1d(symbol)]
        return int(np.random.default_rng([salt, len(path), *flat]).integers(-spread, spread + 1))

    return noise


class _Watched:
    """A prefix counter that tells the gate which frontier is asked about."""

    def __init__(self, inner, gate):
        self.inner, self.gate = inner, gate

    def count(self, frontier):
        self.gate.frontier = frontier
        return self.inner.count(frontier)

    def descend(self, kept):
        self.gate.paths = [self.gate.every[cell] for cell in kept]
        self.inner.descend(kept)


class WatchedCounter(LocalCounter):
    def __init__(self, trips, gate):
        super().__init__(trips)
        self.gate = gate

    def prefixes(self, encoding=None):
        return _Watched(super().prefixes(encoding), self.gate)


class PathNoiseGate(Gate):
    """Every candidate is visited, named by its path, and noised by a function of that path."""

    def __init__(self, epsilon, noise, name=lambda depth, symbol: symbol):
        super().__init__(Trip(), Budget(epsilon), SeededBits(0))
        self.noise, self.name, self.paths, self.every, self.frontier = noise, name, [()], [], None

    def answer(self, question, exact):
        parent, symbol, _ = self.frontier.children(np.arange(exact.universe))
        self.every = [
            (*self.paths[p], self.name(len(self.paths[p]), int(s)))
            for p, s in zip(parent, symbol, strict=True)
        ]
        noisy = np.array([self.noise(path) for path in self.every], np.int64)
        noisy[exact.keys] += exact.counts
        kept = np.flatnonzero(noisy >= question.threshold)
        return NoisyCounts(question, kept, noisy[kept])


def measured(mechanism, trips, epsilon, noise, name=lambda depth, symbol: symbol):
    """The tree, and a function that gives {path: value} for values per level."""
    gate = PathNoiseGate(epsilon, noise, name)
    tree = mechanism.measure(WatchedCounter(trips, gate), gate)

    def by_path(values):
        paths, out = [()], {}
        for depth, (level, value) in enumerate(zip(tree.levels, values, strict=True)):
            paths = [
                (*paths[p], name(depth, int(s))) for p, s in zip(level.parent, level.symbol, strict=True)
            ]
            out.update(zip(paths, value.tolist(), strict=True))
        return out

    return tree, by_path, gate
