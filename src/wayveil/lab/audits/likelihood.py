"""The laws that noise claims to follow, in floating point: good for tests and attacks, never for drawing noise."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, log, log1p, pi, sqrt
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from wayveil.arrays import Floats, Ints, Mask
from wayveil.lab.audits.grey_box import moved_cells
from wayveil.lab.audits.transcript import Exchange
from wayveil.privacy.privtree import Leaves, decisions
from wayveil.privacy.questions import NoisyCounts, SparseCounts


class NoiseLaw(Protocol):
    """A symmetric law on the integers."""

    def pmf(self, k: Ints) -> Floats:
        """P(X = k)."""

    def below(self, k: Ints) -> Floats:
        """P(X < k)."""

    def log_pmf(self, k: Ints) -> Floats:
        """log P(X = k), also where P underflows."""


@dataclass(frozen=True)
class LaplaceLaw:
    """P(X = k) proportional to exp(-|k| / scale)."""

    scale: float

    def pmf(self, k: Ints) -> Floats:
        return np.exp(self.log_pmf(k))

    def below(self, k: Ints) -> Floats:
        # P(X >= k) = a^k / (1 + a) for k >= 1, and P(X < k) = P(X >= 1 - k) by symmetry.
        upper = np.exp(-np.maximum(k, 1) / self.scale - log1p(exp(-1 / self.scale)))
        lower = np.exp(-np.maximum(1 - k, 1) / self.scale - log1p(exp(-1 / self.scale)))
        return np.where(k >= 1, 1 - upper, lower)

    def log_pmf(self, k: Ints) -> Floats:
        a = exp(-1 / self.scale)
        return np.asarray(np.log((1 - a) / (1 + a)) - np.abs(k) / self.scale)


@dataclass(frozen=True)
class GaussianLaw:
    """P(X = k) proportional to exp(-k^2 / (2 variance))."""

    variance: float

    def pmf(self, k: Ints) -> Floats:
        return np.exp(self.log_pmf(k))

    def below(self, k: Ints) -> Floats:
        if self.variance > WIDE:
            return np.asarray(ndtr((np.asarray(k, float) - 0.5) / sqrt(self.variance)))
        reach, cumulative, _ = _gaussian_table(self.variance)
        return np.asarray(cumulative[np.clip(k + reach, 0, 2 * reach + 1)])

    def log_pmf(self, k: Ints) -> Floats:
        # The sum of all weights is that of the density, up to exp(-2 pi^2 variance).
        wide = self.variance > WIDE
        total = 0.5 * log(2 * pi * self.variance) if wide else log(_gaussian_table(self.variance)[2])
        return np.asarray(-(np.asarray(k, float) ** 2) / (2 * self.variance) - total)


# From this variance on, the normal law between two whole numbers is as good as a sum of a hundred thousand terms.
WIDE = 1e8


@lru_cache(maxsize=64)
def _gaussian_table(variance: float) -> tuple[int, Floats, float]:
    reach = ceil(12 * sqrt(variance)) + 2
    weight = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    total = float(weight.sum())
    return reach, np.concatenate([[0.0], np.cumsum(weight) / total]), total


@lru_cache(maxsize=1024)
def noise_law(scale: Fraction, currency: str) -> NoiseLaw:
    """The law of a question's noise: `scale` is a variance where prices are rho."""
    return GaussianLaw(float(scale)) if currency == "rho" else LaplaceLaw(float(scale))


def log_ratio(
    exchange: Exchange, without: SparseCounts, within: SparseCounts, currency: str = "epsilon"
) -> float:
    """log P(answer | counts within) - log P(answer | counts without), by the claimed law.

    Only cells that differ matter. A cell that did not come back says that its noisy count is below the threshold.
    """
    question, answer = exchange.question, exchange.answer
    cells, moved = moved_cells(without, within)
    if len(cells) == 0:
        return 0.0
    if isinstance(answer, Leaves):
        return tree_log_probability(exchange, within) - tree_log_probability(exchange, without)
    if not isinstance(answer, NoisyCounts):
        # A choice by utility: exact up to the normaliser, which is all that an attacker's score needs.
        chosen = np.searchsorted(cells, answer)
        found = chosen < len(cells) and cells[chosen] == answer
        return float(moved[chosen]) / float(question.scale) if found else 0.0
    return float(cell_log_ratios(exchange, without, cells, moved, currency).sum())


def cell_log_ratios(
    exchange: Exchange, without: SparseCounts, cells: Ints, moved: Ints, currency: str = "epsilon"
) -> Floats:
    """Return the same for each of some cells, whose counts are higher by `moved` within."""
    question, answer = exchange.question, exchange.answer
    if not isinstance(answer, NoisyCounts):
        raise TypeError(f"{question.label} is a selection and has no noisy cells")
    law = noise_law(question.scale, currency)
    before = counts_at(without, cells)
    place = np.searchsorted(answer.keys, cells)
    seen = place < len(answer.keys)
    seen[seen] = answer.keys[place[seen]] == cells[seen]
    ratio = np.zeros(len(cells))
    noise = answer.counts[place[seen]] - before[seen]
    ratio[seen] = law.log_pmf(noise - moved[seen]) - law.log_pmf(noise)
    if question.threshold is not None and not seen.all():
        gap = question.threshold - before[~seen]
        ratio[~seen] = np.log(law.below(gap - moved[~seen])) - np.log(law.below(gap))
    return ratio


def node_chances(exchange: Exchange, exact: SparseCounts) -> tuple[Ints, Floats, Floats, Mask]:
    """For every node that a partition asked about: its value, the chances of a split and of none, and its fate."""
    leaves = exchange.answer
    if not isinstance(leaves, Leaves):
        raise TypeError(f"{exchange.question.label} is no tree")
    values, split = decisions(exact.keys, exact.counts, leaves)
    law = noise_law(exchange.question.scale, "epsilon")
    return values, law.below(values), law.below(1 - values), split


def tree_log_probability(exchange: Exchange, exact: SparseCounts) -> float:
    """log P(partition | counts), by the claimed law."""
    _, yes, no, split = node_chances(exchange, exact)
    return float(np.log(np.where(split, yes, no)).sum())


def counts_at(exact: SparseCounts, cells: Ints) -> Ints:
    """The counts of some cells, zeros included."""
    place = np.minimum(np.searchsorted(exact.keys, cells), max(len(exact.keys) - 1, 0))
    if len(exact.keys) == 0:
        return np.zeros(len(cells), np.int64)
    return np.where(exact.keys[place] == cells, exact.counts[place], 0)
