"""Questions to the gate, the exact counts behind them, and their noisy answers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wayveil.privacy.contributions import Contribution


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """Exact counts over public cells 0..universe-1: `counts` at the ascending `keys`, zero elsewhere.

    parts  what a weight of one counts, where trips are weighed; None: nobody weighed them
    """

    universe: int
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    parts: int | None = None

    @classmethod
    def dense(cls, counts: NDArray[np.integer], parts: int | None = None) -> "SparseCounts":
        """All cells, one after the other."""
        return cls(len(counts), np.arange(len(counts)), np.asarray(counts, np.int64), parts)

    @classmethod
    def of_keys(
        cls,
        universe: int,
        keys: NDArray[np.int64],
        times: NDArray[np.int64] | None = None,
        parts: int | None = None,
    ) -> "SparseCounts":
        """Return how often each key occurs, when the i-th entry stands for `times[i]` occurrences (None: for one)."""
        # A table of all cells is quickest while it is not much larger than the data.
        if universe <= max(4 * len(keys), 1 << 16):
            found, place = np.arange(universe), keys
        else:
            found, place = np.unique(keys, return_inverse=True)
        # Weighted sums are floats, exact below 2^53: no cell has 2^33 visits, in parts of 2^20.
        counts = np.bincount(place, times, len(found)).astype(np.int64)
        present = np.flatnonzero(counts)
        return cls(universe, found[present].astype(np.int64), counts[present], parts)


@dataclass(frozen=True)
class Question:
    """Question to the data. Everything here is public or follows from earlier noisy answers.

    universe   number of cells, or of candidates of a selection
    threshold  only cells whose noisy count reaches it come back; None = all cells
    probability  with which a step of a training draws each unit
    """

    label: str
    universe: int
    contribution: Contribution
    price: Fraction
    scale: Fraction
    threshold: int | None
    group: str | None = None
    kind: Literal["counts", "selection", "tree", "training"] = "counts"
    probability: Fraction | None = None


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """A noisy answer: `counts` at ascending `keys`; every other cell fell below the question's threshold."""

    question: Question
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
