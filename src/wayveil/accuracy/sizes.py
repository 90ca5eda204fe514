"""Classes of numbers by their size, and how far off those of each class are: large numbers may be good where small ones
are noise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot, sqrt
from typing import Final

import numpy as np

from wayveil.arrays import Floats

SEEN_TWICE: Final = sqrt(2)
# The least number of each class.
CLASSES: Final = (0, 20, 100, 1_000, 10_000)
USEFUL, NOISE, PUBLIC = "useful", "noise", "no better than public knowledge"


@dataclass(frozen=True)
class SizeClass:
    """Numbers from `least` to below `below` (None: whatever), and what to think of them.

    cells  how many the release shows
    mean   of them; `off` how far they are typically off
    word   useful, noise, or no better than public knowledge
    """

    least: int
    below: int | None
    cells: int
    mean: float
    off: float
    word: str

    @property
    def range_words(self) -> str:
        """Say which numbers it holds."""
        if self.below is None:
            return f"above {self.least:,}"
        return f"below {self.below:,}" if self.least == 0 else f"{self.least:,} to {self.below:,}"

    def add(self, off: float) -> "SizeClass":
        """With another error, independent of this one."""
        both = hypot(self.off, off)
        return replace(self, off=both, word=NOISE if SEEN_TWICE * both >= self.mean else self.word)

    def join(self, other: "SizeClass") -> "SizeClass":
        """Both together; the other one holds the larger numbers."""
        many = max(self.cells + other.cells, 1)
        mean, off = (
            (self.cells * mine + other.cells * theirs) / many
            for mine, theirs in ((self.mean, other.mean), (self.off, other.off))
        )
        return SizeClass(self.least, other.below, self.cells + other.cells, mean, off, self.word)


def class_of(values: Floats) -> np.ndarray:
    """The class of each number."""
    return np.searchsorted(np.asarray(CLASSES[1:]), values, side="right")


def find_sizes(
    values: Floats, off: Floats, public: Floats | None, *, worst: float = 1.0
) -> tuple[SizeClass, ...]:
    """Sort numbers into classes and judge each: how far off it is said to be, and public knowledge alone.

    worst  by how much `off` already exceeds what replicas show (above 1), or replicas show too much (below 1)
    """
    found, place = [], class_of(values)
    shown = values > 0
    for at in np.unique(place[shown]):
        here = place == at
        size, said = float(values[here].sum()), float(off[here].sum())
        if said / max(worst, 1.0) * min(worst, 1.0) * SEEN_TWICE >= size:
            word = NOISE
        elif public is not None and float(public[here].sum()) <= SEEN_TWICE * said * min(worst, 1.0):
            word = PUBLIC
        else:
            word = USEFUL
        many = int((here & shown).sum())
        below = CLASSES[at + 1] if at + 1 < len(CLASSES) else None
        found.append(SizeClass(CLASSES[at], below, many, size / many, said / many, word))
    return tuple(found)


def say_sizes(classes: Sequence[SizeClass]) -> str:
    """Say how far off which numbers are, the largest first; classes that deserve the same word stand together."""
    joined: list[SizeClass] = []
    for each in classes:
        alike = joined and joined[-1].word == each.word != USEFUL
        joined = [*joined[:-1], joined[-1].join(each)] if alike else [*joined, each]
    parts = []
    for each in reversed(joined):
        share = 100 * each.off / max(each.mean, 1e-9)
        told = each.word
        if each.word == USEFUL:
            by = "less than 1" if each.off < 1 else f"{each.off:,.0f}"
            told = f"typically off by {say_share(share)} (a number of {each.mean:,.0f} by {by})"
        parts.append(f"{each.range_words} {told}")
    return "; ".join(parts)


def say_share(percent: float) -> str:
    """Write a share in percent with as many digits as anybody reads."""
    return f"{percent:.2g} %" if percent < 99.5 else f"{percent:,.0f} %"
