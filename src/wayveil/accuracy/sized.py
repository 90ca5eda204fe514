"""Error of a release that knows how much it lost.

A model that bought the numbers of trips and visits (`KnowsSize`) knows which share of all of them it shows (`kept`). A
replica, set beside the release, tells which share of what is shown nobody made (`false`). From both follows how far off
it is: off by what is missing, and by what is false twice, as that stands where something else should. In shares of the
truth, 1 - kept + 2 false kept. It says more than silence if less than half of what it shows is false, however much is
missing.

What is missing is not like what is shown: thresholds take the rare. Nor is it quite like public knowledge.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import hypot, sqrt

import numpy as np

from wayveil.accuracy.verdicts import SINGLE, Verdict, most_margin
from wayveil.synthesis.model import PaidSize
from wayveil.synthesis.tallies import Tally

# So much of what is missing is thought to be as public knowledge has it, the rest as the release does. Set on
# simulated towns.
LIKE_PUBLIC = 0.75
# A single cell of moves is never thought to be less than this share of what is shown.
LEAST_WHOLE = 0.5
OF_VISITS = frozenset({"visits", "stops", "hours", "stop-hours"})
# So much of what goes on as others do is false. Set on three simulated towns, at epsilon 1.
GUESSED = {"stops": 0.35, "edges": 0.5, "triples": 0.8, "lengths": 0.45}
# Kinds that ask where trips end: a trip that a threshold cut ends at a false stop.
OF_ENDS = frozenset({"alightings", "journeys", "journey-hours"})


@dataclass(frozen=True)
class Sized:
    """A release beside the size that was paid for.

    size     trips and visits that there were
    trips, visits  that the release shows
    thinned  share of its first visits that it shows: it had too many of them, so the rest is false
    continued  share of its visits that are missing in the model: trips went on where others do
    noise    how far off the size itself is on average, in shares of it: the number of trips (`total`), and of `visits`
    """

    size: PaidSize
    trips: float
    visits: float
    thinned: float = 1.0
    continued: float = 0.0
    noise: Mapping[str, float] = field(default_factory=dict)

    @property
    def misfit(self) -> float:
        """By what share trips are too short, because their ends are missing, or too long."""
        return min(abs(1 - (self.visits / max(self.trips, 1.0)) / (self.size.visits / self.size.trips)), 1.0)

    @property
    def cut(self) -> float:
        """Share of trips whose end is missing: they were cut halfway, on average."""
        short = 1 - (self.visits / max(self.trips, 1.0)) / (self.size.visits / self.size.trips)
        return min(2 * max(short, self.continued, 0.0), 1.0)

    @property
    def guessed(self) -> float:
        """Share of its visits at which trips went on."""
        own = (1 - self.continued) * self.size.visits / self.size.trips * self.trips
        return max(1 - own / max(self.visits, 1.0), 0.0) if self.continued > 0 else 0.0

    def whole(self, kind: str, shown: float) -> float:
        """True sum of the numbers of this kind."""
        if kind in OF_VISITS:
            return self.size.visits
        moves = {"edges": 1, "triples": 2}.get(kind)
        if moves is None:
            return self.size.trips
        # Right if no trip is too short to have any.
        return max(self.size.visits - moves * self.size.trips, LEAST_WHOLE * shown, 1.0)

    def judge(
        self, kind: str, release: Tally, replica: Tally, public: Tally | None, worst: float | None
    ) -> Verdict:
        """The verdict; `public` says how public knowledge would answer about as many trips, None: it would not."""
        shown = float(release.values.sum())
        whole = self.whole(kind, shown)
        kept, false = shown / whole, _false(release, replica)
        # Trips that nobody made can be as long as others: whether lengths are right shows in their mean.
        false = hypot(false, self.misfit) if kind == "lengths" else max(false, 1 - self.thinned)
        # A replica goes on as its release does, and does not show that people may have gone elsewhere.
        false = hypot(false, GUESSED.get(kind, 0.0) * self.guessed)
        if kind in OF_ENDS:
            false = max(false, self.cut)
        if kind in SINGLE:
            # Trips and visits are answered as they were bought, whatever the trees kept of them.
            off = self.noise[kind] if kind in self.noise else abs(1 - kept)
            is_noise = off >= 1
        else:
            off, is_noise = 1 - kept + 2 * false * kept, shown <= 0 or false >= 1 / 2
        against = None if public is None else self._against(release, whole, public, 2 * false * min(kept, 1))
        margin = 0.0 if is_noise or off >= 1 else most_margin(kind, off, against)
        if against is not None:
            # Where towns showed that public knowledge is farther off than this says, people are told that.
            against /= min(worst or 1.0, 1.0)
        return Verdict(
            kind,
            len(release.cells),
            off,
            against,
            worst is not None,
            worst is not None and margin > worst,
            is_noise,
            margin,
        )

    @staticmethod
    def _against(release: Tally, whole: float, public: Tally, noise: float) -> float:
        """Distance of public knowledge from the truth, by what the release shows of that."""
        shown, told = float(release.values.sum()), float(public.values.sum())
        missing = max(whole - shown, 0.0)
        ours = (min(whole, shown) + (1 - LIKE_PUBLIC) * missing) / max(shown, 1.0)
        theirs = LIKE_PUBLIC * missing / max(told, 1.0)
        here, there = release.beside(public)
        distance = float(np.abs(ours * here + theirs * there - there).sum()) / whole
        # Noise puts the release farther from public knowledge than the truth is.
        return sqrt(max(distance**2 - noise**2, 0.0))


def _false(release: Tally, replica: Tally) -> float:
    """The share of the replica that its release does not have; all of it where nothing is left to see."""
    here, again = release.beside(replica)
    if not again.sum():
        return 1.0
    return float(np.maximum(again - here, 0).sum()) / float(again.sum())
