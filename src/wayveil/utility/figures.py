"""The contract of every utility figure.

A `Figures` object is prepared once with the raw trips and then asked of any number of candidates: releases, and the
reference lines that stand beside them. Its answers compare with raw trips and are not for publication.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips


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

    @abstractmethod
    def measure(self, private: Trips) -> list[Measure]:
        """The figures of one candidate; always the same keys in the same order."""


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
