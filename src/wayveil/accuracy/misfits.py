"""Misfits: what trips of a model cannot express, as far as the model has seen it in what it paid for."""

from collections.abc import Sequence
from math import pi, sqrt
from typing import Final

import numpy as np

from wayveil.synthesis.counted import AllCounted, CountsCells
from wayveil.synthesis.model import ExpectedError, Model

# Kinds that a model knows nothing of itself are as biased as what they are made of.
MADE_OF: Final = {"stops": "edges", "visits": "lengths", "triples": "edges"}
# Intervals widen by so much of what trips of a model cannot express: noise makes it look larger than it is, and part of
# it is in the replicas already. Set on simulated towns.
MISFIT: Final = 0.5
# Kinds that follow from the ways of trips.
OF_WAYS: Final = frozenset({"visits", "stops", "hours", "stop-hours", "edges", "triples"})
# The lengths of released trips miss their noisy table by so many deviations of its noise where ways are missing; where
# all is well, by 0.9. Set on simulated towns.
MOST_MISFIT: Final = 1.25
# Deviation that all numbers of a release have in common, as a share of each: at least this, and as much as lengths are
# off inside the classes that were counted, which is the more the fewer there are. Set on simulated towns.
LEAST_TOGETHER: Final = 0.015
OF_CLASSES: Final = 0.13


def find_bias(kind: str, expected: Sequence[ExpectedError] | None) -> float | None:
    """Deviation of what trips of this model cannot express, in roots of the number; None where nobody knows."""
    if expected is None:
        return 0.0
    wanted = MADE_OF.get(kind, kind)
    for error in expected:
        if error.kind == wanted:
            return error.unexplained * sqrt(pi / 2) / sqrt(error.mean + 1)
    return 0.0 if wanted in ("hours", "stop-hours") else None


def is_misfit(expected: Sequence[ExpectedError] | None) -> bool:
    """Tell that trips miss the lengths that were paid for by more than noise: people take other ways."""
    return any(error.kind == "lengths" and error.misfit > MOST_MISFIT for error in expected or ())


def least_together(model: Model) -> float:
    """Least deviation that all numbers following from whole trips have in common, as a share of each."""
    lengths = model.counted("lengths") if isinstance(model, CountsCells) else None
    if not isinstance(lengths, AllCounted):
        return LEAST_TOGETHER
    classes = int(np.count_nonzero(~np.isnan(lengths.values)))
    return max(LEAST_TOGETHER, OF_CLASSES / max(classes, 1))
