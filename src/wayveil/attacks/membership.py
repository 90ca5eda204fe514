"""Membership: can anybody tell who is in the data? Scores, and whether members and controls are alike.

Several scores are tried. The strongest is chosen on one half of the members and controls and reported on the other, so
that the choice among many does not look like a leak. Equal scores are told apart at random.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from wayveil.arrays import AnyInts, Floats, Ints, look_up, stretches
from wayveil.attacks.rates import NORMAL_95, Rate
from wayveil.attacks.targets import uniform, words
from wayveil.synthesis.ngram_model import BEGIN, END
from wayveil.trips.trips import Trips
from wayveil.world.world import World

FALSE_POSITIVES = 0.01


@dataclass(frozen=True)
class Membership:
    """Success of one score in telling members from controls.

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
        """Say in a sentence what the scores say about guarantees."""
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


def true_positives(members: Floats, controls: Floats, seed: int) -> Rate:
    """Members above the threshold that 1 % of the controls exceed."""
    members, controls = _untied(members, controls, seed)
    allowed = int(FALSE_POSITIVES * len(controls))
    threshold = np.sort(controls)[::-1][allowed]
    return Rate.of(members > threshold)


def refuted_epsilon(members: Floats, controls: Floats, seed: int) -> float:
    """The greatest e with TPR > exp(e) FPR at some threshold, by bounds that hold at all thresholds together.

    A release with epsilon-differential privacy for these people keeps it at or below epsilon (with 95 % confidence),
    whichever score is used. Clopper-Pearson bounds, the error shared by all thresholds and both rates.
    """
    members, controls = _untied(members, controls, seed)
    m, n = len(members), len(controls)
    thresholds = np.sort(controls)[::-1]
    hits = m - np.searchsorted(np.sort(members), thresholds, side="left")
    false = np.arange(1, n + 1)
    each = 0.05 / (2 * n)
    tpr = np.where(hits > 0, scipy.stats.beta.ppf(each, np.maximum(hits, 1), m - hits + 1), 0.0)
    fpr = np.where(false < n, scipy.stats.beta.ppf(1 - each, false + 1, np.maximum(n - false, 1)), 1.0)
    best = float(np.max(tpr / fpr, initial=0.0))
    return log(best) if best > 1 else 0.0


# What a move that the release does not have counts, beside moves that it has.
UNSEEN = 0.5


def moves_score(targets: Trips, released: Trips) -> Floats:
    """Mean log-likelihood of a trip's moves, begin and end included, under the moves of the released trips."""
    size = targets.world.size
    source, target = _moves(released)
    key, count = np.unique(source * (size + 2) + target, return_counts=True)
    leaving = np.bincount(source, minlength=size + 2)
    a, b = _moves(targets)
    found = look_up(key, count.astype(np.float64), a * (size + 2) + b)
    logs = np.log((found + UNSEEN) / (leaving[a] + UNSEEN * size))
    return _mean_per_row(logs, targets.lengths + 1)


def table_scores(targets: Trips, table: pl.DataFrame) -> dict[str, Floats]:
    """The malicious receiver: looks a trip up in the released tree or n-grams. Nothing for other kinds of models."""
    if {"length", "ngram", "count"} <= set(table.columns):
        return _ngram_scores(targets, table)
    if {"node", "parent", "depth", "stop_id", "consistent_count"} <= set(table.columns):
        return _tree_scores(targets, table)
    return {}


def _ngram_scores(targets: Trips, table: pl.DataFrame) -> dict[str, Floats]:
    """Mean log of the counts of a trip's n-grams, and the log of the least of them, by the longest n there is."""
    n = int(table["length"].max() or 0)  # type: ignore[arg-type]
    if n < 2:
        return {}
    longest = table.filter(pl.col("length") == n)
    grams = longest["ngram"].explode().to_numpy().reshape(-1, n)
    symbol = _symbols(targets.world, grams.ravel()).reshape(-1, n)
    key = _hashed(symbol)
    order = np.argsort(key)
    begins = max(1, int((symbol == targets.world.size).sum(axis=1).max(initial=1)))
    windows, per_trip = _windows(targets, n, begins)
    found = look_up(
        key[order], np.maximum(longest["count"].to_numpy(), 0)[order].astype(np.float64), _hashed(windows)
    )
    logs = np.log(found + UNSEEN)
    starts = np.concatenate([[0], np.cumsum(per_trip)])[:-1]
    return {
        "released n-grams, on average": _mean_per_row(logs, per_trip),
        "released n-grams, the rarest": np.minimum.reduceat(logs, starts),
    }


def _tree_scores(targets: Trips, table: pl.DataFrame) -> dict[str, Floats]:
    """Return how far down the released tree a trip can be followed, and how thin the branch is there."""
    world = targets.world
    stop = world.index_of(table["stop_id"].cast(pl.String)).astype(np.int64)
    key = table["parent"].to_numpy() * (world.size + 1) + stop
    # A tree of stops and times has several children at one stop: the thickest one is followed.
    count = table["consistent_count"].to_numpy()
    order = np.lexsort((-count, key))
    key, node, count = key[order], table["node"].to_numpy()[order], count[order]
    first = np.ones(len(key), bool)
    first[1:] = key[1:] != key[:-1]
    key, node, count = key[first], node[first], count[first]
    here = np.zeros(len(targets), np.int64)
    depth, width = np.zeros(len(targets)), np.full(len(targets), np.log(UNSEEN))
    alive = np.ones(len(targets), bool)
    deepest = int(table["depth"].to_numpy().max(initial=0))
    for step in range(min(int(targets.lengths.max(initial=0)), deepest)):
        alive &= targets.lengths > step
        rows = np.flatnonzero(alive)
        asked = here[rows] * (world.size + 1) + targets.location[targets.offsets[:-1][rows] + step]
        place = np.minimum(np.searchsorted(key, asked), len(key) - 1)
        hit = key[place] == asked
        here[rows[hit]] = node[place[hit]]
        depth[rows[hit]] = step + 1
        width[rows[hit]] = np.log(np.maximum(count[place[hit]], 0) + UNSEEN)
        alive[rows[~hit]] = False
    return {"released tree": depth / np.maximum(targets.lengths, 1) - 1e-3 * width}


def _symbols(world: World, names: NDArray[np.object_]) -> Ints:
    """Stops by index; the mark of the beginning is `size`, that of the end `size + 1`."""
    distinct, code = np.unique(names.astype(np.str_), return_inverse=True)
    index = world.index_of(distinct).astype(np.int64)
    index[distinct == BEGIN] = world.size
    index[distinct == END] = world.size + 1
    return index[code]


def _windows(trips: Trips, n: int, begins: int) -> tuple[Ints, Ints]:
    """All runs of n symbols of each trip between its marks, and how many each trip has (at least one)."""
    size = trips.world.size
    pad = np.maximum(n - (begins + trips.lengths + 1), 0)
    lengths = begins + trips.lengths + 1 + pad
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.full(offsets[-1], size + 1, np.int64)
    for mark in range(begins):
        flat[offsets[:-1] + mark] = size
    inner = np.arange(trips.visits) + np.repeat(offsets[:-1] + begins - trips.offsets[:-1], trips.lengths)
    flat[inner] = trips.location
    per_trip = lengths - n + 1
    start, _ = stretches(offsets[:-1], per_trip)
    return flat[start[:, None] + np.arange(n)], per_trip


def _moves(trips: Trips) -> tuple[Ints, Ints]:
    """Every move with its ends; the beginning is place `size`, the end `size + 1`."""
    windows, _ = _windows(trips, 2, 1)
    return windows[:, 0], windows[:, 1]


def _hashed(rows: Ints) -> NDArray[np.uint64]:
    return words("symbols", 0, *rows.T) if len(rows) else np.zeros(0, np.uint64)


def _mean_per_row(values: Floats, lengths: Ints) -> Floats:
    row = np.repeat(np.arange(len(lengths)), lengths)
    return np.asarray(np.bincount(row, values, minlength=len(lengths)) / np.maximum(lengths, 1))


Values = AnyInts
FEWEST_EXPECTED = 5  # below, a cell is put together with the others that are as rare
FALSE_ALARMS = 0.001  # chance that two samples of the same people are called unlike, over all tests
HOUR = 3_600


def differences(members: Trips, controls: Trips) -> tuple[str, ...]:
    """In what the two differ beyond chance: first stops, last stops, lengths, hours of departure."""
    questions: dict[str, tuple[Values, Values]] = {
        "first stops": (members.origins(), controls.origins()),
        "last stops": (members.destinations(), controls.destinations()),
        "numbers of stops": (members.lengths, controls.lengths),
    }
    if members.time is not None and controls.time is not None:
        questions["hours of departure"] = (_departures(members), _departures(controls))
    return tuple(
        name
        for name, sides in questions.items()
        if chance_of_difference(*sides) < FALSE_ALARMS / len(questions)
    )


def chance_of_difference(one: Values, other: Values) -> float:
    """The p value of a chi-squared test that two samples of values come from the same source."""
    values, found = np.unique(np.concatenate([one, other]), return_inverse=True)
    table = np.stack([np.bincount(part, minlength=len(values)) for part in np.split(found, [len(one)])])
    smaller = min(len(one), len(other)) / (len(one) + len(other))
    rare = table.sum(axis=0) * smaller < FEWEST_EXPECTED
    cells = [table[:, ~rare], table[:, rare].sum(axis=1, keepdims=True)]
    kept = np.hstack([part for part in cells if part.size and part.sum()])
    return 1.0 if kept.shape[1] < 2 else float(scipy.stats.chi2_contingency(kept).pvalue)


def _departures(trips: Trips) -> Ints:
    assert trips.time is not None
    return np.asarray(trips.time[trips.offsets[:-1]] // HOUR % 24)
