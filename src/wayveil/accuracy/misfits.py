"""Misfits: what trips of a model cannot express, as far as the model has seen it in what it paid for."""

from collections.abc import Sequence
from math import pi, sqrt
from typing import Final

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.synthesis.counted import AllCounted, CountsCells
from wayveil.synthesis.estimates import HOURS
from wayveil.synthesis.model import ExpectedError, Model
from wayveil.trips.trips import Trips
from wayveil.world.timebins import DAY, HOUR

# Kinds that a model knows nothing of itself are as biased as what they are made of.
MADE_OF: Final = {"stops": "edges", "visits": "lengths", "triples": "edges"}
# Intervals widen by so much of what trips of a model cannot express: noise makes it look larger than it is, and part of
# it is in the replicas already. Set on simulated towns.
MISFIT: Final = 0.5
# Kinds that follow from the ways of trips.
OF_WAYS: Final = frozenset({"visits", "stops", "hours", "stop-hours", "edges", "triples"})
# The square by which lengths of released trips miss their noisy table where all is well, in variances of its noise, and
# the variance of one such square: of few classes, luck makes the mean larger. Set on simulated towns.
USUAL_MISFIT: Final = 0.85
OF_SQUARES: Final = 3.0
# Mean of the absolute error in standard deviations, for the normal law; and the deviation that numbers have in common,
# in what intervals allow for it. Set on seven simulated towns.
MEAN_ERROR: Final = sqrt(2 / pi)
TOGETHER: Final = 0.75
# Deviation that all numbers of a release have in common, as a share of each: at least this, and as much as lengths are
# off inside the classes that were counted, which is the more the fewer there are. Set on simulated towns.
LEAST_TOGETHER: Final = 0.015
OF_CLASSES: Final = 0.13
# Deviation of numbers of these kinds, or made of them, as a share of each: a replica finds more easily than it was
# found who rides between which ends, and over which busy stops. Set on simulated cities of 60,000 trips.
NOT_SHOWN: Final = {"stops": 0.03, "edges": 0.03, "alightings": 0.05, "triples": 0.05}
# The same of numbers that are made of cells of a kind: changes of line say how people ride, and not only where; what
# single stops do not show cancels out on a line. And of trips within one district beside that: pairs of ends were
# counted in blocks as coarse as a district, so that how many people go no farther is mostly guessed. Set on six
# simulated cities of 60,000 trips.
MADE_NOT_SHOWN: Final = {"triples": 0.1, "stops": 0.0}
INSIDE: Final = 0.1
# How many times farther off than a replica shows: who goes from where to where is rougher than any model, and a replica
# of a release that is as smooth misses less of it. Set on five simulated cities of 10,000 trips.
ROUGHER: Final = {"journeys": 1.1}


def find_bias(kind: str, expected: Sequence[ExpectedError] | None, *, guess: bool = False) -> float | None:
    """Deviation of what trips of this model cannot express, in roots of the number; None where nobody knows.

    A `guess` at cells that were not asked about is worth a verdict, and no interval.
    """
    if expected is None:
        return 0.0
    told = {error.kind: error for error in expected if error.asked or guess}
    own = kind in told and told[kind].unexplained > 0
    wanted = kind if own else MADE_OF.get(kind, kind)
    if wanted in told:
        return told[wanted].unexplained * sqrt(pi / 2) / sqrt(told[wanted].mean + 1)
    return 0.0 if wanted in ("hours", "stop-hours") else None


def is_misfit(expected: Sequence[ExpectedError] | None) -> bool:
    """Tell that trips miss the lengths that were paid for by more than noise: people take other ways."""
    return any(
        error.kind == "lengths"
        and error.misfit**2 > USUAL_MISFIT + 2 * sqrt(OF_SQUARES / max(error.cells, 1))
        for error in expected or ()
    )


def tell_visits(expected: Sequence[ExpectedError] | None) -> float:
    """Return how far off a model says that its visits are, as a share of all; 0 where it does not say."""
    return max((error.off / error.mean for error in expected or () if error.kind == "visits"), default=0.0)


def blur_hours(trips: Trips) -> float:
    """Return how far off visits by hour are where starts are thought to be even within their hour, and are not.

    Where more and more people start, most of an hour's do so at its end, and ride into the next one. Whether they do is
    not known: what a straight slope would move is expected, in shares of all visits.
    """
    if trips.time is None or not len(trips):
        return 0.0
    first, last = trips.time[trips.offsets[:-1]], trips.time[trips.offsets[1:] - 1]
    starts = np.bincount(first % DAY // HOUR, minlength=HOURS).astype(np.float64)
    slope = (np.roll(starts, -1) - np.roll(starts, 1)) / 2
    moved = slope * min(float(np.mean(last - first)) / HOUR, 1.0) / 4
    return float(np.abs(moved - np.roll(moved, 1)).sum()) / len(trips)


def blur_classes(values: Floats, place: Ints, longer: float) -> Floats:
    """Return how far off classes of lengths, one behind the other, are where all trips may be longer by such a share:
    from each, that share of its upper end in widths goes into the next one.
    """
    every = np.bincount(place, values, int(place.max(initial=0)) + 3)
    passes = longer * np.arange(len(every)) * (every + np.roll(every, 1)) / 2
    return np.asarray(np.abs(passes - np.roll(passes, -1))[place], np.float64)


def least_together(model: Model, kind: str = "", *, made: bool = False) -> float:
    """Least deviation of numbers that follow from whole trips, as a share of each: what all of them have in common,
    and what a replica does not show of this kind, or of what is `made` of its cells.
    """
    not_shown = NOT_SHOWN.get(kind, 0.0)
    not_shown = MADE_NOT_SHOWN.get(kind, not_shown) if made else not_shown
    lengths = model.counted("lengths") if isinstance(model, CountsCells) else None
    if not isinstance(lengths, AllCounted):
        return max(LEAST_TOGETHER, not_shown)
    classes = int(np.count_nonzero(~np.isnan(lengths.values)))
    return max(LEAST_TOGETHER, OF_CLASSES / max(classes, 1), not_shown)
