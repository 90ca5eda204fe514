"""Empirical-Bayes posterior of the cells behind noisy counts, all cells together.

A list of the largest noisy counts picks the largest noise, and an interval by the law of the noise alone does not know
that it was picked. The law of the cells does: if ten thousand cells have about nothing in them and noise reaches 800, a
count of 800 is one of those. So that law is found first, from all noisy counts at once: a mix of bells over
log(1 + number) and of an empty cell, whose weights are those under which the counts are most likely
(expectation-maximisation). Then each cell has a posterior: its mean, and an interval that holds 96 % of it. Picking
rows by noisy counts does not change a posterior, so these intervals hold in lists that are sorted or cut as well as
over all cells (Efron 2011, "Tweedie's formula and selection bias"; Yekutieli 2012, "Adjusted Bayesian inference for
selected parameters"; a smooth family as in Efron 2016, "Empirical Bayes deconvolution estimates"). What they cannot
know is a crowd of cells that are all alike and all far above noise: the largest of those are picked by noise alone.

Noise is a sum of `n` Laplace variables (variance-gamma law; n is told by its fourth cumulant), or Gaussian.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import erf, gammaln, kve, ndtri

from wayveil.arrays import Floats, Ints, Mask
from wayveil.mechanisms.mechanism import USUAL_TOP
from wayveil.synthesis.counted import AllCounted, CountedCells, KeptCounted
from wayveil.synthesis.estimates import Estimate
from wayveil.synthesis.noise_sums import half_width

# On either side of an interval; less than 2.5 %, as so few cells do not tell their law exactly.
OUTSIDE: Final = 0.02
# Mean of the absolute noise in halves of its 95 % interval, for the normal law; others have less.
MEAN_IN_HALF: Final = 0.41
# Fewer cells do not tell a law of their own.
FEWEST: Final = 8
# Width of a bell and step between bells, in log(1 + number): cells of one size differ by a fifth at least.
BELL: Final = 0.2
# Counts of more than so many deviations of their noise are hardly moved by it.
FAR: Final = 40.0
ROUNDS: Final = 200
# Steps of the grid of true numbers to a deviation of the noise.
STEPS: Final = 8
# Counts closer than this share of their noise are taken for the same.
CLOSE: Final = 0.05
# Weight of every bell before any cell is seen, in cells: no size is impossible. Set on four simulated towns under noise
# of scale 6 to 40: with less, cells that noise hides follow a law that it made up (90 % of intervals hold).
TRACE: Final = 0.3
# From so many Laplace variables on, their sum is taken for normal.
NORMAL_FROM: Final = 40.0
# A count is shown as it is from so large a part of the busiest ones on, within so many scales of its noise: the busiest
# cells are hardly farther off than by their counts, all together nearer. Set on invented cities of 120 to 2,500 stops.
OF_BUSIEST: Final = 1 / 3
CLEAR: Final = (1.0, 3.0)
# So much of all those counts must be thought true: where noise is much larger than all cells, the largest are luck.
BELIEVED: Final = 1 / 3


@dataclass(frozen=True, eq=False)
class Posterior:
    """By cell: mean, median and both ends of the interval; of cells below a threshold, what one of them may hold.

    `cells` are those that the rows are of, ascending; None: all of them. Not a number: nothing is known.
    """

    mean: Floats
    median: Floats
    low: Floats
    high: Floats
    hidden_high: float | None = None
    cells: Ints | None = None

    def at(self, cells: Ints) -> tuple[Floats, Floats]:
        """Both ends of these cells."""
        if self.cells is None:
            inside = (cells >= 0) & (cells < len(self.low))
            at = np.where(inside, cells, 0)
            return np.where(inside, self.low[at], np.nan), np.where(inside, self.high[at], np.nan)
        at = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
        kept = self.cells[at] == cells
        hidden = np.nan if self.hidden_high is None else self.hidden_high
        return (
            np.where(kept, self.low[at], 0.0 if self.hidden_high is not None else np.nan),
            np.where(kept, self.high[at], hidden),
        )


def believe_counted(known: CountedCells | None, size: int) -> Posterior | None:
    """The posterior of cells that a mechanism counted, `size` of them in all; None where their law says it alone."""
    if isinstance(known, AllCounted):
        told = ~np.isnan(known.values)
        law = (np.full(int(told.sum()), each) for each in (known.variance, known.fourth))
        found = find_posterior(known.values[told], *law)
        if found is None or told.all():
            return found
        spread = np.full((4, len(told)), np.nan)
        spread[:, told] = found.mean, found.median, found.low, found.high
        return Posterior(*spread)
    if isinstance(known, KeptCounted) and known.every and len(known.cells):
        law = (np.full(len(known.cells), each) for each in (2 * known.scale**2, 12 * known.scale**4))
        hidden = max(size - len(known.cells), 0)
        found = find_posterior(known.values, *law, threshold=known.threshold, hidden=hidden)
        return None if found is None else replace(found, cells=known.cells)
    return None


def believe_estimate(known: Estimate) -> Estimate:
    """Numbers with the intervals of their posterior, where the law of their noise is known; else as they are."""
    if known.variance is None or known.fourth is None:
        return known
    found = find_posterior(known.values, known.variance, known.fourth)
    if found is None:
        return known
    return replace(known, low=found.low, high=found.high, mean=found.mean, median=found.median)


def clear_from(noisy: Floats, scale: Floats | float) -> Floats:
    """Return from which count on each cell is shown as it was counted, by the scale of its noise.

    Three scales leave hardly anything to luck, but hide the busiest cells where noise is nearly as large as they are.
    Counts are along the last axis.
    """
    most = min(USUAL_TOP, max(noisy.shape[-1] // 4, 1))
    told = np.nan_to_num(noisy)
    busy = np.median(np.partition(told, -most, axis=-1)[..., -most:], axis=-1, keepdims=True)
    least, most_scales = CLEAR
    return np.asarray(np.clip(OF_BUSIEST * busy, least * scale, most_scales * scale), np.float64)


def stand_out(noisy: Floats, scale: Floats | float, mean: Floats | None) -> Mask:
    """Tell which counts are shown as they were counted: the clear ones, as far as all counts together bear them out.

    The largest are shown as long as they add up to no more than all cells are thought to have.
    """
    clear: Mask = noisy > clear_from(noisy, scale)
    if mean is None:
        return clear
    if mean[clear].sum() < BELIEVED * noisy[clear].sum():
        return np.zeros_like(clear)
    largest = np.argsort(-noisy)[: clear.sum()]
    clear[largest[np.cumsum(noisy[largest]) > np.nansum(mean)]] = False
    return clear


def best_guess(known: Estimate) -> Estimate:
    """Take numbers as they were counted where they stand out of their noise, else what all cells together let expect.

    Noise that is cut at zero makes small numbers add up to too many; a mean would be too low for the busiest. A median
    is less off than a mean. Noise lifts counts over the line, so that as much is taken from the others as brings the
    list to its sum.
    """
    believed = believe_estimate(known)
    if (
        believed.mean is None
        or believed.median is None
        or believed.interval is None
        or known.variance is None
    ):
        return believed
    sure = stand_out(known.values, np.sqrt(known.variance / 2), believed.mean)
    others, middle = believed.mean.sum() - known.values[sure].sum(), believed.median[~sure].sum()
    left = np.clip(others / max(middle, 1e-9), 0.0, 1.0)
    # Where little was lifted, medians add up to too few: they go on towards the means.
    rest = np.clip((others - middle) / max(believed.mean[~sure].sum() - middle, 1e-9), 0.0, 1.0)
    guess = left * believed.median + rest * (believed.mean - believed.median)
    values = np.where(sure, known.values, guess)
    low, high = believed.interval
    return Estimate(values, np.minimum(low, values), np.maximum(high, values), mean=believed.mean)


def mean_errors(known: Estimate) -> Floats:
    """Return how far off each number is on average: what noise lifted, and what is not known beyond that."""
    believed = believe_estimate(known)
    if believed.low is None or believed.high is None:
        return np.full(len(known.values), np.nan)
    lifted = 0.0 if believed.mean is None else np.abs(known.values - believed.mean)
    return np.asarray(lifted + MEAN_IN_HALF * (believed.high - believed.low) / 2, np.float64)


def off_by(shown: Floats, believed: Posterior) -> Floats:
    """Return how far off shown numbers are on average, given what is believed of each: the mean of a folded bell."""
    away = np.abs(shown - believed.mean)
    spread = np.maximum((believed.high - believed.low) / 2 / float(ndtri(1 - OUTSIDE)), 1e-9)
    return spread * np.sqrt(2 / np.pi) * np.exp(-((away / spread) ** 2) / 2) + away * erf(
        away / spread / np.sqrt(2)
    )


def find_posterior(
    noisy: Floats,
    variance: Floats,
    fourth: Floats,
    *,
    threshold: float | None = None,
    hidden: int = 0,
) -> Posterior | None:
    """The posterior of every cell; None where there are too few of them to tell.

    noisy     counts with noise of this `variance` and `fourth` cumulant
    threshold below which counts are not known; `hidden` cells are there
    """
    if len(noisy) + hidden < FEWEST or not len(noisy):
        return None
    deviation = np.sqrt(variance)
    keys = np.stack(
        [
            np.rint(noisy / (CLOSE * deviation)),
            np.rint(np.log(variance) / CLOSE),
            np.rint(4 * fourth / variance**2),
        ]
    )
    _, first, back, many = np.unique(keys, axis=1, return_index=True, return_inverse=True, return_counts=True)
    grid = _grid(float(noisy.max()) + 12 * float(deviation.max()), float(deviation.min()))
    chance = _likelihood(noisy[first], variance[first], fourth[first], grid)
    weight = many.astype(np.float64)
    if threshold is not None and hidden:
        below = _below(threshold, float(variance[0]), grid)
        chance, weight = np.vstack([chance, below]), np.append(weight, hidden)
    bells = _bells(grid)
    prior = bells @ _fit(chance @ bells, weight)
    mean, median, low, high = _summary(chance * prior, grid)
    at: Ints = np.ravel(back)
    of_hidden = float(high[-1]) if threshold is not None and hidden else None
    found = Posterior(mean[at], median[at], low[at], high[at], of_hidden)
    far = noisy > FAR * deviation
    half = half_width(variance, fourth)
    # Of numbers that noise hardly moves, all sizes nearby are as likely: the law of the noise says all.
    return replace(
        found,
        mean=np.where(far, noisy, found.mean),
        median=np.where(far, noisy, found.median),
        low=np.where(far, noisy - half, found.low),
        high=np.where(far, noisy + half, found.high),
    )


def _grid(most: float, deviation: float) -> Floats:
    """True numbers: closer to each other than noise could tell as far as noise matters, then one every two per cent."""
    step = max(1.0, deviation / STEPS)
    near = np.arange(0.0, min(most, (FAR + 12) * deviation) + 40 * step, step)
    # The law of small numbers is told in shares of them, however far noise reaches.
    small = np.exp(np.arange(0.0, np.log(STEPS * step), BELL / 2))
    near = np.union1d(near, np.rint(small)) if step > 1 else near
    if near[-1] >= most:
        return near
    return np.concatenate([near, np.exp(np.arange(np.log(near[-1]) + 0.02, np.log(most) + 0.04, 0.02))])


def _bells(grid: Floats) -> Floats:
    """The laws that are mixed, a column each: an empty cell, and bells over log(1 + number)."""
    place = np.log1p(grid)
    centres = np.arange(0.7, place[-1] + BELL, BELL)
    # Grid points stand for stretches of different length.
    length = np.gradient(place)
    bells = np.exp(-(((place[:, None] - centres) / BELL) ** 2) / 2) * length[:, None]
    bells[0] = 0.0
    empty = np.zeros((len(grid), 1))
    empty[0] = 1.0
    bells = np.hstack([empty, bells])
    return bells / bells.sum(axis=0)


def _fit(chance: Floats, weight: Floats) -> Floats:
    """The weights of the mix under which all counts are most likely."""
    share = np.full(chance.shape[1], 1 / chance.shape[1])
    for _ in range(ROUNDS):
        belongs = chance * share
        belongs *= (weight / np.maximum(belongs.sum(axis=1), 1e-300))[:, None]
        new = belongs.sum(axis=0) + TRACE
        new /= new.sum()
        if np.abs(new - share).max() < 1e-6:
            break
        share = new
    return share


def _summary(joint: Floats, grid: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean, median and both ends of each row."""
    joint /= np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    below = np.cumsum(joint, axis=1)
    low, median, high = (
        grid[np.argmax(below >= part, axis=1)] for part in (OUTSIDE, 0.5, 1 - OUTSIDE - 1e-12)
    )
    return joint @ grid, median, low, high


def _likelihood(noisy: Floats, variance: Floats, fourth: Floats, grid: Floats) -> Floats:
    """Return how likely each count is at each true number, up to a factor per row."""
    away = np.abs(noisy[:, None] - grid)
    parts = np.where(fourth > 0, 3 * variance**2 / np.maximum(fourth, 1e-300), np.inf)
    out = -(away**2) / (2 * variance[:, None])
    laplace = parts < NORMAL_FROM
    if laplace.any():
        n = np.maximum(parts[laplace], 1.0)[:, None]
        z = np.maximum(away[laplace] / np.sqrt(variance[laplace, None] / (2 * n)), 1e-6)
        out[laplace] = (n - 0.5) * np.log(z / 2) + np.log(kve(n - 0.5, z)) - z - gammaln(n)
    out -= out.max(axis=1, keepdims=True)
    return np.exp(out)


def _below(threshold: float, variance: float, grid: Floats) -> Floats:
    """Return how likely a Laplace count is to stay below a threshold, at each true number."""
    away = (threshold - grid) / np.sqrt(variance / 2)
    return np.where(away >= 0, 1 - np.exp(-np.abs(away)) / 2, np.exp(-np.abs(away)) / 2)
