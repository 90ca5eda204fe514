"""Numbers that follow those of earlier releases: a filter over weeks whose noise has a known law.

Every earlier release is public and has its own noisy answers, so using them costs nothing. A cell is thought to have a
level that drifts slowly, and every week a count near it:

    count of week t = level of week t + what differs from week to week (variance: a x level)
    level of week t = level of the week before x what all cells share + drift (variance: b x level^2, or a jump)
    noisy answer    = count + noise (variance: known)

How much cells differ (a), how fast they drift (b) and how often they jump is learnt from how far each week's noisy
answers are from what the weeks before let expect; this week's count most. So a number that noise hides is mostly the
mean of the weeks, a number that noise does not hide is this week's own, and a stop that jumps (a strike, a new line)
is believed as if there had been no week before. What is learnt comes from noisy answers only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from wayveil.arrays import Floats, Mask

# Between which the filter chooses. Constants were set on simulated towns other than those it is judged on.
DIFFERS = np.array([0.2, 0.5, 1.0, 2.0, 5.0])
DRIFTS = np.array([0.0, 0.01, 0.03, 0.07, 0.15, 0.3, 0.7]) ** 2
JUMPS = np.array([0.003, 0.02, 0.1, 0.3])
# How far jumps reach, in variances of what is expected without one.
REACH: Floats = np.array([8.0, 64.0, 512.0, 4_096.0, 32_768.0, 262_144.0])
FORGET = 0.5  # how much less the week before counts when drift is learnt
LEARNERS = 2_000  # cells that drift is learnt from, at most
# Before anything is seen, levels drift by about so much a week and counts differ as those of independent people do;
# that counts as much as so many cells.
USUAL_DRIFT, USUAL_DIFFERS, USUAL_CELLS = 0.05, 1.0, 4.0
# A cell is surprised by a count so many deviations away; where more than this share is, it was a shock.
SURPRISING, MOST_SURPRISED = 2.0, 0.15
FEWEST_SHARING = 12  # cells from which on a change that all share can be told from changes of each
CLEARLY = 5.0  # standard deviations of noise by which a level must stand out to tell such a change
SHARES_LESS = 0.5  # by how much of a change that all share a cell is thought to change otherwise


@dataclass(frozen=True, eq=False)
class Known:
    """Noisy numbers with the variance and the fourth cumulant of their noise; infinite variance: nothing is known."""

    value: Floats
    variance: Floats
    fourth: Floats

    @property
    def told(self) -> Mask:
        """The cells of which something is known."""
        return np.isfinite(self.variance)


@dataclass(frozen=True, eq=False)
class Followed(Known):
    """Numbers of this week, given those of the weeks before.

    own   how much of each number is this week's own answer: 1 where the weeks before say nothing, or are not believed
    """

    own: Floats


@dataclass(frozen=True, eq=False)
class _Expected:
    """Levels that the weeks before let expect, with their variances, and the weights of what drift they showed."""

    level: Floats
    variance: Floats
    seen: Floats  # log-likelihood by differs x drifts x jumps

    def shared(self, week: Known) -> "_Expected":
        """With every level changed by the factor that all cells share this week, if there clearly is one."""
        both = week.told & np.isfinite(self.variance)
        if both.sum() < FEWEST_SHARING:
            return self
        level, value = self.level[both], week.value[both]
        noise = week.variance[both] + self.variance[both]
        clear = level > CLEARLY * np.sqrt(noise)
        if clear.sum() >= FEWEST_SHARING:
            # The median: cells that change by themselves do not move it.
            ratio, weight = value[clear] / level[clear], level[clear]
            order = np.argsort(ratio)
            factor = float(ratio[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)])
            apart = 1.25 * float(
                np.sqrt(np.sum((weight * np.clip(ratio - factor, -1, 1)) ** 2)) / weight.sum()
            )
        else:
            whole = float(level.sum())
            if whole <= CLEARLY * np.sqrt(noise.sum()):
                return self
            factor = float(value.sum()) / whole
            apart = float(np.sqrt(noise.sum() + np.abs(level).sum())) / whole
        if not 0.05 < factor < 20 or abs(factor - 1) <= 3 * apart:
            return self
        unsure = (apart**2 + (SHARES_LESS * (factor - 1)) ** 2) * self.level**2
        return replace(self, level=self.level * factor, variance=self.variance * factor**2 + unsure)


@dataclass(frozen=True, eq=False)
class _Step:
    """One week held against what was expected of it, under given drift."""

    expected: _Expected
    week: Known
    differs: float
    drifts: float
    jumps: float

    @cached_property
    def parts(self) -> tuple[Floats, Floats, Floats]:
        """By no jump and jumps of every reach (rows): its weight, the variance of the level, that of the count."""
        level, drift, often = _spread(self.expected, self.differs, self.drifts)
        surprise = self.week.value - self.expected.level
        with np.errstate(invalid="ignore", over="ignore"):
            whole = self.week.variance + self.expected.variance + drift + often
            jump = np.concatenate([np.zeros((1, len(level))), REACH[:, None] * whole])
            of_level = self.expected.variance + drift + jump
            likely = _log_normal(surprise, of_level + often + self.week.variance)
            likely += np.log(np.append(1 - self.jumps, np.full(len(REACH), self.jumps / len(REACH))))[:, None]
            weight = np.exp(likely - likely.max(axis=0))
        return weight / weight.sum(axis=0), of_level, of_level + often

    def after_shock(self) -> _Expected:
        """Return what was expected, with as much less trust as this week contradicts it, if too many cells do at once.

        Then the weeks before tell little of any cell, also of those that noise hides, until levels are known again.
        """
        _, drift, often = _spread(self.expected, self.differs, self.drifts)
        whole = self.week.variance + self.expected.variance + drift + often
        both = self.week.told & np.isfinite(self.expected.variance)
        clear = both & (np.maximum(self.expected.level, self.week.value) > CLEARLY * np.sqrt(whole))
        if clear.sum() < FEWEST_SHARING:
            return self.expected
        off = (self.week.value - self.expected.level)[clear] ** 2 / whole[clear]
        if np.mean(off > SURPRISING**2) <= MOST_SURPRISED:
            return self.expected
        wider = np.where(both, (np.mean(off) - 1) * whole, 0.0)
        return replace(self.expected, variance=self.expected.variance + np.maximum(wider, 0.0))

    def count(self) -> Followed:
        """This week's counts."""
        week, (weight, _, of_count) = self.week, self.parts
        mean, variance, own = _update(self.expected.level, week.value, weight, of_count, week.variance)
        new = ~np.isfinite(self.expected.variance)
        return Followed(
            np.where(new, week.value, mean),
            np.where(new, week.variance, variance),
            np.where(new, week.fourth, own**4 * week.fourth),
            np.where(new, 1.0, own),
        )

    def next(self, seen: Floats) -> _Expected:
        """Return what next week is expected to be."""
        week, (weight, of_level, _) = self.week, self.parts
        noise = week.variance + _spread(self.expected, self.differs, self.drifts)[2]
        mean, variance, _ = _update(self.expected.level, week.value, weight, of_level, noise)
        new, silent = ~np.isfinite(self.expected.variance), ~week.told
        often = self.differs * np.maximum(week.value, 0)
        mean = np.where(new, week.value, np.where(silent, self.expected.level, mean))
        variance = np.where(
            new, week.variance + often, np.where(silent, self.expected.variance + of_level[0], variance)
        )
        return _Expected(np.where(np.isfinite(variance), mean, 0.0), variance, seen)


def follow(weeks: Sequence[Known]) -> Followed:
    """The numbers of the last of these weeks, in order; every week has the same cells."""
    first = weeks[0]
    if len(weeks) == 1:
        return Followed(first.value, first.variance, first.fourth, np.ones(len(first.value)))
    start = USUAL_DIFFERS * np.maximum(first.value, 0)
    expected = _Expected(np.where(first.told, first.value, 0.0), first.variance + start, _usual())
    for week in weeks[1:]:
        expected = expected.shared(week)
        seen = _see(expected, week)
        step = _Step(expected, week, *_weigh(seen))
        step = replace(step, expected=step.after_shock())
        expected = step.next(seen)
    return step.count()


def _weigh(seen: Floats) -> tuple[float, float, float]:
    """The mean of what drift may be: where few cells tell it, more is thought possible than is likeliest."""
    weight = np.exp(seen - seen.max())
    weight /= weight.sum()
    return (
        float(weight.sum(axis=(1, 2)) @ DIFFERS),
        float(weight.sum(axis=(0, 2)) @ DRIFTS),
        float(weight.sum(axis=(0, 1)) @ JUMPS),
    )


def _usual() -> Floats:
    """Return what is thought of drift before anything is seen."""
    floor = DRIFTS + DRIFTS[1] / 4
    drift = -USUAL_CELLS / 2 * (np.log(floor) + USUAL_DRIFT**2 / floor)
    differs = -USUAL_CELLS / 2 * (np.log(DIFFERS) + USUAL_DIFFERS / DIFFERS)
    return np.asarray((differs[:, None] + drift)[:, :, None] + np.zeros(len(JUMPS)))


def _see(expected: _Expected, week: Known) -> Floats:
    """The log-likelihood of every kind of drift: this week's, and less of what the weeks before showed."""
    seen = _usual() + FORGET * (expected.seen - _usual())
    here = np.flatnonzero(week.told & np.isfinite(expected.variance))
    if len(here) > LEARNERS:
        here = here[np.linspace(0, len(here) - 1, LEARNERS).astype(np.int64)]
    few = replace(expected, level=expected.level[here], variance=expected.variance[here])
    surprise, noise = week.value[here] - few.level, week.variance[here]
    for a, differs in enumerate(DIFFERS):
        for b, drifts in enumerate(DRIFTS):
            _, drift, often = _spread(few, float(differs), float(drifts))
            whole: Floats = np.maximum(noise + few.variance + drift + often, 1e-12)
            usual = _log_normal(surprise, whole)
            jump = np.logaddexp.reduce(_log_normal(surprise, (1 + REACH[:, None]) * whole), axis=0)
            for j, often_jumps in enumerate(JUMPS):
                both = np.logaddexp(np.log1p(-often_jumps) + usual, np.log(often_jumps / len(REACH)) + jump)
                seen[a, b, j] += both.sum()
    return seen


def _spread(expected: _Expected, differs: float, drifts: float) -> tuple[Floats, Floats, Floats]:
    """Levels, the variance of their drift, and that of counts around them."""
    level = np.maximum(expected.level, 0.0)
    # Of a level that may be noise, little is known of what it would drift by.
    with np.errstate(invalid="ignore"):
        level = np.nan_to_num(level**3 / (level**2 + 4 * expected.variance + 1e-12))
    return level, drifts * level**2, differs * level


def _update(
    level: Floats, value: Floats, weight: Floats, before: Floats, noise: Floats
) -> tuple[Floats, Floats, Floats]:
    """Mean and variance after a noisy value was seen, over all parts of a mixture, and the share of the value."""
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = np.where(np.isfinite(before), before / np.maximum(before + noise, 1e-300), 1.0)
        surprise = value - level
        own = np.sum(weight * gain, axis=0)
        left = np.sum(weight * gain * noise, axis=0)
        apart = np.sum(weight * gain**2, axis=0) - own**2
        return level + own * surprise, left + np.maximum(apart, 0.0) * surprise**2, own


def _log_normal(value: Floats, variance: Floats) -> Floats:
    return np.asarray(-0.5 * (value**2 / variance + np.log(variance)), np.float64)
