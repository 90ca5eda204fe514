"""From replicas to intervals: where the truth lies when a release shows such a number.

In a replica the truth is known: it is the release. Every cell of a kind of question is one pair (what the replica
shows, what was true), and a number that a release shows is as far from its truth as cells of replicas that show about
the same. So an interval is read off the pairs with similar numbers, in units of the root of the number, with the bias
that they have: a cell just over a threshold is mostly luck, and its interval reaches down to nothing.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np
import scipy

from wayveil.accuracy.bands import Bands
from wayveil.arrays import Floats
from wayveil.synthesis.noise_sums import NORMAL_95
from wayveil.synthesis.tallies import Tally

# So many pairs tell the tails of their law by themselves; fewer are taken for normal.
ENOUGH = 80
MOST_GROUPS = 30
# Pairs of a group whose mean square is taken: in lists that have so many at least, and in shorter ones.
WIDE, EVEN = 40, 8
# Numbers below the smallest group are off by as many as that, not by as many roots: the noise of a table is even.
BELOW = 4.0 ** -np.arange(5, 0, -1)
# The same as `CAUTION` for numbers that follow from whole trips, of long lists and short ones: one replica of a model
# that is smoother than people. Short lists are of classes, whose errors go together. The upper side of an interval is
# farther off (`bands`), so that long lists need no more: in 16 releases of 60,000 trips of six kinds of riders that are
# not judged, 94.2 % of stops hold or more.
WIDE_CAUTION, EVEN_CAUTION = 1.05, 1.25
# What all numbers of a replica have in common is one draw; the least that it is thought to be counts as so many: visits
# of twelve cities (60,000 trips, rider units) that are not judged were off by that least, whatever a draw said.
LEAST_COUNTS = 3
LEAST_HALF = 0.5  # in roots of the number: no replica tells less
FEWEST = 4  # below, nothing is said
OUTSIDE = 0.025  # on either side of an interval
# A release is smoother than the truth: its replicas miss less of it than it misses of the truth. Set on the simulated
# towns of the coverage bench, on which nothing is judged.
CAUTION = 1.1


def find_bands(truth: Tally, replicas: Sequence[Tally]) -> Bands | None:
    """Intervals from what replicas show of the truth; None where replicas show too little."""
    pairs = [np.stack(replica.beside(truth)) for replica in replicas]
    if not pairs:
        return None
    shown, true = np.concatenate(pairs, axis=1)
    seen = shown > 0
    if seen.sum() < FEWEST:
        return None
    missed = true[~seen]
    unlisted = float(np.quantile(missed, 1 - OUTSIDE)) if len(missed) else None
    order = np.argsort(shown[seen], kind="stable")
    number = shown[seen][order]
    off = ((true - shown)[seen] / np.sqrt(shown[seen] + 1))[order]
    groups = _groups(number)
    ends = np.array([_ends(off[group]) for group in groups])
    middle = ends.mean(axis=1, keepdims=True)
    ends = middle + CAUTION * (ends - middle)
    centres = np.array([np.median(number[group]) for group in groups])
    return Bands(centres, ends[:, 0], ends[:, 1], unlisted)


def _groups(number: Floats) -> list[slice]:
    """Groups of about as many ascending numbers each; many cells may show the same small number, and stay together."""
    many = max(1, min(MOST_GROUPS, len(number) // ENOUGH))
    cuts = np.unique(np.searchsorted(number, number[np.arange(many) * len(number) // many]))
    return [slice(*pair) for pair in zip(cuts, [*cuts[1:], len(number)], strict=True)]


def find_even_bands(truth: Tally, replica: Tally, least: float, smoothed: float = 1.0) -> Bands | None:
    """Intervals of numbers that follow from whole trips, even on both sides; None where a replica shows too little.

    One replica may have more of everything than the release, or less; the truth may lie on either side of both. So what
    all numbers have in common (`together`) is a deviation of unknown sign, and the rest is the mean square of what a
    replica is off where it shows about as much. One replica is one draw of the former, beside which `least`
    counts as several, and below that it is never thought to be. Where noise made the release smooth, a replica shows
    too little by the root of `smoothed`.
    """
    shown, true = replica.beside(truth)
    seen = shown > 0
    if seen.sum() < FEWEST:
        return None
    missed = true[~seen]
    unlisted = float(np.quantile(missed, 1 - OUTSIDE)) if len(missed) else None
    drawn = float(shown.sum()) / max(float(true.sum()), 1.0) - 1
    together = max(sqrt((drawn**2 + LEAST_COUNTS * least**2) / (1 + LEAST_COUNTS)), least)
    order = np.argsort(shown[seen], kind="stable")
    number, off = shown[seen][order], ((true - shown)[seen] / np.sqrt(shown[seen] + 1))[order]
    long = len(number) >= WIDE
    many = max(1, min(MOST_GROUPS, len(number) // (WIDE if long else EVEN)))
    groups = [part for part in np.array_split(np.arange(len(number)), many) if len(part)]
    # A mean square of n draws is that of the law times chi-square over n: the t law has room for it.
    room = [float(scipy.special.stdtrit(len(part), 1 - OUTSIDE)) for part in groups]
    half = np.array([q * np.sqrt(np.mean(off[part] ** 2)) for q, part in zip(room, groups, strict=True)])
    half = (WIDE_CAUTION if long else EVEN_CAUTION) * half
    half = np.maximum(half, LEAST_HALF) * sqrt(smoothed)
    centres = np.array([np.median(number[part]) for part in groups])
    lower = centres[0] * BELOW
    half = np.concatenate([half[0] * np.sqrt((centres[0] + 1) / (lower + 1)), half])
    return Bands(np.concatenate([lower, centres]), -half, half, unlisted, together)


def find_sum_bands(truth: Tally, replicas: Sequence[Tally], least: float) -> Bands | None:
    """The interval of a number that is the sum of these cells: few replicas, but many parts, tell how far off it is.

    Errors of parts that are independent add up in squares, errors that they share add up as they are; the share that
    all have in common is at least `least`.
    """
    total = float(truth.values.sum())
    parts = []
    for replica in replicas:
        off = np.subtract(*truth.beside(replica))
        parts.append(max(float(np.sum(off**2)), float(np.sum(off)) ** 2))
    if not parts or len(truth.cells) < FEWEST:
        return None
    half = np.array([CAUTION * NORMAL_95 * sqrt(np.mean(parts) / (total + 1))])
    return Bands(np.array([total]), -half, half, None, least)


def _ends(off: Floats) -> tuple[float, float]:
    """The middle 95 % of a law of which these are draws, with room for what so few draws do not tell."""
    many = len(off)
    if many >= ENOUGH:
        room = OUTSIDE - np.sqrt(OUTSIDE * (1 - OUTSIDE) / many) / 2
        return float(np.quantile(off, max(room, 0.0))), float(np.quantile(off, min(1 - room, 1.0)))
    spread = float(np.std(off, ddof=1)) if many > 1 else float(abs(off[0]))
    half = float(scipy.special.stdtrit(max(many - 1, 1), 1 - OUTSIDE)) * spread * np.sqrt(1 + 1 / many)
    return float(off.mean()) - half, float(off.mean()) + half
