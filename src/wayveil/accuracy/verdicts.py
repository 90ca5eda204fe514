"""Verdicts, by kind of question: does a release say more than public knowledge, and more than nothing at all?

What is seen is how far the release is from its replicas (`error`), from public knowledge (`public`) and from nothing
(all of it). The truth is not seen. Noise of the release stands between it and the truth, so both other distances are
too large by the error: in squares, distance^2 = true distance^2 + error^2. A release that beats public knowledge has
error^2 < public^2 - error^2. A single number is no sum of squares: it says more than nothing if it is off by less than
all of it, so a release that loses trips does, and one that has twice too many does not. Of a model that may be biased
in a way that replicas do not show, only noise is known: it is never said to say more.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wayveil.accuracy.sizes import CLASSES, SEEN_TWICE, USEFUL, SizeClass, class_of, say_share, say_sizes
from wayveil.arrays import Floats
from wayveil.synthesis.tallies import KINDS

MOST_MARGIN = 1_000.0
# Kinds of a single number.
SINGLE = frozenset({"total", "visits"})
NOT_BETTER = "no better than public knowledge"


@dataclass(frozen=True)
class Verdict:
    """Verdict on one kind of question.

    cells   how many the release shows
    error   expected sum of abs(released - true), in shares of the released sum
    public  the same for public knowledge alone; None where it has no answer
    sure    whether the error holds; if not, it is the part that noise makes, and bias may come on top
    says_more  whether the release is known to be better than public knowledge
    is_noise   whether nothing is left of it, all sizes together
    margin     how many times farther off than expected it may be before public knowledge, or nothing, is as good;
               0: nothing is left of it; None: an older release, which did not say
    sizes      the same by the size of numbers; empty where there is one number, or an older release did not say
    """

    kind: str
    cells: int
    error: float
    public: float | None
    sure: bool
    says_more: bool
    is_noise: bool
    margin: float | None = None
    sizes: tuple[SizeClass, ...] = ()

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> "Verdict":
        """Read what a file says."""
        return cls(**{**record, "sizes": tuple(SizeClass(**each) for each in record.get("sizes", ()))})

    @property
    def useful(self) -> bool:
        """Tell that some of its numbers are known to be worth having, or that nobody knows."""
        if any(each.word == USEFUL for each in self.sizes) or not (self.sure or self.is_noise):
            return True
        return not self.sizes and self.says_more

    def about(self, values: Floats) -> "Verdict":
        """Keep the sizes that these numbers have."""
        here = {CLASSES[at] for at in np.unique(class_of(values[values > 0]))}
        kept = tuple(each for each in self.sizes if each.least in here)
        return replace(self, sizes=kept) if kept else self

    @property
    def what(self) -> str:
        """Say of what these are numbers."""
        return KINDS[self.kind].words if self.kind in KINDS else self.kind

    @property
    def words(self) -> str:
        """One sentence for people."""
        what = self.what[:1].upper() + self.what[1:]
        if not self.useful:
            better = self.sizes[-1].word if self.sizes else "noise" if self.is_noise else NOT_BETTER
            return f"{what}: {better}; do not use."
        if not self.sure:
            return f"{what}: the whole error is not known; noise alone makes {say_share(100 * self.error)} in all."
        if self.sizes:
            return f"{what}: {say_sizes(self.sizes)}."
        beside = "" if self.public is None else f"; public knowledge alone by {100 * self.public:.0f} %"
        return f"{what}: typically off by {say_share(100 * self.error)}{beside}."


def is_lost(kind: str, error: float, apart: float = SEEN_TWICE) -> bool:
    """Tell whether an error, in shares of what is shown, leaves nothing of a kind of question."""
    return error * (1.0 if kind in SINGLE else apart) >= 1


def most_margin(kind: str, error: float, public: float | None) -> float:
    """Error of public knowledge, or of nothing at all, in multiples of that error, up to `MOST_MARGIN`."""
    other = min(MOST_MARGIN if public is None else public, MOST_MARGIN if kind in SINGLE else 1.0)
    return min(other / max(error, 1 / MOST_MARGIN), MOST_MARGIN)


def give_verdict(
    kind: str,
    cells: int,
    size: float,
    error: float,
    public: float | None,
    *,
    sure: bool,
    worst: float = 1.0,
    apart: float = SEEN_TWICE,
) -> Verdict:
    """The verdict on errors in shares of what the release shows; nothing at all is off by all of it.

    `worst`: how many times the error that replicas show a release of this mechanism may be off, by what the coverage
    bench saw on simulated towns. That is what people are told. It is below 1 where replicas show too much; people are
    told what replicas show all the same, and a release that these cannot tell from nothing is never said to say more.
    """
    is_noise = size <= 0 or is_lost(kind, error * min(worst, 1.0), apart)
    margin = 0.0 if size <= 0 or is_lost(kind, error, apart) else most_margin(kind, error * apart, public)
    says_more = sure and not is_noise and margin > worst
    return Verdict(kind, cells, error * max(worst, 1.0), public, sure, says_more, is_noise, margin)
