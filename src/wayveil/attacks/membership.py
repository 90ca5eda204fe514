"""Membership: can anybody tell who is in the data?

Several scores are tried. The strongest is chosen on one half of the members and controls and reported on the other, so
that the choice among many does not look like a leak. Equal scores are told apart at random.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from wayveil.attacks.draws import uniform
from wayveil.attacks.rates import NORMAL_95, Rate

Floats = NDArray[np.float64]
FALSE_POSITIVES = 0.01


@dataclass(frozen=True)
class Membership:
    """How well one score tells members from controls.

    auc      chance that a member scores higher than a control (0.5 = no better than a coin), with its 95 % interval
    tpr      members found where 1 % of the controls are taken for members
    epsilon  the largest epsilon that the scores refute with 95 % confidence over all thresholds together (0 = none)
    """

    score: str
    auc: float
    low: float
    high: float
    tpr: Rate
    epsilon: float

    def refuted(self) -> str:
        """What the scores say about guarantees, in a sentence."""
        if self.epsilon == 0:
            return "The scores refute no epsilon."
        return f"The scores refute every epsilon below {self.epsilon:.2g}."

    def describe(self) -> dict[str, object]:
        return {
            "score": self.score,
            "auc": self.auc,
            "low": self.low,
            "high": self.high,
            "true_positives_at_1_percent": self.tpr.describe(),
            "refuted_epsilon": self.epsilon,
        }


def strongest(members: Mapping[str, Floats], controls: Mapping[str, Floats], seed: int) -> Membership:
    """The score that does best on one half, measured on the other."""
    choice = {
        name: auc(members[name][::2], controls[name][::2])[0]
        for name in members
        if not np.isnan(members[name]).any()
    }
    best = max(choice, key=lambda name: choice[name])
    return measure(best, members[best][1::2], controls[best][1::2], seed)


def measure(name: str, members: Floats, controls: Floats, seed: int) -> Membership:
    """All figures of one score."""
    value, low, high = auc(members, controls)
    return Membership(
        name,
        value,
        low,
        high,
        true_positives(members, controls, seed),
        refuted_epsilon(members, controls, seed),
    )


def auc(members: Floats, controls: Floats) -> tuple[float, float, float]:
    """Area under the curve, ties counted half, with the interval of DeLong et al. (1988)."""
    m, n = len(members), len(controls)
    both = scipy.stats.rankdata(np.concatenate([members, controls]))
    above = (both[:m] - scipy.stats.rankdata(members)) / n
    below = 1 - (both[m:] - scipy.stats.rankdata(controls)) / m
    value = float(above.mean())
    half = NORMAL_95 * sqrt(above.var(ddof=1) / m + below.var(ddof=1) / n)
    return value, max(value - half, 0.0), min(value + half, 1.0)


def _untied(members: Floats, controls: Floats, seed: int) -> tuple[Floats, Floats]:
    """Ranks in place of scores, equal ones in random order."""
    both = np.concatenate([members, controls])
    order = np.lexsort((uniform("ties", seed, np.arange(len(both))), both))
    rank = np.empty(len(both))
    rank[order] = np.arange(len(both))
    return rank[: len(members)], rank[len(members) :]


def true_positives(
    members: Floats, controls: Floats, seed: int, false_positives: float = FALSE_POSITIVES
) -> Rate:
    """Members above the threshold that so many of the controls exceed."""
    members, controls = _untied(members, controls, seed)
    allowed = int(false_positives * len(controls))
    threshold = np.sort(controls)[::-1][allowed]
    return Rate.of(members > threshold)


def refuted_epsilon(members: Floats, controls: Floats, seed: int, confidence: float = 0.95) -> float:
    """The greatest e with TPR > exp(e) FPR at some threshold, by bounds that hold at all thresholds together.

    A release with epsilon-differential privacy for these people keeps it at or below epsilon (with that confidence),
    whichever score is used. Clopper-Pearson bounds, the error shared by all thresholds and both rates.
    """
    members, controls = _untied(members, controls, seed)
    m, n = len(members), len(controls)
    thresholds = np.sort(controls)[::-1]
    hits = m - np.searchsorted(np.sort(members), thresholds, side="left")
    false = np.arange(1, n + 1)
    each = (1 - confidence) / (2 * n)
    tpr = np.where(hits > 0, scipy.stats.beta.ppf(each, np.maximum(hits, 1), m - hits + 1), 0.0)
    fpr = np.where(false < n, scipy.stats.beta.ppf(1 - each, false + 1, np.maximum(n - false, 1)), 1.0)
    best = float(np.max(tpr / fpr, initial=0.0))
    return log(best) if best > 1 else 0.0
