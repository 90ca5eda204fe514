"""Distance of a release from its replicas and from public knowledge, by kind of question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot, pi, sqrt

import numpy as np

from wayveil.accuracy.sizes import SEEN_TWICE, USEFUL, find_sizes
from wayveil.accuracy.verdicts import SINGLE, Verdict, give_verdict
from wayveil.arrays import Floats
from wayveil.synthesis.tallies import Tally, tally
from wayveil.trips.trips import Trips
from wayveil.world.network import Network

# A replica with so much fewer or more visits or trips than its release shows that the mechanism loses as much.
MOST_LOST = 0.1
# A release is never thought to have kept less than this.
LEAST_KEPT = 0.25
# Routes of public knowledge lead to so many stops: with 4,000 stops this takes a seventh of the time, and visits per
# stop or edge come out at most 7 % farther from those of riders.
MOST_ENDS = 500
# A replica moves what is thought of public knowledge by no more than this factor.
MOST_MOVED = 2.0
# Public knowledge has to be so many times farther off before a release is said to be better.
SURELY = 1.1


@dataclass(frozen=True, eq=False)
class KindEvidence:
    """Knowledge of one kind of question without the raw trips.

    release, replicas  numbers of both
    bias   deviation of what trips of this model cannot express, in roots of the number
    lost   share of the trips that thresholds took
    false  how far off what nobody made puts it at least, by the law of the noise
    law    how far off it is by that law alone, whatever replicas show; None: not known
    blur   how far off what no replica shows puts it, in shares of what the release shows
    whole  whether `bias` is what the model saw in noisy answers, so that nothing else is expected
    """

    release: Tally
    replicas: Sequence[Tally]
    bias: float = 0.0
    lost: float = 0.0
    false: float = 0.0
    law: float | None = None
    blur: float = 0.0
    whole: bool = False

    @property
    def size(self) -> float:
        """The sum of its numbers."""
        return max(float(self.release.values.sum()), 1.0)

    @property
    def kept(self) -> float:
        """Share of that sum that the release keeps, by what replicas keep of it."""
        return share_kept(self.size, [float(replica.values.sum()) for replica in self.replicas])

    @property
    def error(self) -> float:
        """The mean distance, in shares of what the release shows."""
        if self.law is not None:
            # Of a single number, one replica shows one draw of the noise, which says next to nothing of its mean.
            return self.law
        biased = float(np.sum(self.bias * np.sqrt(self.release.values))) * sqrt(2 / pi)
        beside = hypot(biased / self.size, self.lost, self.blur)
        off = [hypot(distance(self.release, replica) / self.size, beside) for replica in self.replicas]
        return max(float(np.mean(off)), self.false)


def share_kept(size: float, replicas: Sequence[float]) -> float:
    """Share of the sum that a replica keeps, and so the release of that of the truth; 1: about all."""
    share = float(np.mean(replicas)) / max(size, 1.0)
    return 1.0 if abs(share - 1) <= MOST_LOST else float(np.clip(share, LEAST_KEPT, 1 / LEAST_KEPT))


def find_public(release: Tally, replica: Tally, told: Tally, printed: Tally | None = None) -> float:
    """Distance of public knowledge from the truth in shares of it, where it knows how much there is in all.

    Noise puts a release farther from public knowledge than the truth is, or, where it was smoothed away, nearer. A
    replica is to its release what that is to the truth, and tells by how much: the bias of a bootstrap is taken off as
    a factor (Efron and Tibshirani 1993, "An introduction to the bootstrap", chapter 10). `printed` are the numbers that
    are shown in the place of those of the trips.
    """
    seen, again = (_shapes_apart(side, told) for side in (release, replica))
    moved = float(np.clip(seen / max(again, 1e-9), 1 / MOST_MOVED, MOST_MOVED))
    return min(moved * _shapes_apart(printed or release, told), 2.0)


def _shapes_apart(left: Tally, right: Tally) -> float:
    """Distance of two tallies that are made to add up to one each."""
    one, two = (
        Tally(side.cells, side.values / max(float(side.values.sum()), 1e-9)) for side in (left, right)
    )
    return distance(one, two)


def judge_kind(kind: str, seen: KindEvidence, told: Tally | None, worst: float | None) -> Verdict:
    """The error beside that of public knowledge, which knows the number of trips; both in shares of what was there.

    A release that lost half of all moves is not nearer to the truth than public knowledge because that has twice as
    many as the release: it is set beside a release that is as large as the truth is likely to be.
    """
    against, apart = None, SURELY if seen.whole else SEEN_TWICE
    if told is not None:
        shown = seen.release
        against = (
            find_public(shown, seen.replicas[0], told) if seen.whole else _beside(shown, told, seen.kept)
        )
    return give_verdict(
        kind,
        len(seen.release.cells),
        seen.size,
        seen.error,
        against,
        sure=worst is not None,
        worst=worst or 1.0,
        apart=apart,
    )


def with_sizes(verdict: Verdict, release: Tally, replica: Tally, told: Tally | None, worst: float) -> Verdict:
    """Add what is known by the size of numbers; all sizes together are as far off as is said.

    Sizes are those that a replica shows, and its release is the truth: large numbers of a replica are in part luck, as
    those of the release are.
    """
    if verdict.kind in SINGLE or not verdict.cells:
        return verdict
    cells = np.union1d(release.cells, replica.cells)
    true, values = release.at(cells), replica.at(cells)
    off = np.abs(values - true)
    off *= verdict.error * float(values.sum()) / max(float(off.sum()), 1e-9)
    public = None
    if told is not None and verdict.public is not None:
        public = np.abs(told.at(cells) - true)
        public *= verdict.public * float(values.sum()) / max(float(public.sum()), 1e-9)
    sizes = find_sizes(values, off, public, worst=worst)
    if verdict.says_more and not any(each.word == USEFUL for each in sizes):
        return verdict
    return replace(verdict, sizes=sizes)


def find_verdict(
    what: str, values: Floats, again: Floats, beside: Floats, *, sure: bool, whole: bool
) -> Verdict:
    """The verdict on numbers that are no cells of a kind, from those of the release made again.

    beside  how far off each is on average for what these do not show
    sure    whether more than noise is known of the kind of which they are made
    whole   whether they count people, so that there are large and small ones
    """
    off, size = np.hypot(again - values, beside), max(float(np.abs(values).sum()), 1e-9)
    return judge_errors(what, again if whole else None, off, size, sure=sure)


def judge_errors(what: str, values: Floats | None, off: Floats, size: float, *, sure: bool) -> Verdict:
    """The verdict on numbers that are so far off each, of which public knowledge has no idea; `values` tell sizes."""
    seen = give_verdict(what, len(off), size, float(off.sum()) / size, None, sure=sure)
    return seen if values is None else replace(seen, sizes=find_sizes(values, off, None))


def public_tally(kind: str, public: Trips, trips: float) -> Tally:
    """Tally of public knowledge, scaled to so many trips."""
    # Public destinations are as even as public origins, and not all of them were drawn.
    few = kind == "alightings" and isinstance(public.world, Network) and public.world.size > MOST_ENDS
    told = tally("boardings" if few else kind, public)
    return Tally(told.cells, told.values * trips / len(public))


def _beside(shown: Tally, told: Tally, kept: float) -> float:
    """Distance of public knowledge from a release that kept such a share of the truth, in shares of that truth."""
    whole = Tally(shown.cells, shown.values / kept)
    return distance(whole, told) / max(float(whole.values.sum()), 1.0)


def distance(left: Tally, right: Tally) -> float:
    return float(np.abs(np.subtract(*left.beside(right))).sum())
