"""Round classes for flows that span several orders of magnitude, shared by all maps of a page."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CLASSES = 6


@dataclass(frozen=True)
class FlowScale:
    """Class i holds the flows from `lower[i]` to just below `lower[i + 1]`; the first class begins at 1."""

    lower: tuple[int, ...]

    @classmethod
    def up_to(cls, largest: int) -> "FlowScale":
        """At most six classes with bounds 1, 2 or 5 times a power of ten, the last one reached by `largest`."""
        round_numbers = [digit * 10**power for power in range(19) for digit in (1, 2, 5)]
        reached = [number for number in round_numbers if number <= max(largest, 1)]
        bounds = reached[-(CLASSES - 1) :]
        return cls(tuple(bounds) if bounds[0] == 1 else (1, *bounds))

    def class_of(self, flows: NDArray[np.integer]) -> NDArray[np.int64]:
        """The class of each flow, -1 for none."""
        return np.searchsorted(np.asarray(self.lower), flows, side="right") - 1

    @property
    def labels(self) -> list[str]:
        """What each class holds, for the legend."""
        upper: Sequence[int | None] = [*self.lower[1:], None]
        return [_label(low, high) for low, high in zip(self.lower, upper, strict=True)]

    @property
    def ranks(self) -> list[int]:
        """The colour of each class out of six: a short scale spreads over the whole range of colours."""
        count = len(self.lower)
        return [CLASSES - 1] if count == 1 else [round(i * (CLASSES - 1) / (count - 1)) for i in range(count)]


def _label(low: int, high: int | None) -> str:
    if high is None:
        return f"{low:,}+"
    return f"{low:,}" if high == low + 1 else f"{low:,}–{high - 1:,}"
