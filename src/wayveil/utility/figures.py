"""The contract of every utility figure, and the lines that stand beside it.

A `Figures` object is prepared once with the raw trips and then asked of any number of candidates: releases, and the
reference lines that stand beside them. Its answers compare with raw trips and are not for publication.

The lines that stand beside every figure, so that nobody is impressed by a number that no data would reach.

ceiling  a bootstrap resample of the raw trips: what sampling noise alone does
floor    trips from public knowledge only: no data at all
empty    no trips: what silence scores
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wayveil.errors import ParameterError
from wayveil.synthesis.public_knowledge import empty, floor
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins


@dataclass(frozen=True)
class Measure:
    """One number about one candidate: `key` for machines, `label` for people, and which way is better."""

    key: str
    label: str
    value: float
    better: Literal["lower", "higher"] = "lower"


class Figures(ABC):
    """A comparison with fixed raw trips."""

    title: str

    def __init__(self, raw: Trips) -> None:
        check_not_empty(raw)
        self.raw = raw

    def measure(self, private: Trips) -> list[Measure]:
        """The figures of one candidate; always the same keys in the same order."""
        check_comparable(self.raw, private)
        return self._measured(private)

    @abstractmethod
    def _measured(self, private: Trips) -> list[Measure]:
        """The figures of a candidate over the same world."""


def check_comparable(raw: Trips, private: Trips) -> None:
    """Refuse trips over two different worlds: equal indices would then mean different places."""
    if raw.world is not private.world and raw.world.fingerprint() != private.world.fingerprint():
        raise ParameterError(
            "the two sets of trips refer to different worlds; read both with the same network"
        )


def check_not_empty(raw: Trips) -> None:
    """Refuse to measure against nothing."""
    if raw.visits == 0:
        raise ParameterError("there is no raw trip with a visit to compare with")


CEILING, FLOOR, EMPTY = LINES = ("ceiling", "floor", "empty")


def reference_trips(line: str, raw: Trips, seed: int, bins: TimeBins | None) -> Trips:
    """The trips of one of the `LINES`; with time bins, those that have times."""
    if line == CEILING:
        return ceiling(raw, seed)
    if line == FLOOR:
        return floor(raw.world, len(raw), seed, bins=bins)
    return empty(raw.world, timed=bins is not None)


def ceiling(raw: Trips, seed: int) -> Trips:
    """Draw as many trips as there are from them, with replacement. As sensitive as the raw trips."""
    rng = np.random.default_rng(seed)
    return raw.take(rng.integers(0, len(raw), len(raw)))
